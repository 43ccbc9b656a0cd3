// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package lockorder

import (
	"cmp"
	"fmt"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// Order tells which locks are waited for while which others are held.
type Order struct {
	program *program
	effects map[*ssa.Function]*effect
	edges   map[Edge]witness
	// Unknown has, by function, the calls with a lock held that cannot be followed and the locks without a name.
	Unknown map[string]string
}

// Edge means that After is waited for while Before is held.
type Edge struct{ Before, After string }

func (e Edge) String() string { return e.Before + " -> " + e.After }

// witness is one place where an edge comes from.
type witness struct {
	fn    *ssa.Function
	taken token.Pos
	then  step
}

// Find reads the packages in dir that match patterns.
func Find(dir string, patterns ...string) (*Order, error) {
	p, err := load(dir, patterns...)
	if err != nil {
		return nil, err
	}
	a := &analysis{program: p, operations: map[ssa.Instruction]operation{}, effects: map[*ssa.Function]*effect{}}
	for _, fn := range p.functions {
		a.effects[fn] = &effect{entry: held{}, exit: held{}, acquires: map[lock]step{}}
	}
	for _, fn := range p.functions {
		a.enter(fn)
	}
	a.components = a.findComponents()
	for _, round := range []func(*ssa.Function) bool{a.walk, a.acquires} {
		if err := a.bottomUp(round); err != nil {
			return nil, err
		}
	}
	o := &Order{program: p, effects: a.effects, edges: map[Edge]witness{}, Unknown: map[string]string{}}
	for _, fn := range p.functions {
		a.on = func(i ssa.Instruction, op operation, held held) { o.enter(fn, i, op, held) }
		a.walk(fn)
	}
	return o, nil
}

// enter records the instructions of fn that concern locks. The methods of a turn acquire it.
func (a *analysis) enter(fn *ssa.Function) {
	if recv := fn.Signature.Recv(); recv != nil && isTurn(pointed(recv.Type())) {
		return
	}
	for _, block := range fn.Blocks {
		for _, instruction := range block.Instrs {
			op := a.operation(instruction)
			if op.acquire != "" || op.release != "" || len(op.callees) > 0 || len(op.others) > 0 || op.unknown || op.nameless {
				a.operations[instruction] = op
			}
		}
	}
}

// acquires adds what fn and those it calls wait for. It says whether that is more than before.
func (a *analysis) acquires(fn *ssa.Function) bool {
	known := a.effects[fn].acquires
	before := len(known)
	for _, block := range fn.Blocks {
		for _, instruction := range block.Instrs {
			op, ok := a.operations[instruction]
			if _, other := instruction.(*ssa.Go); !ok || other && !a.handsOver(op) {
				continue
			}
			if _, ok := known[op.acquire]; !ok && op.acquire != "" && !op.try {
				known[op.acquire] = step{pos: instruction.Pos()}
			}
			for _, callee := range op.callees {
				for name := range a.effects[callee].acquires {
					if _, ok := known[name]; !ok {
						known[name] = step{instruction.Pos(), callee}
					}
				}
			}
		}
	}
	return len(known) > before
}

// handsOver reports whether a goroutine that does op releases a lock that it has not taken.
func (a *analysis) handsOver(op operation) bool {
	return slices.ContainsFunc(op.callees, func(fn *ssa.Function) bool { return len(a.effects[fn].entry) > 0 })
}

// enter records the edges of one operation.
func (o *Order) enter(fn *ssa.Function, i ssa.Instruction, op operation, held held) {
	if op.nameless || op.unknown && len(held) > 0 {
		o.Unknown[functionName(fn)] = o.position(i.Pos())
	}
	for before, taken := range held {
		if op.acquire != "" && !op.try {
			o.add(before, op.acquire, witness{fn, taken, step{pos: i.Pos()}})
		}
	}
	if op.acquire != "" && op.release != "" {
		held = maps.Clone(held)
		held[op.acquire] = i.Pos()
	}
	for _, callee := range slices.Concat(op.callees, op.others) {
		e := o.effects[callee]
		for before, taken := range held {
			// Locks that the callee releases are handled there.
			if _, ok := e.entry[before]; ok {
				continue
			}
			for name := range e.acquires {
				o.add(before, name, witness{fn, taken, step{i.Pos(), callee}})
			}
		}
	}
}

func (o *Order) add(before, after lock, w witness) {
	edge := Edge{string(before), string(after)}
	if old, ok := o.edges[edge]; !ok || len(o.chain(w, after)) < len(o.chain(old, after)) {
		o.edges[edge] = w
	}
}

// chain returns the functions from where the first lock is held to where the second is waited for, with positions.
func (o *Order) chain(w witness, after lock) []string {
	chain := []string{fmt.Sprintf("%s (held since %s)", functionName(w.fn), o.position(w.taken))}
	for next := w.then; ; next = o.effects[next.callee].acquires[after] {
		if next.callee == nil {
			return append(chain, "waits at "+o.position(next.pos))
		}
		chain = append(chain, fmt.Sprintf("at %s calls %s", o.position(next.pos), functionName(next.callee)))
	}
}

func (o *Order) position(pos token.Pos) string {
	at := o.program.fset.Position(pos)
	directory, file := filepath.Split(at.Filename)
	return fmt.Sprintf("%s:%d", filepath.Join(filepath.Base(directory), file), at.Line)
}

// Edges returns all edges in order.
func (o *Order) Edges() []Edge {
	return slices.SortedFunc(maps.Keys(o.edges), func(a, b Edge) int {
		return cmp.Or(cmp.Compare(a.Before, b.Before), cmp.Compare(a.After, b.After))
	})
}

// Explain says for each edge how it comes about.
func (o *Order) Explain(edges ...Edge) string {
	var text strings.Builder
	for _, edge := range edges {
		fmt.Fprintf(&text, "with %s held, %s is waited for:\n", edge.Before, edge.After)
		for _, line := range o.chain(o.edges[edge], lock(edge.After)) {
			fmt.Fprintf(&text, "    %s\n", line)
		}
	}
	return text.String()
}

// Cycles returns for each edge on a cycle that is not allowed the shortest one; each cycle once.
func (o *Order) Cycles(allowed map[Edge]string) [][]Edge {
	next := map[string][]string{}
	for _, edge := range o.Edges() {
		if _, ok := allowed[edge]; !ok {
			next[edge.Before] = append(next[edge.Before], edge.After)
		}
	}
	var cycles [][]Edge
	seen := map[Edge]bool{}
	for _, first := range o.Edges() {
		if _, ok := allowed[first]; ok || seen[first] {
			continue
		}
		cycle := shortest(next, first)
		for _, edge := range cycle {
			seen[edge] = true
		}
		if cycle != nil {
			cycles = append(cycles, cycle)
		}
	}
	return cycles
}

// shortest returns the shortest cycle that begins with an edge.
func shortest(next map[string][]string, first Edge) []Edge {
	paths := map[string][]Edge{first.After: {first}}
	for todo := []string{first.After}; len(todo) > 0; todo = todo[1:] {
		path := paths[todo[0]]
		if todo[0] == first.Before {
			return path
		}
		for _, to := range next[todo[0]] {
			if _, ok := paths[to]; !ok {
				paths[to] = append(slices.Clip(path), Edge{todo[0], to})
				todo = append(todo, to)
			}
		}
	}
	return nil
}
