// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

var record = flag.Bool("record", false, "write the programs' complexity on this kernel into "+complexityFile)

const (
	complexityFile = "testdata/complexity.txt"
	// complexityHeader is the beginning of the file.
	complexityHeader = `# What the eBPF programs cost the verifier, and how large they are, on the kernels that the tests run on. Made with
# "make record-kernels". processed: instructions that the verifier walked (the kernel's limit is 1000000); xlated:
# instructions after verification; jited: bytes of machine code.
`
	// maxProcessed is far below the kernel's limit, so that kernels whose verifiers prune less load the programs too.
	maxProcessed = 100_000
	// complexityTolerance limits the difference from the record, in percent. Larger differences need a look and a new record.
	complexityTolerance = 15
)

// complexity is one line of complexityFile.
type complexity struct {
	kernel, program          string
	processed, xlated, jited uint32
}

// TestComplexity bounds the programs' cost on any kernel and compares it with the record on recorded ones.
func TestComplexity(t *testing.T) {
	sandbox.RequireRoot(t)
	kernel := harness.KernelRelease(t)
	var measured []complexity
	for _, with := range variants {
		measured = append(measured, measureComplexity(t, kernel, with)...)
	}
	slices.SortFunc(measured, func(a, b complexity) int { return strings.Compare(a.program, b.program) })
	recorded := readComplexity(t)
	if *record {
		writeComplexity(t, kernel, recorded, measured)
		return
	}
	for _, m := range measured {
		t.Run(m.program, func(t *testing.T) {
			t.Logf("%s: processed %d, xlated %d, jited %d", m.kernel, m.processed, m.xlated, m.jited)
			require.NotZero(t, m.processed)
			require.LessOrEqual(t, m.processed, uint32(maxProcessed), "instructions processed by the verifier of %s", m.kernel)
			if !slices.ContainsFunc(recorded, func(r complexity) bool { return r.kernel == m.kernel }) {
				return // this kernel has no record
			}
			i := slices.IndexFunc(recorded, func(r complexity) bool { return r.kernel == m.kernel && r.program == m.program })
			require.GreaterOrEqual(t, i, 0, "%s has no line for it: run `make record-kernels`", complexityFile)
			r := recorded[i]
			requireNear(t, "processed", r.processed, m.processed)
			requireNear(t, "xlated", r.xlated, m.xlated)
			requireNear(t, "jited", r.jited, m.jited)
		})
	}
}

// TestComplexityOfOpenings bounds the cost of programs with openings, alone and with each of what they may be combined with.
func TestComplexityOfOpenings(t *testing.T) {
	sandbox.RequireRoot(t)
	kernel := harness.KernelRelease(t)
	for _, with := range [][]string{{object.BpfVarHasOpenings}, {object.BpfVarHasOpenings, object.BpfVarRewrites}, {object.BpfVarHasOpenings, object.BpfVarHasDirect}} {
		for _, m := range measureComplexity(t, kernel, with) {
			require.LessOrEqual(t, m.processed, uint32(maxProcessed), "instructions of %s that the verifier of %s has processed, with %v", m.program, kernel, with)
		}
	}
}

func requireNear(t *testing.T, what string, want, got uint32) {
	t.Helper()
	difference := max(want, got) - min(want, got)
	require.LessOrEqual(t, difference*100, want*complexityTolerance,
		"%s is %d, but %d in %s (%d %% allowed): if that is intended, run `make record-kernels`", what, got, want, complexityFile, complexityTolerance)
}

// variants are the constants that are set: none, rewriting, and all that add much code.
var variants = [][]string{{}, {object.BpfVarRewrites}, {object.BpfVarRewrites, object.BpfVarHasDirect}}

// variantNames are added to the names of programs.
var variantNames = map[string]string{object.BpfVarRewrites: "+rewrite", object.BpfVarHasDirect: "+direct"}

// measureComplexity loads the programs with these constants set.
func measureComplexity(t *testing.T, kernel string, with []string) []complexity {
	spec, err := object.LoadBpf()
	require.NoError(t, err)
	suffix := ""
	for _, constant := range with {
		require.NoError(t, spec.Variables[constant].Set(true))
		suffix += variantNames[constant]
	}
	require.NoError(t, object.FindSummed(spec))
	collection, err := ebpf.NewCollection(spec)
	harness.RequireVerified(t, err)
	defer collection.Close()
	var out []complexity
	for name, program := range collection.Programs {
		info, err := program.Info()
		require.NoError(t, err)
		processed, _ := info.VerifiedInstructions() // Linux 5.16
		xlated, err := info.TranslatedSize()
		require.NoError(t, err)
		jited, err := info.JitedSize()
		require.NoError(t, err)
		out = append(out, complexity{kernel: kernel, program: name + suffix, processed: processed, xlated: uint32(xlated / 8), jited: jited})
	}
	return out
}

func readComplexity(t *testing.T) []complexity {
	data, err := os.ReadFile(complexityFile)
	require.NoError(t, err)
	var out []complexity
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "kernel ") {
			continue
		}
		var c complexity
		_, err := fmt.Sscan(line, &c.kernel, &c.program, &c.processed, &c.xlated, &c.jited)
		require.NoError(t, err, "%s: %q", complexityFile, line)
		out = append(out, c)
	}
	return out
}

// writeComplexity replaces the record of kernels of the same series ("6.12") as this one.
func writeComplexity(t *testing.T, kernel string, recorded, measured []complexity) {
	recorded = slices.DeleteFunc(recorded, func(c complexity) bool { return harness.Series(c.kernel) == harness.Series(kernel) })
	lines := append(recorded, measured...)
	slices.SortStableFunc(lines, func(a, b complexity) int { return harness.Minor(t, a.kernel) - harness.Minor(t, b.kernel) })
	var out bytes.Buffer
	out.WriteString(complexityHeader)
	row := func(columns ...any) { fmt.Fprintf(&out, "%-26v %-43v %10v %7v %6v\n", columns...) }
	row("kernel", "program", "processed", "xlated", "jited")
	for _, c := range lines {
		row(c.kernel, c.program, c.processed, c.xlated, c.jited)
	}
	require.NoError(t, os.WriteFile(complexityFile, out.Bytes(), 0o644))
}
