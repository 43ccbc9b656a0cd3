// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package features

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the parts of files that come from the table of gates")

const (
	root = "../.."
	page = "docs/use/feature-gates.md"
)

// stages of gates: not gates, but accepted where gates are.
var stages = []gate{
	{name: "AllAlpha", about: "All Alpha gates that are not named here.", in: both},
	{name: "AllBeta", about: "All Beta gates that are not named here.", in: both},
}

// TestFiles compares parts of files with the table of gates.
func TestFiles(t *testing.T) {
	for _, f := range []struct {
		path string
		// part has the generated text as its only group.
		part string
		want string
	}{
		{page, `(?s)\n\| Gate \|[^\n]*\n\|[-|]*\n(.*?)\n(?:\n|$)`, rows()},
		{"build/charts/antrea/values.schema.json", `(?s)"featureGates": \{\s+"type": "object",\s+"additionalProperties": false,\s+"properties": \{\n(.*?)\n {6}\}`, schema()},
		{"build/charts/antrea/conf/antrea-agent.conf", `(?s)\nfeatureGates:\n(.*?)\n\n`, configuration(agent)},
		{"build/charts/antrea/conf/antrea-controller.conf", `(?s)\nfeatureGates:\n(.*?)\n\n`, configuration(controller)},
	} {
		path := filepath.Join(root, f.path)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		found := regexp.MustCompile(f.part).FindSubmatchIndex(text)
		require.NotNil(t, found, "%s has no part for gates", f.path)
		if *update {
			text = slices.Concat(text[:found[2]], []byte(f.want), text[found[3]:])
			require.NoError(t, os.WriteFile(path, text, 0o644))
			continue
		}
		require.Equal(t, f.want, string(text[found[2]:found[3]]), "%s: run this test with -update, and make manifest", f.path)
	}
}

// rows returns the table's rows in the page.
func rows() string {
	var lines []string
	for _, g := range table {
		stage := Stage(g.name)
		if stage != "GA" {
			stage = stage[:1] + strings.ToLower(stage[1:])
		}
		effect := "none"
		if g.page != "" {
			file, _, _ := strings.Cut(filepath.Base(g.page), "#")
			relative, _ := filepath.Rel(filepath.Dir(page), g.page)
			effect = fmt.Sprintf("[%s](%s)", file, relative)
		}
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %t | %s | %s | %s |", g.name, stage, g.spec.Default, strings.Join(g.components(), ", "),
			strings.TrimSuffix(g.about, "."), effect))
	}
	return strings.Join(lines, "\n")
}

// schema returns the properties of the chart's value featureGates.
func schema() string {
	var lines []string
	for _, g := range sorted() {
		must := ""
		if g.spec.LockToDefault {
			must = fmt.Sprintf(`, "const": %t`, g.spec.Default)
		}
		lines = append(lines, fmt.Sprintf(`        "%s": {"type": "boolean"%s}`, g.name, must))
	}
	return strings.Join(lines, ",\n")
}

func sorted() []gate {
	return slices.SortedFunc(slices.Values(slices.Concat(stages, table)), func(a, b gate) int { return strings.Compare(string(a.name), string(b.name)) })
}

// configuration returns the lines of a component's configuration file, as a template of the chart.
func configuration(of component) string {
	var lines []string
	for _, g := range slices.Concat(stages, table) {
		if g.in&of == 0 {
			continue
		}
		about := g.about
		if g.built() {
			about += " See " + g.page + "."
		}
		line := fmt.Sprintf(`{{ include "antrea.gate" (list . "%s" %t) }}`, g.name, g.spec.Default)
		if g.name == ONCache {
			about += "\n# Set it with the agent's flag --feature-gates, as the chart does: Antrea's tools refuse a file with a gate that they do not know."
			line = fmt.Sprintf("#  %s: %t", g.name, g.spec.Default)
		}
		lines = append(lines, "# "+about, line)
	}
	return strings.Join(lines, "\n")
}

// TestPages: the page of a gate exists, with its section.
func TestPages(t *testing.T) {
	for _, g := range table {
		if g.page == "" {
			continue
		}
		path, anchor, _ := strings.Cut(g.page, "#")
		text, err := os.ReadFile(filepath.Join(root, path))
		require.NoError(t, err, g.name)
		heading := `(?mi)^#+ ` + strings.ReplaceAll(regexp.QuoteMeta(anchor), "-", `\W+`) + `\W*$`
		require.True(t, anchor == "" || regexp.MustCompile(heading).Match(text), "gate %s: %s has no section %s", g.name, path, anchor)
	}
}

// TestSections: the section of a gate is in a configuration file of one of its components.
func TestSections(t *testing.T) {
	for _, g := range table {
		if g.section == "" {
			continue
		}
		var files string
		for _, name := range g.components() {
			text, err := os.ReadFile(filepath.Join(root, "build/charts/antrea/conf/antrea-"+name+".conf"))
			require.NoError(t, err)
			files += "\n" + string(text)
		}
		require.Contains(t, files, "\n"+g.section+":\n", g.name)
	}
}
