// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package lockorder

import (
	"go/constant"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// held has, for each lock that may be held, where it was taken.
type held map[lock]token.Pos

// effect is the effect of a function's locks on its callers.
type effect struct {
	// entry are the locks that it releases without having taken them: its caller must hold them. exit are the locks
	// that may be held when it returns.
	entry, exit held
	// acquires are all locks that it may wait for, with the calls of others.
	acquires map[lock]step
}

// step acquires a lock: at pos, or in the callee.
type step struct {
	pos    token.Pos
	callee *ssa.Function
}

// state holds at a point of a function.
type state struct {
	held held
	// taken are the locks that the function itself has taken, or has been given by a callee: it releases these, not its caller's.
	taken  map[lock]bool
	defers []*ssa.Defer
}

func (s state) clone() state {
	return state{maps.Clone(s.held), maps.Clone(s.taken), slices.Clone(s.defers)}
}

// merge adds what holds on another path, and reports whether that is new.
func (s *state) merge(other state) bool {
	grown := false
	for name, pos := range other.held {
		if _, ok := s.held[name]; !ok {
			s.held[name], grown = pos, true
		}
	}
	for name := range other.taken {
		grown = grown || !s.taken[name]
		s.taken[name] = true
	}
	for _, d := range other.defers {
		if !slices.Contains(s.defers, d) {
			s.defers, grown = append(s.defers, d), true
		}
	}
	return grown
}

// analysis follows the functions of a program.
type analysis struct {
	*program
	operations map[ssa.Instruction]operation
	effects    map[*ssa.Function]*effect
	components [][]*ssa.Function
	// on is called for each operation with what is held then. It is nil until the effects are known.
	on func(i ssa.Instruction, op operation, held held)
}

// walk follows all paths through fn and enters what the caller notices. It says whether that has changed.
func (a *analysis) walk(fn *ssa.Function) bool {
	e := a.effects[fn]
	exit, released := held{}, held{}
	before := make([]*state, len(fn.Blocks))
	before[0] = &state{held: maps.Clone(e.entry), taken: map[lock]bool{}}
	for todo := []*ssa.BasicBlock{fn.Blocks[0]}; len(todo) > 0; {
		block := todo[0]
		todo = todo[1:]
		after := before[block.Index].clone()
		for _, instruction := range block.Instrs {
			a.apply(instruction, &after, released)
			if _, ok := instruction.(*ssa.Return); ok {
				maps.Copy(exit, after.held)
			}
		}
		for i, next := range block.Succs {
			out := after.clone()
			for _, name := range a.notTaken(block, i) {
				delete(out.held, name)
			}
			if before[next.Index] == nil {
				before[next.Index] = &state{held: held{}, taken: map[lock]bool{}}
			} else if !before[next.Index].merge(out) {
				continue
			}
			before[next.Index].merge(out)
			todo = append(todo, next)
		}
	}
	changed := !sameLocks(e.exit, exit) || !sameLocks(e.entry, released)
	e.entry, e.exit = released, exit
	return changed
}

func sameLocks(a, b held) bool {
	return maps.EqualFunc(a, b, func(token.Pos, token.Pos) bool { return true })
}

// apply changes s as the instruction does. Locks released without having been taken go into released.
func (a *analysis) apply(instruction ssa.Instruction, s *state, released held) {
	switch i := instruction.(type) {
	case *ssa.Defer:
		if !slices.Contains(s.defers, i) {
			s.defers = append(s.defers, i)
		}
	case *ssa.RunDefers:
		for _, d := range slices.Backward(s.defers) {
			a.operate(d, s, released)
		}
	case *ssa.Go:
		// A goroutine that releases locks of its maker continues with them: whoever waits for it waits for both.
		for _, fn := range a.operations[i].callees {
			for name := range a.effects[fn].entry {
				if _, ok := s.held[name]; ok {
					a.operate(i, s, released)
					return
				}
			}
		}
	default:
		a.operate(instruction, s, released)
	}
}

func (a *analysis) operate(instruction ssa.Instruction, s *state, released held) {
	op, ok := a.operations[instruction]
	if !ok {
		return
	}
	if a.on != nil {
		a.on(instruction, op, s.held)
	}
	entry, exit := held{}, held{}
	for _, fn := range op.callees {
		maps.Copy(entry, a.effects[fn].entry)
		maps.Copy(exit, a.effects[fn].exit)
	}
	if op.acquire != "" && op.release == "" {
		exit[op.acquire] = instruction.Pos()
	}
	if op.release != "" && op.acquire == "" {
		entry[op.release] = instruction.Pos()
	}
	for name := range entry {
		if !s.taken[name] {
			released[name] = instruction.Pos()
		}
		delete(s.held, name)
	}
	for name := range exit {
		s.held[name], s.taken[name] = instruction.Pos(), true
	}
}

// notTaken returns the locks that the end of block has failed to take if it continues with its successor of that index.
func (a *analysis) notTaken(block *ssa.BasicBlock, successor int) []lock {
	end, ok := block.Instrs[len(block.Instrs)-1].(*ssa.If)
	if !ok {
		return nil
	}
	isTrue := successor == 0
	condition := end.Cond
	if not, ok := condition.(*ssa.UnOp); ok && not.Op == token.NOT {
		condition, isTrue = not.X, !isTrue
	}
	if call, ok := condition.(*ssa.Call); ok {
		if op := a.operations[call]; op.try && !isTrue {
			return []lock{op.acquire}
		}
		return nil
	}
	comparison, ok := condition.(*ssa.BinOp)
	if !ok || comparison.Op != token.EQL && comparison.Op != token.NEQ {
		return nil
	}
	equal := isTrue == (comparison.Op == token.EQL)
	made := comparison.X
	extract, ok := made.(*ssa.Extract)
	if ok {
		made = extract.Tuple
	}
	other, ok := comparison.Y.(*ssa.Const)
	if !ok {
		return nil
	}
	switch made := made.(type) {
	case *ssa.Select:
		return a.notSelected(made, other, equal)
	case *ssa.Call:
		if other.IsNil() && !equal && types.Identical(comparison.X.Type(), types.Universe.Lookup("error").Type()) {
			return a.takenBy(made)
		}
	}
	return nil
}

// notSelected returns the lock that a select has not taken if its case is index, or is not.
func (a *analysis) notSelected(s *ssa.Select, index *ssa.Const, is bool) []lock {
	op, ok := a.operations[s]
	if !ok || op.acquire == "" || index.Value == nil || index.Value.Kind() != constant.Int {
		return nil
	}
	state := s.States[max(0, min(int(index.Int64()), len(s.States)-1))]
	if taking := a.channel(state.Chan) == op.acquire && state.Dir == types.SendOnly; taking == is {
		return nil
	} else if !is && !taking {
		return nil
	}
	return []lock{op.acquire}
}

// takenBy returns the locks that a call that does not fail returns with.
func (a *analysis) takenBy(call *ssa.Call) []lock {
	op := a.operations[call]
	var taken []lock
	if op.acquire != "" && op.release == "" {
		taken = append(taken, op.acquire)
	}
	for _, fn := range op.callees {
		for name := range a.effects[fn].exit {
			if _, before := a.effects[fn].entry[name]; !before {
				taken = append(taken, name)
			}
		}
	}
	return taken
}
