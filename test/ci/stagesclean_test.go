// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// chainKilled is a stage that kills the shell of its chain, and then needs a while to clean up.
const chainKilled = `trap 'for ((i = 0; i < 20; i++)); do sleep 0.1; done; echo "clean $stage" >>order; exit 1' TERM
kill -9 $(ps -o pgid= -p $$)
sleep 1000 &
wait`

// TestStagesCleanUpFirst: nothing runs beside a stage that cleans up although it should be alone, and nothing runs after the script.
func TestStagesCleanUpFirst(t *testing.T) {
	for name, test := range map[string]struct{ stage, then string }{
		"alone":  {"alone1", "begin first1"},
		"first":  {"first2", ""},
		"second": {"second2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newStages(t, map[string]string{test.stage: chainKilled})
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var output strings.Builder
			require.Error(t, c.startStages(ctx, &output).Wait())
			require.NoError(t, ctx.Err(), output.String())
			require.Contains(t, output.String(), "==> "+test.stage+" FAILED: it has not run to its end")
			want := []string{"begin " + test.stage, "clean " + test.stage}
			if test.then != "" {
				want = append(want, test.then)
			}
			c.requireOrder(want...)
		})
	}
}

// TestStagesDoNotCleanUp: a stage that does not end when it is told to is named, and killed.
func TestStagesDoNotCleanUp(t *testing.T) {
	c := newStages(t, map[string]string{"second1": `trap '' TERM
kill -9 $(ps -o pgid= -p $$)
while :; do sleep 0.1; done`})
	script := c.read("hack/run-stages.sh")
	require.Contains(t, script, "\ngrace=60\n")
	c.write("hack/run-stages.sh", strings.Replace(script, "\ngrace=60\n", "\ngrace=2\n", 1))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var output strings.Builder
	require.Error(t, c.startStages(ctx, &output).Wait())
	require.NoError(t, ctx.Err(), output.String())
	require.Regexp(t, `==> killed, since they did not end within 2 s:\n(.*\n)*.*/standins/make --no-print-directory second1\n`, output.String())
	// The stage's own timeout would kill it after a minute.
	require.Eventually(t, func() bool { return exec.Command("pgrep", "-f", c.dir).Run() != nil }, 20*time.Second, 10*time.Millisecond)
}

// TestSeventhGroup: no stage is left out silently.
func TestSeventhGroup(t *testing.T) {
	c := newStages(t, nil)
	out, err := c.run("hack/run-stages.sh", append(stages, "--", "more1", "more2")...)
	require.ErrorContains(t, err, "exit status 2")
	require.Contains(t, out, "these stages are in a seventh group, but there are only six: more1 more2")
	require.Empty(t, c.read("order"))
}

// leavings are commands that leave a process whose number is in the file left.
var leavings = map[string]struct {
	command string
	// gone says that the process is ended, and clean that it has cleaned up.
	gone, clean bool
}{
	"failed":             {command: `setsid sleep 1000 >/dev/null 2>&1 & echo $! >left; exit 3`, gone: true},
	"ended as it hung":   {command: `timeout --foreground 60 bash -c 'setsid sleep 1000 >/dev/null 2>&1 & echo $! >left; kill -TERM $PPID; wait'`, gone: true},
	"takes time to end":  {command: `setsid bash -c 'trap "sleep 1; echo clean >clean; exit" TERM; echo $$ >left; while :; do sleep 0.1; done' >/dev/null 2>&1 & until [ -s left ]; do sleep 0.02; done; exit 3`, gone: true, clean: true},
	"refuses to end":     {command: `setsid bash -c 'trap "" TERM; echo $$ >left; while :; do sleep 0.1; done' >/dev/null 2>&1 & until [ -s left ]; do sleep 0.02; done; exit 3`, gone: true},
	"passed, as daemons": {command: `setsid sleep 1000 >/dev/null 2>&1 & echo $! >left`},
}

// running is the command line of a process, which is empty when it has ended.
func running(pid string) string {
	text, _ := os.ReadFile("/proc/" + pid + "/cmdline")
	return string(text)
}

// TestFailedStageLeavesNothing: processes that a failed stage has left do not run beside the next ones.
func TestFailedStageLeavesNothing(t *testing.T) {
	probe := newCheckout(t, "hack/cpu-time.sh")
	if out, err := probe.run("hack/cpu-time.sh", filepath.Join(probe.dir, "time"), "grep", "-q", "/antrea-cpu-time-", "/proc/self/cgroup"); err != nil {
		t.Skip("control groups cannot be made here: " + out)
	}
	for name, test := range leavings {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t, "hack/cpu-time.sh")
			script := c.read("hack/cpu-time.sh")
			require.Contains(t, script, "\ngrace=60\n")
			if name == "refuses to end" {
				c.write("hack/cpu-time.sh", strings.Replace(script, "\ngrace=60\n", "\ngrace=2\n", 1))
			}
			cmd := exec.Command(filepath.Join(c.dir, "hack/cpu-time.sh"), "time", "bash", "-c", test.command)
			cmd.Dir = c.dir
			output, err := cmd.CombinedOutput()
			require.Equal(t, test.gone, err != nil, string(output))
			require.Regexp(t, `^\d+\n$`, c.read("time"))
			left := strings.TrimSpace(c.read("left"))
			if !test.gone {
				require.NotEmpty(t, running(left))
				require.NoError(t, exec.Command("kill", left).Run())
				return
			}
			require.Contains(t, string(output), "are left, and get TERM")
			require.Equal(t, name == "refuses to end", strings.Contains(string(output), "get KILL"))
			require.Empty(t, running(left))
			_, err = os.Stat(filepath.Join(c.dir, "clean"))
			require.Equal(t, test.clean, err == nil)
		})
	}
}
