// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package lockorder

import (
	"go/token"
	"go/types"
	"slices"

	"golang.org/x/tools/go/ssa"
)

// parameterOf returns the parameter of its function, or of one around it, that v is, or nil. The effect of calling a
// parameter depends on the caller, and is attributed to it.
func (p *program) parameterOf(v ssa.Value) *ssa.Parameter {
	switch v := v.(type) {
	case *ssa.Parameter:
		return v
	case *ssa.ChangeType:
		return p.parameterOf(v.X)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return p.parameterOf(v.X)
		}
	case *ssa.FreeVar:
		if bound := p.bound(v); len(bound) == 1 {
			return p.parameterOf(bound[0])
		}
	case *ssa.Alloc:
		if stored := storedIn(v); len(stored) == 1 {
			return p.parameterOf(stored[0])
		}
	}
	return nil
}

// callsBack reports whether fn calls its parameter before it returns, itself or by passing it on.
func (p *program) callsBack(fn *ssa.Function, index int) bool {
	if len(fn.Params) <= index {
		return false
	}
	parameter := fn.Params[index]
	if known, ok := p.called[parameter]; ok {
		return known
	}
	p.called[parameter] = false
	p.called[parameter] = p.callsIn(fn, parameter)
	return p.called[parameter]
}

func (p *program) callsIn(fn *ssa.Function, parameter *ssa.Parameter) bool {
	for _, block := range fn.Blocks {
		for _, instruction := range block.Instrs {
			switch i := instruction.(type) {
			case *ssa.MakeClosure:
				if !p.isLater(i) && p.callsIn(i.Fn.(*ssa.Function), parameter) {
					return true
				}
			case *ssa.Go:
			case ssa.CallInstruction:
				if p.passes(i, parameter) {
					return true
				}
			}
		}
	}
	return false
}

// passes reports whether a call is one of the parameter, or passes it to a function that calls it.
func (p *program) passes(call ssa.CallInstruction, parameter *ssa.Parameter) bool {
	if call.Common().Method == nil && p.parameterOf(call.Common().Value) == parameter {
		return true
	}
	return slices.ContainsFunc(p.calledBack(call), func(v ssa.Value) bool { return p.parameterOf(v) == parameter })
}

// calledBack returns the arguments that the callees of a call may call before they return.
func (p *program) calledBack(call ssa.CallInstruction) []ssa.Value {
	common := call.Common()
	callees, offset, name := p.values[call], 0, ""
	if common.IsInvoke() {
		callees, offset, name = p.implementations[call], 1, common.Method.FullName()
	} else if static := common.StaticCallee(); static != nil {
		callees, name = []*ssa.Function{static}, static.String()
	}
	library := !slices.ContainsFunc(callees, func(fn *ssa.Function) bool { return len(fn.Blocks) > 0 })
	var called []ssa.Value
	for index, argument := range common.Args {
		if _, ok := argument.Type().Underlying().(*types.Signature); !ok || isNil(argument) {
			continue
		}
		if library && !laterCalls[name] ||
			slices.ContainsFunc(callees, func(fn *ssa.Function) bool { return p.callsBack(fn, index+offset) }) {
			called = append(called, argument)
		}
	}
	return called
}

// isLater reports whether a function literal is only the beginning of a goroutine that its maker hands no lock.
func (p *program) isLater(closure *ssa.MakeClosure) bool {
	for _, user := range *closure.Referrers() {
		if _, ok := user.(*ssa.Go); !ok {
			return false
		}
	}
	return !p.onlyReleases(closure.Fn.(*ssa.Function))
}

// onlyReleases reports whether fn itself releases a lock that it does not take.
func (p *program) onlyReleases(fn *ssa.Function) bool {
	acquired, released := map[lock]bool{}, map[lock]bool{}
	for _, block := range fn.Blocks {
		for _, instruction := range block.Instrs {
			op := p.direct(instruction)
			acquired[op.acquire], released[op.release] = true, true
		}
	}
	for name := range released {
		if name != "" && !acquired[name] {
			return true
		}
	}
	return false
}
