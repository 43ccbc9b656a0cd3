// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestJobs: each job runs a script with the arguments that its name says.
func TestJobs(t *testing.T) {
	c := newCheckout(t)
	for _, script := range []string{".ci/run", "ci/kind/check.sh", "ci/kind/test-e2e-kind.sh"} {
		c.standIn(script, "")
	}
	c.standIn("standins/make", "")
	list, err := c.run("ci/jobs.sh", "list")
	require.NoError(t, err)
	runs := map[string]string{}
	c.env = []string{"UPSTREAM=/upstream"}
	for line := range strings.Lines(list) {
		job, machine, found := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, found, line)
		require.NotEmpty(t, machine)
		out, err := c.run("ci/jobs.sh", "run", job)
		require.NoError(t, err, out)
		calls := c.calls()
		require.Len(t, calls, 1, job)
		runs[job] = calls[0]
	}
	require.Equal(t, "run ", runs["test"])
	for _, target := range []string{"acceptance", "conformance", "lifecycle"} {
		require.Equal(t, "make "+target, runs["cluster-"+target])
	}
	require.Equal(t, "check.sh --gate off --tunnel-type geneve --ip-family ipv4", runs["check-geneve-ipv4-off"])
	require.Equal(t, "check.sh --gate on --tunnel-type geneve --ip-family dual", runs["check-geneve-dual-on-older"])
	require.Equal(t, "test-e2e-kind.sh --upstream /upstream --gate on -- --tunnel-type vxlan --ip-family ipv4", runs["e2e-vxlan-ipv4-on"])
	for _, tunnel := range []string{"geneve", "vxlan"} {
		for _, family := range []string{"ipv4", "ipv6", "dual"} {
			for _, gate := range []string{"off", "on"} {
				require.Contains(t, runs, "check-"+tunnel+"-"+family+"-"+gate)
			}
		}
	}

	c.env = nil
	for want, args := range map[string][]string{
		"jobs.sh list":        {"run"},
		`no job "check"`:      {"run", "check"},
		"UPSTREAM is not set": {"run", "e2e-geneve-ipv4-on"},
		`kind is "all", must be check, cluster or e2e`: {"matrix", "all"},
	} {
		out, err := c.run("ci/jobs.sh", args...)
		require.Error(t, err)
		require.Contains(t, out, want)
		require.Empty(t, c.calls())
	}
}

func TestMatrix(t *testing.T) {
	c := newCheckout(t)
	list, err := c.run("ci/jobs.sh", "list")
	require.NoError(t, err)
	for _, kind := range []string{"check", "cluster", "e2e"} {
		out, err := c.run("ci/jobs.sh", "matrix", kind)
		require.NoError(t, err)
		var matrix struct {
			Include []struct{ Job, Runner string }
		}
		require.NoError(t, json.Unmarshal([]byte(out), &matrix))
		var lines strings.Builder
		for _, entry := range matrix.Include {
			lines.WriteString(entry.Job + " " + entry.Runner + "\n")
		}
		require.NotEmpty(t, lines.String())
		require.Contains(t, list, lines.String())
	}
}

// TestWorkflows: a workflow is YAML, and names only scripts and make targets that exist.
func TestWorkflows(t *testing.T) {
	files, err := filepath.Glob(root + "/.github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	makefile, err := os.ReadFile(root + "/Makefile")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var workflow struct {
			Jobs map[string]struct {
				Steps []struct{ Uses, Run string }
			}
		}
		require.NoError(t, yaml.Unmarshal(text, &workflow), file)
		require.NotEmpty(t, workflow.Jobs, file)
		scripts := 0
		for name, job := range workflow.Jobs {
			for _, step := range job.Steps {
				require.True(t, (step.Uses == "") != (step.Run == ""), "%s: a step of job %s", file, name)
				for _, m := range regexp.MustCompile(`(?m)\bci/[\w/.-]+\.sh`).FindAllString(step.Run, -1) {
					require.FileExists(t, filepath.Join(root, m), file)
					scripts++
				}
				for _, m := range regexp.MustCompile(`\bmake ([a-z-]+)`).FindAllStringSubmatch(step.Run, -1) {
					require.Regexp(t, `(?m)^`+m[1]+`:`, string(makefile), file)
				}
			}
		}
		require.NotZero(t, scripts, "%s calls no script in ci/", file)
	}
}

// TestActionsArePinned: an action is a commit with its version in a comment, the same in all workflows. A tag can be moved to other code, which would
// run with the rights of the workflow.
func TestActionsArePinned(t *testing.T) {
	files, err := filepath.Glob(root + "/.github/workflows/*.yml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	pinned := regexp.MustCompile(`uses: ([\w.-]+/[\w.-]+)@([0-9a-f]{40} # v\d+\.\d+\.\d+)$`)
	commits := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for line := range strings.Lines(string(text)) {
			if !strings.Contains(line, "uses:") {
				continue
			}
			m := pinned.FindStringSubmatch(strings.TrimRight(line, "\n"))
			require.NotNil(t, m, "%s: %q must be uses: OWNER/NAME@COMMIT # vX.Y.Z", file, line)
			if commits[m[1]] == "" {
				commits[m[1]] = m[2]
			}
			require.Equal(t, commits[m[1]], m[2], "%s: %s has two versions", file, m[1])
		}
	}
	require.NotEmpty(t, commits)
}
