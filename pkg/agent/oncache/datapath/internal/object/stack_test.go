// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object_test

import (
	"fmt"
	"testing"

	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/btf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

const (
	// maxStack limits the stack of a program and the functions that it calls (MAX_BPF_STACK), in bytes.
	maxStack = 512
	// interpreterGrain: a kernel that interprets programs, as user-mode Linux in the end-to-end tests does, rounds the stack of each
	// function up to a multiple of this (round_up_stack_depth in kernel/bpf/verifier.c). With a JIT compiler it is 16.
	interpreterGrain = 32
)

// TestStackOfTheInterpreter checks what the verifier checks only on kernels without a JIT compiler.
func TestStackOfTheInterpreter(t *testing.T) {
	spec, err := object.LoadBpf()
	require.NoError(t, err)
	for name, program := range spec.Programs {
		functions := functionsOf(program.Instructions)
		depth, chain := deepest(functions, name)
		t.Logf("%s: %d bytes: %v", name, depth, chain)
		require.LessOrEqual(t, depth, maxStack, "%s: %v", name, chain)
	}
}

// function is one function of a program.
type function struct {
	// stack is the number of bytes of stack in use; calls lists the program's functions that it calls.
	stack int
	calls []string
}

// functionsOf finds the functions of a program by name.
func functionsOf(all asm.Instructions) map[string]*function {
	functions := map[string]*function{}
	var f *function
	derived := map[asm.Register]bool{}
	for _, i := range all {
		if btf.FuncMetadata(&i) != nil {
			f = &function{}
			functions[i.Symbol()] = f
			clear(derived)
		}
		class := i.OpCode.Class()
		switch {
		case i.IsFunctionCall():
			f.calls = append(f.calls, i.Reference())
		case class.IsStore() && i.Dst == asm.RFP, class.IsLoad() && i.Src == asm.RFP:
			f.stack = max(f.stack, -int(i.Offset))
		case i.OpCode == asm.Mov.Op(asm.RegSource) && i.Src == asm.RFP:
			derived[i.Dst] = true
			continue
		case i.OpCode == asm.Add.Op(asm.ImmSource) && derived[i.Dst]:
			f.stack = max(f.stack, -int(i.Constant))
		}
		delete(derived, i.Dst)
	}
	return functions
}

// deepest returns the chain of calls from a function that needs the most stack.
func deepest(functions map[string]*function, name string) (depth int, chain []string) {
	f := functions[name]
	for _, called := range f.calls {
		if d, c := deepest(functions, called); d > depth {
			depth, chain = d, c
		}
	}
	own := (max(f.stack, 1) + interpreterGrain - 1) / interpreterGrain * interpreterGrain
	return depth + own, append([]string{fmt.Sprintf("%s %d", name, f.stack)}, chain...)
}
