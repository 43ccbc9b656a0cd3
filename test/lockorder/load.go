// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package lockorder

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"os"
	"slices"

	"golang.org/x/tools/go/callgraph"
	"golang.org/x/tools/go/callgraph/cha"
	"golang.org/x/tools/go/callgraph/vta"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"
	"golang.org/x/tools/go/ssa/ssautil"
)

// program has the functions of the packages that are examined; of libraries it knows declarations only.
type program struct {
	fset *token.FileSet
	// functions have a body, and are in a fixed order.
	functions []*ssa.Function
	// implementations has what calls of interfaces' methods may reach, values what calls of function values may.
	implementations map[ssa.CallInstruction][]*ssa.Function
	values          map[ssa.CallInstruction][]*ssa.Function
	// closures has where each function literal is made, callers where each function is called.
	closures map[*ssa.Function][]*ssa.MakeClosure
	callers  map[*ssa.Function][]ssa.CallInstruction
	// stores has the values that are stored in each field.
	stores map[*types.Var][]ssa.Value
	// called says which parameters their functions call.
	called map[*ssa.Parameter]bool
}

// load reads the packages in dir that match patterns, without their tests.
func load(dir string, patterns ...string) (*program, error) {
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedTypes |
			packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule,
		Dir: dir,
		// As the Makefile builds: with anything else all libraries would have to be compiled for this alone.
		Env: append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath"),
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("load the packages %v in %q: %w", patterns, dir, err)
	}
	if len(roots) == 0 {
		return nil, fmt.Errorf("no package matches %v in %q", patterns, dir)
	}
	for _, root := range roots {
		if len(root.Errors) > 0 {
			return nil, fmt.Errorf("load the package %s: %w", root.PkgPath, root.Errors[0])
		}
	}
	prog, _ := ssautil.Packages(roots, ssa.InstantiateGenerics)
	prog.Build()
	all := ssautil.AllFunctions(prog)
	byType := cha.CallGraph(prog)
	p := &program{fset: prog.Fset, implementations: callees(byType), values: callees(vta.CallGraph(all, byType)),
		closures: map[*ssa.Function][]*ssa.MakeClosure{}, callers: map[*ssa.Function][]ssa.CallInstruction{}, stores: map[*types.Var][]ssa.Value{}, called: map[*ssa.Parameter]bool{}}
	for fn := range all {
		if len(fn.Blocks) > 0 {
			p.functions = append(p.functions, fn)
		}
	}
	slices.SortFunc(p.functions, func(a, b *ssa.Function) int {
		return cmp.Or(cmp.Compare(a.Pos(), b.Pos()), cmp.Compare(a.String(), b.String()))
	})
	p.index()
	return p, nil
}

// callees has only the functions with a body.
func callees(graph *callgraph.Graph) map[ssa.CallInstruction][]*ssa.Function {
	found := map[ssa.CallInstruction][]*ssa.Function{}
	for _, node := range graph.Nodes {
		for _, edge := range node.Out {
			if len(edge.Callee.Func.Blocks) > 0 && !slices.Contains(found[edge.Site], edge.Callee.Func) {
				found[edge.Site] = append(found[edge.Site], edge.Callee.Func)
			}
		}
	}
	for _, functions := range found {
		slices.SortFunc(functions, func(a, b *ssa.Function) int { return cmp.Compare(a.String(), b.String()) })
	}
	return found
}

func (p *program) index() {
	for _, fn := range p.functions {
		for _, block := range fn.Blocks {
			for _, instruction := range block.Instrs {
				p.indexInstruction(instruction)
			}
		}
	}
}

func (p *program) indexInstruction(instruction ssa.Instruction) {
	switch i := instruction.(type) {
	case *ssa.MakeClosure:
		fn := i.Fn.(*ssa.Function)
		p.closures[fn] = append(p.closures[fn], i)
	case *ssa.Store:
		if address, ok := i.Addr.(*ssa.FieldAddr); ok {
			field := fieldOf(address.X.Type(), address.Field)
			p.stores[field] = append(p.stores[field], i.Val)
		}
	case ssa.CallInstruction:
		called := p.values[i]
		if static := i.Common().StaticCallee(); static != nil {
			called = []*ssa.Function{static}
		}
		for _, fn := range called {
			p.callers[fn] = append(p.callers[fn], i)
		}
	}
}

// fieldOf returns the field of a struct or of a pointer to one; the field of a generic type for all its instances.
func fieldOf(t types.Type, index int) *types.Var {
	return pointed(t).Underlying().(*types.Struct).Field(index).Origin()
}
