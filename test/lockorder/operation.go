// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package lockorder

import (
	"go/token"
	"go/types"
	"slices"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// operation is the effect of an instruction on locks.
type operation struct {
	// acquire and release are at most one lock; for sync.Once both, and the callees run in between.
	acquire, release lock
	// try says that acquire is not waited for.
	try bool
	// nameless says that a lock without a name is acquired.
	nameless bool
	callees  []*ssa.Function
	// others are the functions behind a parameter that is called: the caller's caller has them among its callees.
	others []*ssa.Function
	// unknown says that an unknown function value is called.
	unknown bool
}

// laterCalls are functions of libraries that call what they are given in another goroutine, or when their caller has long returned.
var laterCalls = map[string]bool{
	"time.AfterFunc": true, "context.AfterFunc": true, "(*sync.WaitGroup).Go": true, "(*golang.org/x/sync/errgroup.Group).Go": true,
	"sync.OnceFunc": true, "runtime.AddCleanup": true,
	"(k8s.io/client-go/tools/cache.SharedInformer).AddEventHandler":                 true,
	"(k8s.io/client-go/tools/cache.SharedInformer).AddEventHandlerWithResyncPeriod": true,
	"(k8s.io/client-go/tools/cache.SharedIndexInformer).AddEventHandler":            true,
	"(github.com/ovn-kubernetes/libovsdb/cache.TableCache).AddEventHandler":         true,
	"(*github.com/ovn-kubernetes/libovsdb/cache.TableCache).AddEventHandler":        true,
	"(k8s.io/client-go/tools/cache.SharedIndexInformer).SetWatchErrorHandler":       true,
	"(k8s.io/client-go/tools/cache.SharedInformer).SetWatchErrorHandlerWithContext": true,
}

func (p *program) operation(instruction ssa.Instruction) operation {
	op := p.direct(instruction)
	call, ok := instruction.(ssa.CallInstruction)
	if !ok || op.acquire != "" || op.release != "" || op.nameless {
		return op
	}
	op = p.call(call)
	for _, argument := range p.calledBack(call) {
		functions, known := p.functionsOf(argument, map[ssa.Value]bool{})
		op.unknown = op.unknown || !known
		if p.parameterOf(argument) != nil {
			op.others = append(op.others, functions...)
		} else {
			op.callees = append(slices.Clip(op.callees), functions...)
		}
	}
	return op
}

// direct returns what an instruction does with a lock itself.
func (p *program) direct(instruction ssa.Instruction) operation {
	switch i := instruction.(type) {
	case *ssa.Send:
		return operation{acquire: p.channel(i.Chan)}
	case *ssa.UnOp:
		if i.Op == token.ARROW {
			return operation{release: p.channel(i.X)}
		}
	case *ssa.Select:
		// Of a program's selects none has two locks.
		for _, state := range i.States {
			if name := p.channel(state.Chan); name != "" && state.Dir == types.SendOnly {
				return operation{acquire: name, try: !i.Blocking}
			} else if name != "" {
				return operation{release: name}
			}
		}
	case ssa.CallInstruction:
		if static := i.Common().StaticCallee(); static != nil && static.Signature.Recv() != nil {
			return p.primitive(static, i.Common().Args)
		}
	}
	return operation{}
}

// channel returns the name of the lock that a channel is, or "".
func (p *program) channel(v ssa.Value) lock {
	if name := p.name(v); isTurn(v.Type()) || channelLocks[name] {
		return name
	}
	return ""
}

func (p *program) call(i ssa.CallInstruction) operation {
	common := i.Common()
	if common.IsInvoke() {
		return operation{callees: append(slices.Clip(p.implementations[i]), p.methodsGiven(i)...)}
	}
	if static := common.StaticCallee(); static != nil {
		if len(static.Blocks) > 0 {
			return operation{callees: []*ssa.Function{static}}
		}
		return operation{callees: p.methodsGiven(i)}
	}
	if _, builtin := common.Value.(*ssa.Builtin); builtin {
		return operation{}
	}
	unknown := false
	if len(p.values[i]) == 0 {
		_, known := p.functionsOf(common.Value, map[ssa.Value]bool{})
		unknown = !known
	}
	if p.parameterOf(common.Value) != nil {
		return operation{others: p.values[i], unknown: unknown}
	}
	return operation{callees: p.values[i], unknown: unknown}
}

func (p *program) primitive(function *ssa.Function, arguments []ssa.Value) operation {
	name := p.name(arguments[0])
	switch function.String() {
	case "(*sync.Mutex).Lock", "(*sync.RWMutex).Lock", "(*sync.RWMutex).RLock":
		return operation{acquire: name, nameless: name == ""}
	case "(*sync.Mutex).TryLock", "(*sync.RWMutex).TryLock", "(*sync.RWMutex).TryRLock":
		return operation{acquire: name, nameless: name == "", try: true}
	case "(*sync.Mutex).Unlock", "(*sync.RWMutex).Unlock", "(*sync.RWMutex).RUnlock":
		return operation{release: name}
	case "(*sync.Once).Do":
		functions, known := p.functionsOf(arguments[1], map[ssa.Value]bool{})
		return operation{acquire: name, release: name, nameless: name == "", callees: functions, unknown: !known}
	}
	if !isTurn(function.Signature.Recv().Type()) {
		return operation{}
	}
	if strings.HasPrefix(function.Name(), "take") {
		return operation{acquire: name, nameless: name == ""}
	}
	return operation{release: name}
}

// methodsGiven returns the methods of values that a function of a library is given as an interface.
func (p *program) methodsGiven(i ssa.CallInstruction) []*ssa.Function {
	if len(p.implementations[i]) > 0 {
		return nil
	}
	var functions []*ssa.Function
	for _, argument := range i.Common().Args {
		made, ok := argument.(*ssa.MakeInterface)
		if !ok {
			continue
		}
		for method := range made.Type().Underlying().(*types.Interface).Methods() {
			if fn := i.Parent().Prog.LookupMethod(made.X.Type(), method.Pkg(), method.Name()); fn != nil && len(fn.Blocks) > 0 {
				functions = append(functions, fn)
			}
		}
	}
	return functions
}

func isNil(v ssa.Value) bool {
	constant, ok := v.(*ssa.Const)
	return ok && constant.IsNil()
}

// functionsOf returns what a function value may be, as far as the program's own code says, and whether it says anything.
func (p *program) functionsOf(v ssa.Value, seen map[ssa.Value]bool) ([]*ssa.Function, bool) {
	if seen[v] || isNil(v) {
		return nil, true
	}
	seen[v] = true
	switch v := v.(type) {
	case *ssa.Function:
		if len(v.Blocks) == 0 {
			return nil, true
		}
		return []*ssa.Function{v}, true
	case *ssa.MakeClosure:
		return p.functionsOf(v.Fn, seen)
	case *ssa.ChangeType:
		return p.functionsOf(v.X, seen)
	case *ssa.Phi:
		return p.functionsOfAny(v.Edges, seen)
	case *ssa.FreeVar:
		return p.functionsOfAny(p.bound(v), seen)
	case *ssa.UnOp:
		if address, ok := v.X.(*ssa.FieldAddr); ok {
			return p.functionsOfAny(p.stores[fieldOf(address.X.Type(), address.Field)], seen)
		}
		return p.functionsOf(v.X, seen)
	case *ssa.Alloc:
		return p.functionsOfAny(storedIn(v), seen)
	case *ssa.Parameter:
		return p.functionsOfAny(p.arguments(v), seen)
	case *ssa.Call:
		return p.functionsReturned(v, 0, seen)
	case *ssa.Extract:
		if call, ok := v.Tuple.(*ssa.Call); ok {
			return p.functionsReturned(call, v.Index, seen)
		}
	}
	return nil, false
}

func (p *program) functionsOfAny(values []ssa.Value, seen map[ssa.Value]bool) ([]*ssa.Function, bool) {
	var functions []*ssa.Function
	known := len(values) > 0
	for _, v := range values {
		more, ok := p.functionsOf(v, seen)
		functions, known = append(functions, more...), known && ok
	}
	return functions, known
}

// functionsReturned returns the result of a call. Results of libraries, such as iterators and cancel functions, do not
// take locks of the program.
func (p *program) functionsReturned(call *ssa.Call, index int, seen map[ssa.Value]bool) ([]*ssa.Function, bool) {
	if static := call.Common().StaticCallee(); static != nil && len(static.Blocks) == 0 {
		return nil, true
	}
	return p.functionsOfAny(p.results(call, index), seen)
}

func storedIn(variable *ssa.Alloc) []ssa.Value {
	var values []ssa.Value
	for _, user := range *variable.Referrers() {
		if store, ok := user.(*ssa.Store); ok && store.Addr == variable {
			values = append(values, store.Val)
		}
	}
	return values
}

// arguments returns what a parameter is in all calls that are known.
func (p *program) arguments(parameter *ssa.Parameter) []ssa.Value {
	fn := parameter.Parent()
	index := slices.Index(fn.Params, parameter)
	var arguments []ssa.Value
	for _, call := range p.callers[fn] {
		if given := call.Common().Args; len(given) == len(fn.Params) {
			arguments = append(arguments, given[index])
		}
	}
	return arguments
}

// results returns what the functions that a call may reach return there.
func (p *program) results(call *ssa.Call, index int) []ssa.Value {
	called := append(slices.Clip(p.implementations[call]), p.values[call]...)
	if static := call.Common().StaticCallee(); static != nil {
		called = []*ssa.Function{static}
	}
	var results []ssa.Value
	for _, fn := range called {
		for _, block := range fn.Blocks {
			if end, ok := block.Instrs[len(block.Instrs)-1].(*ssa.Return); ok {
				results = append(results, end.Results[index])
			}
		}
	}
	return results
}
