// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stages are the groups of these tests.
var stages = []string{"alone1", "alone2", "--", "first1", "first2", "--", "second1", "second2", "--", "low1", "--", "idle1", "idle2", "--", "fuzz1"}

// newStages is a checkout with hack/run-stages.sh, whose stages do what a script of their name in do says. A stage notes its begin and its end in order.
func newStages(t *testing.T, do map[string]string) *checkout {
	c := newCheckout(t, "hack/run-stages.sh", "hack/show-failures.sh")
	c.write("order", "")
	c.write("standins/make", `#!/bin/bash
cd "`+c.dir+`"
stage=$2
echo "begin $stage" >>order
# await STAGE waits until it has begun.
await() { until grep -qx "begin $1" order; do sleep 0.02; done; }
echo "output of $stage"
[ ! -e "do/$stage" ] || . "do/$stage"
echo "end $stage" >>order
`)
	c.standIn("standins/renice", "")
	c.standIn("standins/chrt", "")
	// The CPU time is one second, or as the stage says.
	c.write("hack/cpu-time.sh", `#!/bin/bash
file=$1
shift
"$@"
code=$?
cat "cpu-${*: -1}" >"$file" 2>/dev/null || echo 1 >"$file"
exit $code
`)
	c.write("hack/budget.sh", `#!/bin/bash
if [ "$1" = speed ]; then echo 400; exit; fi
[ "$3" = 400 ] || { echo "the speed before $1 is $3"; exit 1; }
[ "$2" -le 100 ] || { echo "budget: $1 took $2 CPU seconds"; exit 1; }
`)
	for stage, script := range do {
		c.write("do/"+stage, script+"\n")
	}
	return c
}

// startStages starts the stages.
func (c *checkout) startStages(ctx context.Context, output *strings.Builder) *exec.Cmd {
	c.t.Helper()
	cmd := exec.CommandContext(ctx, filepath.Join(c.dir, "hack/run-stages.sh"), stages...)
	cmd.Env = []string{"PATH=" + c.path}
	cmd.Stdout, cmd.Stderr = output, output
	require.NoError(c.t, cmd.Start())
	return cmd
}

// order are the begins and ends so far.
func (c *checkout) order() []string {
	return strings.Split(strings.TrimSpace(c.read("order")), "\n")
}

// requireOrder fails unless the lines of order are there, in this order.
func (c *checkout) requireOrder(want ...string) {
	c.t.Helper()
	before := -1
	for _, line := range want {
		at := slices.Index(c.order(), line)
		require.Greater(c.t, at, before, "%q in %q, wanted order %q", line, c.order(), want)
		before = at
	}
}

const fails = `echo "--- FAIL: Test$stage (0.00s)"; echo "$stage is wrong"; exit 1`

// runs are scripts of stages, with the expected results.
var runs = map[string]struct {
	do map[string]string
	// failed have failed, with these words in what is said at the end, and unfinished never ended.
	failed     []string
	unfinished []string
	words      []string
}{
	// Each chain waits for a stage of the other chain, so both must run.
	"pass":           {do: map[string]string{"first1": "await second2", "second2": "await idle1", "second1": "await low1", "idle1": "await fuzz1", "first2": "await idle2"}},
	"first fails":    {do: map[string]string{"first1": fails}, failed: []string{"first1"}, words: []string{"==> failed: Testfirst1"}},
	"second fails":   {do: map[string]string{"second1": fails}, failed: []string{"second1"}, words: []string{"==> failed: Testsecond1"}},
	"last of second": {do: map[string]string{"second2": "await idle2; exit 1"}, failed: []string{"second2"}, words: []string{"output of second2"}},
	"alone fails":    {do: map[string]string{"alone1": fails}, failed: []string{"alone1"}, words: []string{"==> failed: Testalone1"}},
	"all fail": {
		do:     map[string]string{"first1": fails, "second1": fails, "low1": fails, "idle1": fails},
		failed: []string{"first1", "second1", "low1", "idle1"},
		words:  []string{"first1 is wrong", "second1 is wrong", "low1 is wrong", "idle1 is wrong"},
	},
	"budget of the first":  {do: map[string]string{"first2": "echo 101 >cpu-first2"}, failed: []string{"first2"}, words: []string{"budget: first2 took 101"}},
	"budget of the second": {do: map[string]string{"second1": "echo 101 >cpu-second1"}, failed: []string{"second1"}, words: []string{"budget: second1 took 101"}},
	"killed":               {do: map[string]string{"second1": "kill -9 $$", "first1": "kill -9 $$"}, failed: []string{"first1", "second1"}},
	// hack/cpu-time.sh is killed, or cannot write.
	"counting killed":  {do: map[string]string{"first1": "kill -9 $PPID", "second1": "kill -9 $(ps -o ppid= -p $PPID)"}, failed: []string{"first1", "second1"}, words: []string{"the CPU time of second1 is unknown"}},
	"time not written": {do: map[string]string{"second1": "mkdir .testbed/second1.time"}, failed: []string{"second1"}, words: []string{"the CPU time of second1 is unknown"}},
	"hangs":            {do: map[string]string{"second1": "exec sleep 1000"}, failed: []string{"second1"}, words: []string{"output of second1"}},
	// The shell that runs the chain is killed, as by a lack of memory.
	"second chain killed": {
		do:         map[string]string{"second1": "kill -9 $(ps -o pgid= -p $$); exec sleep 1000"},
		unfinished: []string{"second1", "second2"}, words: []string{"output of second1"},
	},
	"first chain killed": {
		do:         map[string]string{"first2": "kill -9 $(ps -o pgid= -p $$); exec sleep 1000"},
		unfinished: []string{"first2"}, words: []string{"output of first2"},
	},
}

// TestStages: two chains of stages run side by side, after those that need the machine for themselves, and every failure is told.
func TestStages(t *testing.T) {
	for name, test := range runs {
		t.Run(name, func(t *testing.T) {
			c := newStages(t, test.do)
			if name == "hangs" {
				c.write("hack/run-stages.sh", strings.Replace(c.read("hack/run-stages.sh"), "limit=75m", "limit=10s", 1))
			}
			// A log of another run must not be taken for one of this run.
			c.write(".testbed/second2.log", "output of a former run\n")
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var output strings.Builder
			err := c.startStages(ctx, &output).Wait()
			require.NoError(t, ctx.Err(), output.String())
			out := output.String()
			bad := append(slices.Clone(test.failed), test.unfinished...)
			require.Equal(t, len(bad) == 0, err == nil, "%v\n%s", err, out)
			require.NotContains(t, out, "former run")
			c.requireStages(out, bad, test.unfinished)
			if len(bad) == 0 {
				require.ElementsMatch(t, []string{"renice -n 5 -p", "chrt --idle --pid 0", "chrt --idle --pid 0"}, withoutLastWord(c.calls()))
				return
			}
			// The last lines are the results of what has failed.
			lines := strings.Split(strings.TrimSpace(out), "\n")
			for i, stage := range bad {
				want := fmt.Sprintf("==> %s FAILED after ", stage)
				if slices.Contains(test.unfinished, stage) {
					want = fmt.Sprintf("==> %s FAILED: it has not run to its end", stage)
				}
				require.True(t, strings.HasPrefix(lines[len(lines)-len(bad)+i], want), "%q\n%s", want, out)
			}
			_, end, found := strings.Cut(out, "waiting for the stages beside others")
			require.True(t, found)
			for _, words := range test.words {
				require.Contains(t, end, words, out)
			}
		})
	}
}

// requireStages checks that each stage has run that its chain has come to, in which order, and what the output says of those that have passed.
func (c *checkout) requireStages(out string, bad, unfinished []string) {
	c.t.Helper()
	c.requireOrder("begin alone1", "begin alone2")
	for _, chain := range [][]string{{"first1", "first2"}, {"second1", "second2"}, {"low1"}, {"idle1", "idle2"}, {"fuzz1"}} {
		want := []string{"begin alone2"}
		for _, stage := range chain {
			want = append(want, "begin "+stage)
			if slices.Contains(unfinished, stage) {
				break
			}
		}
		c.requireOrder(want...)
	}
	if !slices.Contains(bad, "alone2") {
		c.requireOrder("end alone2", "begin second1")
		c.requireOrder("end alone2", "begin first1")
	}
	for _, stage := range slices.DeleteFunc(slices.Clone(stages), func(s string) bool { return s == "--" || slices.Contains(bad, s) }) {
		require.Contains(c.t, c.read(".testbed/"+stage+".log"), "output of "+stage)
		shown := strings.HasPrefix(stage, "first") || strings.HasPrefix(stage, "alone")
		require.Equal(c.t, shown, strings.Contains(out, "\noutput of "+stage+"\n"), "%s\n%s", stage, out)
		require.Equal(c.t, !shown, strings.Contains(out, "==> "+stage+" passed after "), "%s\n%s", stage, out)
		if len(bad) == 0 {
			require.Regexp(c.t, `(?m)^==> passed:.* `+stage+` \d+ s \(CPU 1 s\);`, out)
		}
	}
}

// TestGroupsOfStages: make test knows each stage once, in the groups that hack/run-stages.sh expects, with a target and a budget.
func TestGroupsOfStages(t *testing.T) {
	makefile, err := os.ReadFile(root + "/Makefile")
	require.NoError(t, err)
	budgets, err := os.ReadFile(root + "/hack/budgets")
	require.NoError(t, err)
	require.Contains(t, string(makefile), "\thack/run-stages.sh $(stages_alone) -- $(stages_ordinary) -- $(stages_second) -- $(stages_low) -- $(stages_idle) -- $(stages_fuzz)\n")
	seen := map[string]bool{}
	groups := regexp.MustCompile(`(?m)^stages_\w+ := (.+)$`).FindAllStringSubmatch(string(makefile), -1)
	require.Len(t, groups, 6)
	for _, group := range groups {
		for stage := range strings.FieldsSeq(group[1]) {
			require.False(t, seen[stage], "%s is in two groups", stage)
			seen[stage] = true
			require.Regexp(t, `(?m)^`+stage+`:`, string(makefile))
			require.Regexp(t, `(?m)^`+stage+` \d+$`, string(budgets))
		}
	}
}

func withoutLastWord(lines []string) (short []string) {
	for _, line := range lines {
		short = append(short, line[:strings.LastIndex(line, " ")])
	}
	return short
}

// TestStagesEnd: who ends the run ends all chains at once, and each stage still cleans up and says so.
func TestStagesEnd(t *testing.T) {
	// The signal comes twice: from run-stages.sh to the group, and from make to what it runs. Programs hear it once.
	const waits = `trap 'trap "" TERM; for ((i = 0; i < 20; i++)); do sleep 0.01; echo "$stage cleans up"; done; echo "clean $stage" >>order; exit 1' TERM
sleep 1000 &
echo "ready $stage" >>order
wait`
	for name, test := range map[string]struct {
		signal syscall.Signal
		do     []string
	}{
		"terminated":         {syscall.SIGTERM, []string{"first1", "second2", "idle1"}},
		"interrupted":        {syscall.SIGINT, []string{"first2", "second1"}},
		"while one is alone": {syscall.SIGTERM, []string{"alone1"}},
		"at the end":         {syscall.SIGTERM, []string{"second2"}},
	} {
		t.Run(name, func(t *testing.T) {
			do := map[string]string{}
			for _, stage := range test.do {
				do[stage] = waits
			}
			c := newStages(t, do)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			var output strings.Builder
			cmd := c.startStages(ctx, &output)
			require.Eventually(t, func() bool {
				return !slices.ContainsFunc(test.do, func(stage string) bool { return !slices.Contains(c.order(), "ready "+stage) })
			}, time.Minute, 10*time.Millisecond)
			require.NoError(t, cmd.Process.Signal(test.signal))
			err := cmd.Wait()
			require.NoError(t, ctx.Err(), output.String())
			require.ErrorContains(t, err, "exit status 130", output.String())
			for _, stage := range test.do {
				require.Contains(t, c.order(), "clean "+stage)
				log := c.read(".testbed/" + stage + ".log")
				require.Equal(t, 20, strings.Count(log, stage+" cleans up\n"), log)
			}
			left, err := exec.Command("pgrep", "-f", c.dir).Output()
			require.Error(t, err, "processes are left: %s", left)
		})
	}
}

// TestBudget: a stage is compared with its own line, and one that has none fails.
func TestBudget(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"within":    {args: []string{"quick", "150", "400"}},
		"above":     {args: []string{"quick", "100000", "400"}, want: "budget: quick took 100000 CPU seconds; its budget is 100"},
		"was slow":  {args: []string{"quick", "100000", "400000"}},
		"no budget": {args: []string{"quic", "1", "400"}, want: "hack/budgets has no line for quic"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCheckout(t, "hack/budget.sh")
			require.NoError(t, os.Symlink("/usr/bin/tr", filepath.Join(c.dir, "tools/tr")))
			c.write("hack/budgets", "# Comment.\nspeed 400\nquick 100\n")
			out, err := c.run("hack/budget.sh", test.args...)
			require.Equal(t, test.want == "", err == nil, out)
			require.Contains(t, out, test.want)
		})
	}
}
