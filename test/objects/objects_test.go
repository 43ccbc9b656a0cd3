// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

var (
	sets = flag.Int("sets", 0, "number of sets of good and bad objects that TestObjects runs")
	seed = flag.Uint64("seed", 0, "seed of the random sets; 0 chooses one")
	only = flag.Int("only", -1, "only the set with this number")
)

// setsPerLine is the number of sets between two lines of progress.
const setsPerLine = 10

// mostPrinted is the maximum number of differences that are printed for one case.
const mostPrinted = 5

// TestMain runs the tests in namespaces of their own. A bad object that ends the process ends only them: they restart after
// it.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	klog.SetLogger(klog.Logger{})
	// One of them sleeps until some time after the process's last error. In a bubble whose clock is behind, that can take years.
	utilruntime.ErrorHandlers = nil
	os.Exit(supervise(func() int {
		code := m.Run()
		if summary != "" {
			fmt.Println(summary)
		}
		return code
	}))
}

// summary is the last line of the output.
var summary string

// Numbers of a set's runs. A run with a single bad object has the object's index instead.
const (
	withoutBad = -1
	withAll    = -2
)

// live runs the set in a new world, in a bubble with its own time.
func live(t *testing.T, r *Runtime, s *Script, life int) (states []*state) {
	include := func(b *bad) bool { return life == withAll || life >= 0 && b == s.Bad[life] }
	synctest.Test(t, func(t *testing.T) {
		w, err := NewWorld(r, *seed, synctest.Wait)
		require.NoError(t, err)
		states, err = s.Live(w, include)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	})
	return states
}

func newRuntime(t *testing.T) *Runtime {
	sandbox.RequireRoot(t)
	r, err := NewRuntime(t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

// TestObjects runs each set in a world without and in one with its bad objects. If they differ, it runs the set once more
// with each bad object alone, to find the cause.
func TestObjects(t *testing.T) {
	r := newRuntime(t)
	p := readAccount(t)
	lines := progress.New(os.Stderr)
	for ; p.Set < *sets; p.next() {
		if *only >= 0 && p.Set != *only {
			continue
		}
		bad, collateral := checkSet(t, r, p)
		p.Bad, p.Collateral = p.Bad+bad, p.Collateral+collateral
		if (p.Set+1)%setsPerLine == 0 {
			lines.Printf("objects: %d of %d sets, collateral %d, seed %d", p.Set+1, *sets, p.Collateral, p.Seed)
		}
	}
	summary = fmt.Sprintf("objects: sets=%d bad=%d collateral=%d seed=%d", *sets, p.Bad, p.Collateral, p.Seed)
	if p.Collateral > 0 {
		t.Fail()
	}
}

// checkSet returns how many bad objects a set has, and how many of them cause differences.
func checkSet(t *testing.T, r *Runtime, p *account) (bad, collateral int) {
	s := NewScript(p.Seed, uint64(p.Set))
	without := live(t, r, s, withoutBad)
	compare := func(life int) Difference {
		if slices.Contains(p.Crashed, life) {
			return Difference{Phase: "that was interrupted", Found: []string{"the process has panicked"}}
		}
		p.begin(t, life)
		return s.Compare(without, live(t, r, s, life))
	}
	together := compare(withAll)
	if len(together.Found) == 0 {
		return len(s.Bad), 0
	}
	for i, b := range s.Bad {
		if alone := compare(i); len(alone.Found) > 0 {
			report(p, b.String(), alone)
			collateral++
		}
	}
	if collateral == 0 {
		report(p, fmt.Sprintf("only together: %v", s.Bad), together)
		collateral = 1
	}
	return len(s.Bad), collateral
}

// TestNothingDiffersWithoutBadObjects shows that two runs of one set are comparable.
func TestNothingDiffersWithoutBadObjects(t *testing.T) {
	r := newRuntime(t)
	for set := range uint64(4) {
		s := NewScript(rand.Uint64(), set)
		require.Empty(t, s.Compare(live(t, r, s, withoutBad), live(t, r, s, withoutBad)))
	}
}

func report(p *account, what string, d Difference) {
	fmt.Printf("seed %d, set %d, phase %s: %s\n", p.Seed, p.Set, d.Phase, what)
	for _, lines := range [][]string{d.Found, d.Problems} {
		for _, line := range lines[:min(len(lines), mostPrinted)] {
			fmt.Println("   ", line)
		}
		if len(lines) > mostPrinted {
			fmt.Println("    and", len(lines)-mostPrinted, "more")
		}
	}
}
