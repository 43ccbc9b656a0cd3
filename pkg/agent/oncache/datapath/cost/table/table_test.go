// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package table measures a prototype: lookups, insertions and deletions in the kernel's LRU map and in a table of sets, by one CPU and
// by two at once.
package table

import (
	"flag"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

// times: parts of two CPUs that run long enough overlap, whatever else the machine does.
var times = flag.Int("times", 1, "multiply the runs of parts by this, and measure only what two CPUs do")

const capacity = 1 << 18 // entries of both

type args struct {
	At, Mask, Base, Failed uint32
	Pad                    [6]uint64
}

type bench struct {
	t *testing.T
	c *ebpf.Collection
}

func newBench(t *testing.T, ways uint32) *bench {
	sandbox.RequireRoot(t)
	object := filepath.Join(t.TempDir(), "bench.o")
	out, err := exec.Command("clang-14", fmt.Sprint("-DWAYS=", ways), "-O2", "-g", "-mcpu=v3", "-target", "bpfel", "-I../../../../../../bpf/oncache", "-I/usr/include/x86_64-linux-gnu", "-c", "testdata/bench.c", "-o", object).CombinedOutput()
	require.NoError(t, err, string(out))
	spec, err := ebpf.LoadCollectionSpec(object)
	require.NoError(t, err)
	spec.Maps["egress_flows4"].MaxEntries = capacity
	spec.Maps["egress_sets4"].MaxEntries = capacity / ways
	require.NoError(t, spec.Variables["sets"].Set(uint32(capacity/ways)))
	c, err := ebpf.NewCollection(spec)
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &bench{t, c}
}

// part is what one CPU does.
type part struct {
	program    string
	keys, base uint32
	runs       uint32
}

// run lets each CPU do its part, all at once, and returns ns for one operation of each, and the share that failed.
func (b *bench) run(parts ...part) (ns, failed []float64) {
	ns, failed = make([]float64, len(parts)), make([]float64, len(parts))
	var ready, done sync.WaitGroup
	start := make(chan struct{})
	for cpu, p := range parts {
		require.NoError(b.t, b.c.Maps["args"].Put(uint32(cpu), args{At: uint32(cpu)*77777 + p.base, Mask: p.keys - 1, Base: p.base}))
		ready.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			var set unix.CPUSet
			set.Set(cpu)
			if err := unix.SchedSetaffinity(0, &set); err != nil {
				panic(err)
			}
			packet := make([]byte, 64)
			r := harness.NewTestRun(b.c.Programs[p.program], 0)
			r.Context.Mark = uint32(cpu)
			r.Repeat(p.runs)
			ready.Done()
			<-start
			if err := r.Run(packet); err != nil {
				panic(err)
			}
			ns[cpu] = float64(r.Duration()) / 16
		}()
	}
	ready.Wait()
	close(start)
	done.Wait()
	for cpu, p := range parts {
		var a args
		require.NoError(b.t, b.c.Maps["args"].Lookup(uint32(cpu), &a))
		failed[cpu] = float64(a.Failed) / float64(p.runs*16)
	}
	return ns, failed
}

func (b *bench) fill(keys uint32) {
	for _, p := range []string{"lru_insert", "set_insert"} {
		b.run(part{p, keys, 0, keys})
	}
}

func quantile(x []float64, q float64) float64 {
	x = slices.Sorted(slices.Values(x))
	return x[int(q*float64(len(x)-1))]
}

func TestTable(t *testing.T) {
	const rounds = 11
	type scenario struct {
		name  string
		fill  uint32
		parts []part // without lru_ and set_
	}
	const many = 1 << 20
	scenarios := []scenario{
		{"hit, one flow, one CPU", 1, []part{{"lookup", 1, 0, 5000}}},
		{"hit, 1024 flows, one CPU", 1024, []part{{"lookup", 1024, 0, 5000}}},
		{"hit, 65536 flows of 262144, one CPU", 1 << 16, []part{{"lookup", 1 << 16, 0, 5000}}},
		{"miss, one flow, one CPU", 1 << 16, []part{{"lookup", 1, 1 << 24, 5000}}},
		{"miss, random, one CPU", 1 << 16, []part{{"lookup", many, 1 << 24, 5000}}},
		{"insert, 1024 flows again and again, one CPU", 1024, []part{{"insert", 1024, 0, 3000}}},
		{"insert, 65536 flows, one CPU", 1 << 16, []part{{"insert", 1 << 16, 0, 3000}}},
		{"insert, 1M flows into 262144 (evicting), one CPU", many, []part{{"insert", many, 0, 3000}}},
		{"insert and delete, one CPU", 1, []part{{"cycle", 1 << 16, 0, 3000}}},
		{"hit, 1024 flows, two CPUs", 1024, []part{{"lookup", 1024, 0, 5000}, {"lookup", 1024, 0, 5000}}},
		{"insert, 16 flows, both CPUs the same", 16, []part{{"insert", 16, 0, 3000}, {"insert", 16, 0, 3000}}},
		{"insert, 1024 flows, both CPUs the same", 1024, []part{{"insert", 1024, 0, 3000}, {"insert", 1024, 0, 3000}}},
		{"insert, 1M flows (evicting), two CPUs, their own", many, []part{{"insert", many, 0, 3000}, {"insert", many, many, 3000}}},
		{"insert and delete, two CPUs, their own", 1, []part{{"cycle", 1 << 16, 0, 3000}, {"cycle", 1 << 16, 1 << 22, 3000}}},
		{"hit of 16 flows (first) while the other CPU inserts them", 16, []part{{"lookup", 16, 0, 5000}, {"insert", 16, 0, 3000}}},
	}
	for _, s := range scenarios {
		if *times > 1 && len(s.parts) < 2 {
			continue
		}
		for i := range s.parts {
			s.parts[i].runs *= uint32(*times)
		}
		four, eight := newBench(t, 4), newBench(t, 8)
		four.fill(s.fill)
		eight.fill(s.fill)
		samples, failures := map[string][]float64{}, map[string][]float64{}
		for range rounds {
			for _, kind := range []string{"empty", "lru_", "set_", "8"} {
				b, parts := four, slices.Clone(s.parts)
				for i := range parts {
					switch kind {
					case "empty":
						parts[i].program = "empty"
					case "8":
						b = eight
						parts[i].program = "set_" + parts[i].program
					default:
						parts[i].program = kind + parts[i].program
					}
				}
				ns, failed := b.run(parts...)
				samples[kind], failures[kind] = append(samples[kind], ns[0]), append(failures[kind], failed[0])
			}
		}
		empty := quantile(samples["empty"], 0.5)
		fmt.Printf("%-58s", s.name)
		for _, kind := range []string{"lru_", "set_", "8"} {
			fmt.Printf("  %s %6.1f ns (%.1f - %.1f) failed %.3f", kind, quantile(samples[kind], 0.5)-empty, quantile(samples[kind], 0.25)-empty, quantile(samples[kind], 0.75)-empty, quantile(failures[kind], 0.5))
		}
		fmt.Println()
	}
}
