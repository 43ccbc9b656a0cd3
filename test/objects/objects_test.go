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

	"github.com/antrea-oncache/antrea/test/sandbox"
	"github.com/antrea-oncache/antrea/test/testbed/progress"
)

var (
	sets = flag.Int("sets", 0, "how many sets of good and bad objects TestObjects lives")
	seed = flag.Uint64("seed", 0, "makes the same sets again; 0 chooses one")
	only = flag.Int("only", -1, "only the set with this number")
)

// setsPerLine is after how many sets there is a line that says how far it is.
const setsPerLine = 10

// mostPrinted is how many differences of one case are printed.
const mostPrinted = 5

// TestMain runs the tests in namespaces of their own. A bad object that ends the process ends only them: they begin again behind it.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Geteuid() != 0 {
		os.Exit(m.Run())
	}
	klog.SetLogger(klog.Logger{})
	// One of them sleeps until a time since the last error of the process, which may be of another bubble: for years.
	utilruntime.ErrorHandlers = nil
	os.Exit(supervise(func() int {
		code := m.Run()
		if summary != "" {
			fmt.Println(summary)
		}
		return code
	}))
}

// summary is the last line.
var summary string

// The lives of a set that are not that of one bad object alone, with its index.
const (
	withoutBad = -1
	withAll    = -2
)

// live lives the set in a new world, in a bubble whose time is its own.
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

// TestObjects lives each set in a world without and in one with its bad objects. Where they differ, it lives the set once more with each
// bad object alone, to tell which it was.
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

// checkSet returns how many bad objects a set has, and how many of them differences are due to.
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

// TestNothingDiffersWithoutBadObjects shows that two lives of one set are comparable.
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
