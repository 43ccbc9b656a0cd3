// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs_test keeps the documents true: names that they mention exist, and what must be described is.
package docs_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"golang.org/x/mod/modfile"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/antctl"
	"github.com/antrea-oncache/antrea/pkg/antctl/check"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	controllerconfig "github.com/antrea-oncache/antrea/pkg/config/controller"
	"github.com/antrea-oncache/antrea/pkg/version"
)

const root = ".."

// TestName: who finds the repository reads its name first, as antctl version prints it.
func TestName(t *testing.T) {
	require.Regexp(t, "^# "+version.Product+": [^\n]+\n\n"+version.Product+" is a Kubernetes network plugin ", read(t, "README.md"))
}

// documents returns the text of all Markdown files by path relative to the root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		// Hidden directories hold what tools and tests make.
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		name, err := filepath.Rel(root, path)
		out[name] = read(t, name)
		return err
	}))
	require.Contains(t, out, "ARCHITECTURE.md")
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

// section is the part of a document below a heading, up to the next heading of that level or above.
func section(t *testing.T, document, heading string) string {
	t.Helper()
	level := strings.Repeat("#", len(heading)-len(strings.TrimLeft(heading, "#")))
	_, rest, found := strings.Cut(document, "\n"+heading+"\n")
	require.True(t, found, "no heading %q", heading)
	if end := regexp.MustCompile(`(?m)^#{1,` + fmt.Sprint(len(level)) + `} `).FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}
	return rest
}

// rows returns the cells of all table rows whose first cell is code, by that code. A second row of one name is an error.
func rows(t *testing.T, text string) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name := strings.Trim(cells[0], "`")
		require.NotContains(t, out, name, "two rows")
		out[name] = cells
	}
	return out
}

func requireSameNames(t *testing.T, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	require.Empty(t, cmp.Diff(want, got, cmpopts.EquateEmpty()), "- missing in the document, + unknown to the code")
}

func names[V any](m map[string]V) []string { return slices.Collect(maps.Keys(m)) }

func TestEveryReasonHasItsRow(t *testing.T) {
	reasons, err := datapath.Reasons()
	require.NoError(t, err)
	table := rows(t, section(t, read(t, "docs/operate/oncache-output.md"), "## Reasons"))
	requireSameNames(t, slices.Clone(reasons), names(table))
	for reason, cells := range table {
		require.Len(t, cells, 3, reason)
		for _, cell := range cells {
			require.NotEmpty(t, cell, reason)
		}
	}
	// The pages of the design name reasons in parentheses, except for one, which names sysctls so.
	for file, text := range documents(t) {
		if !strings.HasPrefix(file, "docs/design/") || file == "docs/design/oncache-conntrack.md" {
			continue
		}
		for _, list := range regexp.MustCompile("\\((`[a-z][a-z0-9_]*`(, )?)+\\)").FindAllString(text, -1) {
			for _, name := range regexp.MustCompile(`[a-z0-9_]+`).FindAllString(list, -1) {
				require.Contains(t, reasons, name, file)
			}
		}
	}
}

var metricName = regexp.MustCompile(`antrea_agent_oncache_[a-z_]*[a-z]`)

func TestMetrics(t *testing.T) {
	descriptions := make(chan *prometheus.Desc, 100)
	oncache.New(oncache.Config{}, nil, nil, nil).Describe(descriptions)
	close(descriptions)
	var want []string
	for d := range descriptions {
		want = append(want, metricName.FindString(d.String()))
	}
	requireSameNames(t, slices.Clone(want), names(rows(t, section(t, read(t, "docs/operate/oncache-output.md"), "## Metrics"))))
	for file, text := range documents(t) {
		for _, name := range metricName.FindAllString(text, -1) {
			require.Contains(t, want, name, file)
		}
	}
}

func TestEveryMapIsInTheDesign(t *testing.T) {
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^} (\w+) SEC\("\.maps"\);`).FindAllStringSubmatch(read(t, "bpf/oncache/maps.h"), -1) {
		want = append(want, m[1])
	}
	require.NotEmpty(t, want)
	requireSameNames(t, want, names(rows(t, section(t, read(t, "docs/design/oncache-maps.md"), "## Maps"))))
}

var (
	code       = regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	makeTarget = regexp.MustCompile(`\bmake ([a-z][a-z0-9-]*)`)
)

func TestMakeTargets(t *testing.T) {
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z][a-z0-9-]*):`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		targets[m[1]] = true
	}
	for file, text := range documents(t) {
		for _, span := range code.FindAllString(text, -1) {
			for _, m := range makeTarget.FindAllStringSubmatch(span, -1) {
				require.True(t, targets[m[1]], "%s: the Makefile has no target %q", file, m[1])
			}
		}
	}
}

// TestSuites: the page lists the suites that make suite and make mutants run.
func TestSuites(t *testing.T) {
	makefile, page := read(t, "Makefile"), read(t, "docs/develop/suites.md")
	var suites []string
	for _, m := range regexp.MustCompile(`(?m)^(?:define )?suite_([a-z0-9-]+)`).FindAllStringSubmatch(makefile, -1) {
		suites = append(suites, m[1])
	}
	requireSameNames(t, suites, names(rows(t, section(t, page, "## Suites"))))
	mutants := regexp.MustCompile(`(?m)^mutant_suites := (.*)$`).FindStringSubmatch(makefile)
	require.NotNil(t, mutants)
	requireSameNames(t, strings.Fields(mutants[1]), names(rows(t, section(t, page, "## Faults"))))
}

// TestUninstallationNamesEveryCRD: Helm leaves them.
func TestUninstallationNamesEveryCRD(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "build/charts/antrea/crds/*.yaml"))
	require.NoError(t, err)
	var want []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		want = append(want, regexp.MustCompile(`(?m)^  name: (\S+)$`).FindStringSubmatch(string(text))[1])
	}
	require.NotEmpty(t, want)
	command := regexp.MustCompile(`kubectl delete crd ([^$]*)`).FindStringSubmatch(read(t, "docs/operate/uninstall.md"))[1]
	requireSameNames(t, want, regexp.MustCompile(`\S+\.crd\.antrea\.io`).FindAllString(command, -1))
}

func TestConfigurationKeys(t *testing.T) {
	c, err := agentconfig.Parse(nil)
	require.NoError(t, err)
	want := map[string]string{}
	defaults(reflect.ValueOf(*c), "", want)
	table := rows(t, read(t, "docs/use/configuration.md"))
	requireSameNames(t, names(want), names(table))
	for key, value := range want {
		require.Len(t, table[key], 4, key)
		require.Equal(t, "`"+value+"`", table[key][1], "default of %s", key)
	}
}

func TestControllerConfigurationKeys(t *testing.T) {
	c, err := controllerconfig.Parse(nil)
	require.NoError(t, err)
	want := map[string]string{}
	defaults(reflect.ValueOf(*c), "", want)
	table := rows(t, section(t, read(t, "docs/use/antrea-controller.md"), "## Configuration"))
	requireSameNames(t, names(want), names(table))
	for key, value := range want {
		require.Len(t, table[key], 4, key)
		require.Equal(t, "`"+value+"`", table[key][1], "default of %s", key)
	}
}

// TestMetricsOfAntrea: the tables have every metric of agent and controller, except for the cache's, which TestMetrics compares.
func TestMetricsOfAntrea(t *testing.T) {
	page := read(t, "docs/operate/prometheus.md")
	for heading, component := range map[string]struct{ folder, prefix string }{
		"## Agent": {"pkg/agent", "antrea_agent_"}, "## Controller": {"pkg/controller", "antrea_controller_"},
	} {
		var want []string
		text := sources(t, component.folder, func(name string) bool { return !isTest(name) })
		for _, m := range regexp.MustCompile(`"(`+component.prefix+`\w+)"`).FindAllStringSubmatch(text, -1) {
			if !metricName.MatchString(m[1]) {
				want = append(want, m[1])
			}
		}
		require.NotEmpty(t, want)
		table := rows(t, section(t, page, heading))
		requireSameNames(t, want, names(table))
		for name, cells := range table {
			require.Len(t, cells, 4, name)
			require.Contains(t, []string{"counter", "gauge", "histogram"}, cells[1], name)
		}
	}
}

// TestRanges: the agent accepts the numbers that the documents promise.
func TestRanges(t *testing.T) {
	table := rows(t, read(t, "docs/use/configuration.md"))
	keys := rows(t, section(t, read(t, "docs/use/oncache.md"), "## Configuration keys"))
	checks := regexp.MustCompile(`inRange\("(oncache\.\w+|defaultMTU)", [^,]+, (\d+), ([\d<]+)\)`).FindAllStringSubmatch(read(t, "pkg/config/agent/validate.go"), -1)
	require.Len(t, checks, 4)
	for _, m := range checks {
		high := m[3]
		if shift, found := strings.CutPrefix(high, "1<<"); found {
			bits, err := strconv.Atoi(shift)
			require.NoError(t, err)
			high = fmt.Sprint(1 << bits)
		}
		allowed := m[2] + " to " + high
		require.Contains(t, table[m[1]][3], allowed, m[1])
		if key, documented := keys[m[1]]; documented {
			require.Equal(t, allowed, key[2], m[1])
			require.Equal(t, strings.Trim(table[m[1]][1], "`"), key[1], m[1])
		}
	}
}

func TestModesAndStates(t *testing.T) {
	modes := rows(t, section(t, read(t, "docs/use/oncache.md"), "### Modes"))
	requireSameNames(t, []string{datapath.ModeOff.String(), datapath.ModeObserve.String(), datapath.ModeEnforce.String()}, names(modes))
	constants := regexp.MustCompile(`(?m)^\tState\w+ += "(\w+)"`).FindAllStringSubmatch(read(t, "pkg/agent/oncache/api/types.go"), -1)
	require.NotEmpty(t, constants)
	for _, m := range constants {
		require.Contains(t, section(t, read(t, "docs/operate/oncache-output.md"), "### Summary"), "`"+m[1]+"`")
	}
}

// TestRemedies: antctl check and the page know the same reasons for a cache that is unavailable.
func TestRemedies(t *testing.T) {
	requireSameNames(t, slices.Collect(maps.Keys(check.Remedies)), names(rows(t, section(t, read(t, "docs/operate/troubleshooting.md"), "### State `Unavailable`"))))
}

// TestQuotedMessages: the messages that the pages quote are the agent's.
func TestQuotedMessages(t *testing.T) {
	remedies := section(t, read(t, "docs/operate/troubleshooting.md"), "## The cache does not work on a Node")
	messages := names(rows(t, section(t, remedies, "### State `Unavailable`")))
	for _, m := range regexp.MustCompile(`"([A-Z][a-zA-Z ]+)"`).FindAllStringSubmatch(remedies+read(t, "docs/operate/oncache-output.md"), -1) {
		messages = append(messages, m[1])
	}
	require.NotEmpty(t, messages)
	own := func(name string) bool { return !strings.HasSuffix(name, "_test.go") }
	source := sources(t, "pkg/agent/oncache", own) + sources(t, "pkg/agent/sysctl", own)
	for _, message := range messages {
		require.Contains(t, source, message)
	}
}

// TestNamedTests: tests that documents name exist.
func TestNamedTests(t *testing.T) {
	tests := sources(t, "pkg", isTest) + sources(t, "test", isTest) + sources(t, "cmd", isTest) + sources(t, "multicluster", isTest)
	for file, text := range documents(t) {
		for _, m := range regexp.MustCompile("`((?:[Tt]est|Fuzz)[A-Z]\\w+)`").FindAllStringSubmatch(text, -1) {
			require.Regexp(t, `\nfunc `+m[1]+`\([tf] \*testing\.[TF]`, tests, file)
		}
	}
}

// TestEveryKindOfPacketHasATest: each list of the page is headed by a reason that exists, each item ends with a test that exists, and its
// case, and no reason is left out.
func TestEveryKindOfPacketHasATest(t *testing.T) {
	reasons, err := datapath.Reasons()
	require.NoError(t, err)
	tests := sources(t, "pkg/agent/oncache/datapath", isTest)
	seen := map[string]bool{}
	head := regexp.MustCompile("^`([a-z_]+)`$")
	named := regexp.MustCompile("\\(`(Test\\w+)`(: (.+))?\\)$")
	reason := ""
	for line := range strings.Lines(read(t, "pkg/agent/oncache/datapath/packets/README.md")) {
		line = strings.TrimSpace(line)
		if m := head.FindStringSubmatch(line); m != nil {
			reason = m[1]
			require.Contains(t, reasons, reason)
			seen[reason] = true
		} else if strings.HasPrefix(line, "#") {
			reason = ""
		}
		if reason == "" || reason == "dropped" || !strings.HasPrefix(line, "- ") { // dropped: unreachable
			continue
		}
		m := named.FindStringSubmatch(line)
		require.NotNil(t, m, "%s: an item must end with a test and possibly its case", line)
		_, body, found := strings.Cut(tests, "\nfunc "+m[1]+"(t *testing.T)")
		require.True(t, found, "test %s", m[1])
		if m[3] != "" {
			body, _, _ = strings.Cut(body, "\nfunc ")
			require.Contains(t, body, strconv.Quote(m[3]), "case of %s", m[1])
		}
	}
	requireSameNames(t, reasons, names(seen))
}

func isTest(name string) bool { return strings.HasSuffix(name, "_test.go") }

// sources is the text of all Go files below a folder that are wanted by name.
func sources(t *testing.T, folder string, wanted func(name string) bool) string {
	t.Helper()
	var out strings.Builder
	require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || !wanted(d.Name()) {
			return err
		}
		text, err := os.ReadFile(path)
		out.Write(text)
		return err
	}))
	return out.String()
}

// TestAPIPaths: every path that antctl reads is in the list, and every path in the list is served.
func TestAPIPaths(t *testing.T) {
	var listed []string
	served := sources(t, "cmd/antrea-agent", func(string) bool { return true }) + sources(t, "pkg/agent/apiserver", func(string) bool { return true })
	for cell := range rows(t, section(t, read(t, "docs/use/antctl.md"), "## The agent's API")) {
		for _, path := range strings.Split(cell, "`, `") {
			if path != "/healthz" && path != "/livez" && path != "/readyz" { // of the API server library
				require.Contains(t, served, `"`+path+`"`)
			}
			listed = append(listed, path)
		}
	}
	asked := regexp.MustCompile(`(?m)^[^/\n]*Endpoint\{Path: "(/[\w/]+)"`).FindAllStringSubmatch(sources(t, "pkg/antctl", func(name string) bool { return !isTest(name) }), -1)
	require.NotEmpty(t, asked)
	for _, m := range asked {
		require.Contains(t, listed, m[1])
	}
}

// defaults collects the keys of a configuration section with their values as the document shows them.
func defaults(section reflect.Value, prefix string, out map[string]string) {
	for i := range section.NumField() {
		name, _, _ := strings.Cut(section.Type().Field(i).Tag.Get("json"), ",")
		value := section.Field(i)
		if value.Kind() == reflect.Pointer {
			value = value.Elem()
		}
		switch {
		case value.Kind() == reflect.Struct:
			defaults(value, prefix+name+".", out)
		case value.Kind() == reflect.Map:
			out[prefix+name] = "{}"
		case value.Kind() == reflect.String && value.Len() == 0:
			out[prefix+name] = `""`
		default:
			out[prefix+name] = fmt.Sprint(value.Interface())
		}
	}
}

// The reasons of explanations that are not reasons of packets are described.
func TestEveryReasonOfAnExplanationHasItsRow(t *testing.T) {
	var reasons []string
	constants := regexp.MustCompile(`(?m)^\tReason\w+ += "(.+)"$`)
	for _, m := range constants.FindAllStringSubmatch(read(t, "pkg/agent/oncache/api/explanation.go"), -1) {
		reasons = append(reasons, m[1])
	}
	requireSameNames(t, reasons, names(rows(t, section(t, read(t, "docs/operate/oncache-output.md"), "## Reading `antctl oncache explain`"))))
}

func TestCommandsAndFlags(t *testing.T) {
	document := read(t, "docs/use/antctl.md")
	root, outside := antctl.NewCommand(antctl.Environment{Mode: antctl.ModeAgent, InPod: true}, ""), antctl.NewCommand(antctl.Environment{Mode: antctl.ModeController}, "")
	absent := rows(t, section(t, document, "## Commands of features that this version does not have"))
	requireSameNames(t, flagNames(outside.PersistentFlags()), names(rows(t, section(t, document, "## Flags of all commands"))))
	var commands, hidden []string
	flags := map[string]map[string]bool{} // of a command in all modes
	var visit func(*cobra.Command)
	visit = func(parent *cobra.Command) {
		for _, c := range parent.Commands() {
			if c.HasSubCommands() {
				if !c.Hidden { // for the Pods of antctl check performance
					visit(c)
				}
				continue
			}
			if c.Hidden {
				hidden = append(hidden, c.CommandPath())
				continue
			}
			if flags[c.CommandPath()] == nil {
				flags[c.CommandPath()] = map[string]bool{}
				commands = append(commands, c.CommandPath())
			}
			for _, flag := range flagNames(c.NonInheritedFlags()) {
				// --output and --no-headers have a paragraph of their own.
				if !strings.HasPrefix(flag, "--output") && flag != "--no-headers" {
					flags[c.CommandPath()][flag] = true
				}
			}
		}
	}
	visit(root)
	requireSameNames(t, hidden, names(absent))
	visit(outside)
	// The page names some flags; --help prints all of them.
	common := strings.Join(append(flagNames(outside.PersistentFlags()), "--help", "--output", "--no-headers"), " ") + " "
	for command, all := range flags {
		known := common + strings.Join(names(all), " ") + " "
		heading := "### " + command
		if strings.HasPrefix(command, "antctl mc ") {
			heading = "### antctl mc" // a table, without flags
		}
		for _, m := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(section(t, document, heading), -1) {
			require.Regexp(t, m[1]+"[` ]", known, command)
		}
	}
	var documented []string
	for _, m := range regexp.MustCompile("(?m)^\\| \\[`(antctl [a-z -]+)`\\]").FindAllStringSubmatch(document, -1) {
		documented = append(documented, m[1])
	}
	requireSameNames(t, commands, documented)
}

// flagNames are written as the first cell of a row has them: "--pod`, `-p".
func flagNames(flags *pflag.FlagSet) (out []string) {
	flags.VisitAll(func(f *pflag.Flag) {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name += "`, `-" + f.Shorthand
		}
		out = append(out, name)
	})
	return out
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ +(.*)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// anchors are the fragments that a document offers, made from its headings as Git hosts do.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(regexp.MustCompile("(?s)```.*?```").ReplaceAllString(text, ""), -1) {
		slug := strings.ReplaceAll(notSlug.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")
		out[slug] = true
	}
	return out
}

func TestLinks(t *testing.T) {
	all := documents(t)
	for file, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(text, "code"), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, fragment, _ := strings.Cut(m[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
				_, err := os.Stat(filepath.Join(root, target))
				require.NoError(t, err, "%s links to %s", file, m[1])
			}
			if fragment != "" {
				require.True(t, anchors(all[target])[fragment], "%s links to %s: no such heading", file, m[1])
			}
		}
	}
}

// TestIndex: docs/README.md links to every page, so that none is found by search only.
func TestIndex(t *testing.T) {
	index := map[string]bool{}
	for _, m := range link.FindAllStringSubmatch(read(t, "docs/README.md"), -1) {
		index[filepath.Join("docs", m[1])] = true
	}
	for file := range documents(t) {
		if strings.HasPrefix(file, "docs/") && file != "docs/README.md" {
			require.True(t, index[file], "docs/README.md does not link to %s", file)
		}
	}
}

// Each direct dependency is in the table of docs/develop/dependencies.md with its reason, and nothing else is.
func TestDependencies(t *testing.T) {
	file, err := modfile.Parse("go.mod", []byte(read(t, "go.mod")), nil)
	require.NoError(t, err)
	var direct []string
	for _, r := range file.Require {
		if !r.Indirect {
			direct = append(direct, r.Mod.Path)
		}
	}
	var described []string
	for _, row := range regexp.MustCompile(`(?m)^\| (`+"`.*?)"+` \| .+ \|$`).FindAllStringSubmatch(read(t, "docs/develop/dependencies.md"), -1) {
		for _, name := range strings.Split(row[1], ", ") {
			described = append(described, strings.Trim(name, "`"))
		}
	}
	require.ElementsMatch(t, direct, described)
}

// Each reason of a problem has a row that says what to do.
func TestProblems(t *testing.T) {
	var reasons []string
	constant := regexp.MustCompile(`(?m)^(?:const)?\s+\w+\s+(?:problem\.Reason|reason)\s+= "(\w+)"$`)
	for _, sources := range []string{"pkg", "cmd"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(root, sources), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
				return err
			}
			text, err := os.ReadFile(path)
			for _, found := range constant.FindAllSubmatch(text, -1) {
				reasons = append(reasons, string(found[1]))
			}
			return err
		}))
	}
	require.Contains(t, reasons, "PolicyNotRealized")
	described := rows(t, section(t, read(t, "docs/operate/troubleshooting.md"), "## Problems"))
	require.ElementsMatch(t, reasons, slices.Collect(maps.Keys(described)))
}
