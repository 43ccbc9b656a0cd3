// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package lockorder

import (
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/ssa"
)

const module = "github.com/antrea-oncache/antrea/"

// lock is the name of a lock, such as "pkg/agent/openflow/internal/pipeline.Core.mu".
type lock string

// channelLocks are fields with a channel for one value, which whoever holds the lock puts there.
var channelLocks = map[lock]bool{
	"pkg/ovs/openflow.conn.writing":     true,
	"pkg/agent/cniserver.keyLock.token": true,
}

// name returns the name of the lock with the address or channel v, or "" if it is not known.
func (p *program) name(v ssa.Value) lock {
	switch v := v.(type) {
	case *ssa.FieldAddr:
		return p.fieldName(v.X, v.Field)
	case *ssa.Field:
		return p.fieldName(v.X, v.Field)
	case *ssa.Global:
		return short(v.Pkg.Pkg.Path()) + "." + lock(v.Name())
	case *ssa.Alloc:
		return lock(functionName(v.Parent())) + "." + lock(v.Comment)
	case *ssa.UnOp:
		if v.Op == token.MUL {
			return p.name(v.X)
		}
	case *ssa.IndexAddr:
		return p.name(v.X)
	case *ssa.ChangeType:
		return p.name(v.X)
	case *ssa.FreeVar:
		if bound := p.bound(v); len(bound) == 1 {
			return p.name(bound[0])
		}
	}
	return ""
}

func (p *program) fieldName(of ssa.Value, index int) lock {
	field := fieldOf(of.Type(), index)
	t := pointed(of.Type())
	if named, ok := types.Unalias(t).(*types.Named); ok && named.Obj().Pkg() != nil {
		return short(named.Obj().Pkg().Path()) + "." + lock(named.Obj().Name()+"."+field.Name())
	}
	if outer := p.name(of); outer != "" {
		return outer + "." + lock(field.Name())
	}
	return ""
}

// bound returns what a variable of a function literal's surroundings is, wherever the literal is made.
func (p *program) bound(v *ssa.FreeVar) []ssa.Value {
	var bound []ssa.Value
	for i, variable := range v.Parent().FreeVars {
		if variable != v {
			continue
		}
		for _, closure := range p.closures[v.Parent()] {
			bound = append(bound, closure.Bindings[i])
		}
	}
	return bound
}

func short(path string) lock { return lock(strings.TrimPrefix(path, module)) }

func functionName(fn *ssa.Function) string { return strings.ReplaceAll(fn.String(), module, "") }

// isTurn reports whether t is a channel that is used like a mutex.
func isTurn(t types.Type) bool {
	named, ok := types.Unalias(t).(*types.Named)
	if !ok || named.Obj().Name() != "turn" {
		return false
	}
	_, ok = named.Underlying().(*types.Chan)
	return ok
}

// pointed returns what t points to, or t.
func pointed(t types.Type) types.Type {
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		return pointer.Elem()
	}
	return t
}
