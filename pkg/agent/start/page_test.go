// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package start

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the table in the page")

const page = "../../../docs/design/start.md"

// order returns all parts of an agent, as they begin.
func order(t *testing.T, s situation) []Part {
	f := &fake{situation: s, ctx: t.Context()}
	p := newPhases()
	var a *Agent
	steps := p.steps(f, &a)
	for _, step := range steps {
		require.NoError(t, step.run(t.Context()))
	}
	return slices.Concat(steps, a.cacheParts(p), []Part{a.begin(p)}, a.parts(p))
}

// TestOrderHasNoCircles: every part can run if all others do what they should.
func TestOrderHasNoCircles(t *testing.T) {
	for _, s := range situations {
		parts := order(t, s)
		reached := map[string]bool{}
		for len(parts) > 0 {
			before := len(parts)
			parts = slices.DeleteFunc(parts, func(p Part) bool {
				ready := !slices.ContainsFunc(p.After, func(w Wait) bool { return w.AtMost == 0 && !w.isReached() && !reached[w.Name] })
				for _, phase := range p.Reaches {
					reached[phase.Name] = reached[phase.Name] || ready
				}
				return ready
			})
			if len(parts) == before {
				t.Fatalf("%s: the part %s waits for what only parts reach that wait for it", s, parts[0].Name)
			}
		}
	}
}

// TestPage: the table in the page is the order.
func TestPage(t *testing.T) {
	// all contains what each part waits for in any situation, conditions in which one, by the names of part and phase.
	all, conditions := map[string][]Wait{}, map[[2]string][]string{}
	var parts []Part
	for _, s := range situations {
		parts = order(t, s)
		for _, p := range parts {
			for _, w := range p.After {
				edge := [2]string{p.Name, w.Name}
				if conditions[edge] == nil {
					all[p.Name] = append(all[p.Name], w)
				}
				conditions[edge] = append(conditions[edge], string(s))
			}
		}
	}
	lines := []string{"| Part | Waits for | Reaches |", "|---|---|---|"}
	for _, p := range parts {
		var waits, reaches []string
		for _, w := range all[p.Name] {
			text := w.Name
			if w.AtMost > 0 {
				text += fmt.Sprintf(", at most %s", w.AtMost)
			}
			if when := conditions[[2]string{p.Name, w.Name}]; len(when) < len(situations) {
				text += " (" + strings.Join(when, "; ") + ")"
			}
			waits = append(waits, text)
		}
		for _, phase := range p.Reaches {
			reaches = append(reaches, phase.Name)
		}
		lines = append(lines, fmt.Sprintf("| %s | %s | %s |", p.Name, strings.Join(waits, "<br>"), strings.Join(reaches, ", ")))
	}
	want := strings.Join(lines, "\n") + "\n"
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), lines[0]+"\n")
	require.True(t, found, "the page has no table")
	old, behind, _ := strings.Cut(rest, "\n\n")
	if *update {
		require.NoError(t, os.WriteFile(page, []byte(before+want+"\n"+behind), 0o644))
		return
	}
	require.Equal(t, want, lines[0]+"\n"+strings.TrimSuffix(old, "\n")+"\n", "run this test with -update")
}
