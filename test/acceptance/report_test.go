// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// tally counts the cases.
type tally struct {
	mu                      sync.Mutex
	passed, failed, skipped int
	cases                   []junitCase
}

// add counts a case that is at its end.
func (n *tally) add(t *testing.T, begun time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cases = append(n.cases, newJUnitCase(t.Name(), time.Since(begun), t.Failed(), t.Skipped()))
	switch {
	case t.Failed():
		n.failed++
	case t.Skipped():
		n.skipped++
	default:
		n.passed++
	}
}

// line is the last line of a run.
func (n *tally) line(gate bool) string {
	word := map[bool]string{false: "off", true: "on"}[gate]
	return fmt.Sprintf("acceptance: cases=%d passed=%d failed=%d skipped=%d gate=%s", n.passed+n.failed+n.skipped, n.passed, n.failed, n.skipped, word)
}

// test runs a case, on a cluster whose agents and controller are ready. After a failure it shows what they know.
func (c *cluster) test(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		begun := time.Now()
		defer func() {
			if t.Failed() {
				c.diagnose(t)
			}
			c.tally.add(t, begun)
			t.Logf("%.1f s", time.Since(begun).Seconds())
		}()
		c.waitForController(t)
		c.waitForAgents(t)
		f(t)
	})
}

// shownLines is the number of lines of a diagnosis in the output of the tests; the whole is in a file.
const shownLines = 40

// diagnose writes what agents, Open vSwitch and the Pods say into a directory, and the beginnings of the most telling parts into the output.
func (c *cluster) diagnose(t *testing.T) {
	dir := filepath.Join(c.logs, strings.ReplaceAll(t.Name(), "/", "_"))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Logf("no diagnosis: %v", err)
		return
	}
	t.Logf("more about this failure is in %s", dir)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*time.Minute)
	defer cancel()
	c.write(t, dir, "pods", c.describePods(ctx), true)
	for _, node := range c.nodes {
		agent, err := c.agentPod(ctx, node)
		if err != nil {
			t.Logf("Node %s: %v", node, err)
			continue
		}
		for _, part := range []struct {
			name, container string
			shown           bool
			command         []string
		}{
			{"oncache", agentContainer, true, []string{"antctl", "get", "oncache"}},
			{"oncache-flows", agentContainer, true, []string{"antctl", "get", "oncache", "flows"}},
			{"oncache-endpoints", agentContainer, false, []string{"antctl", "get", "oncache", "endpoints"}},
			{"problems", agentContainer, true, []string{"antctl", "get", "problems"}},
			{"agentinfo", agentContainer, false, []string{"antctl", "get", "agentinfo", "-o", "yaml"}},
			{"networkpolicies", agentContainer, false, []string{"antctl", "get", "networkpolicy", "-o", "yaml"}},
			{"flows", ovsContainer, false, []string{"ovs-ofctl", "--names", "dump-flows", bridge}},
			{"iptables", agentContainer, false, []string{"iptables-save", "-c"}},
			{"routes", agentContainer, false, []string{"ip", "route"}},
		} {
			stdout, stderr, err := c.run(ctx, agent, part.container, part.command...)
			if err != nil {
				stderr += err.Error() + "\n"
			}
			c.write(t, dir, node+"-"+part.name, stdout+stderr, part.shown)
		}
		c.write(t, dir, node+"-agent.log", c.containerLog(ctx, agent, agentContainer), false)
		c.write(t, dir, node+"-ovs.log", c.containerLog(ctx, agent, ovsContainer), false)
	}
}

func (c *cluster) write(t *testing.T, dir, name, text string, shown bool) {
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
		t.Logf("no diagnosis: %v", err)
	}
	if shown {
		lines := strings.SplitAfter(text, "\n")
		t.Logf("%s:\n%s", name, strings.Join(lines[:min(shownLines, len(lines))], ""))
	}
}
