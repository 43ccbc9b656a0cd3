// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package lockorder

import (
	"fmt"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// maxRounds is far more than the longest chain of functions that call each other in a circle and pass a lock on.
const maxRounds = 50

// bottomUp calls round for all functions, callees before callers, and for those that call each other in a circle until nothing changes:
// what is thought of a function before its callees are known would otherwise stay true in a circle for ever.
func (a *analysis) bottomUp(round func(*ssa.Function) bool) error {
	for _, component := range a.components {
		stable := false
		for range maxRounds {
			changed := false
			for _, fn := range component {
				changed = round(fn) || changed
			}
			if stable = !changed; stable {
				break
			}
		}
		if !stable {
			return fmt.Errorf("what %s and those it calls do with locks is still not known after following them %d times",
				functionName(component[0]), maxRounds)
		}
	}
	return nil
}

// tarjan finds the strongly connected components of the functions, callees first.
type tarjan struct {
	calls      map[*ssa.Function][]*ssa.Function
	index, low map[*ssa.Function]int
	onStack    map[*ssa.Function]bool
	stack      []*ssa.Function
	components [][]*ssa.Function
}

func (a *analysis) findComponents() [][]*ssa.Function {
	t := &tarjan{calls: map[*ssa.Function][]*ssa.Function{}, index: map[*ssa.Function]int{}, low: map[*ssa.Function]int{},
		onStack: map[*ssa.Function]bool{}}
	for _, fn := range a.functions {
		for _, block := range fn.Blocks {
			for _, instruction := range block.Instrs {
				t.calls[fn] = append(t.calls[fn], a.operations[instruction].callees...)
			}
		}
	}
	for _, fn := range a.functions {
		if t.index[fn] == 0 {
			t.visit(fn)
		}
	}
	return t.components
}

func (t *tarjan) visit(fn *ssa.Function) {
	t.index[fn] = len(t.index) + 1
	t.low[fn] = t.index[fn]
	at := len(t.stack)
	t.stack, t.onStack[fn] = append(t.stack, fn), true
	for _, callee := range t.calls[fn] {
		if t.index[callee] == 0 {
			t.visit(callee)
			t.low[fn] = min(t.low[fn], t.low[callee])
		} else if t.onStack[callee] {
			t.low[fn] = min(t.low[fn], t.index[callee])
		}
	}
	if t.low[fn] != t.index[fn] {
		return
	}
	component := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, member := range component {
		t.onStack[member] = false
	}
	t.components = append(t.components, component)
}
