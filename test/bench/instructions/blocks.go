// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// function is the execution count of one function of the kernel or of a module, or of one eBPF program.
type function struct{ instructions, calls float64 }

// userSpace is the name of everything outside the kernel.
const userSpace = "user space"

// symbols are the kernel's symbols, by address.
type symbols struct {
	addresses []uint64
	names     []string
}

// readSymbols reads the text of /proc/kallsyms: address, type, name and, in brackets, module.
func readSymbols(r io.Reader) (*symbols, error) {
	type symbol struct {
		address uint64
		name    string
	}
	var all []symbol
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || !strings.ContainsAny(fields[1], "tTwW") {
			continue
		}
		address, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("symbol %q: %w", lines.Text(), err)
		}
		all = append(all, symbol{address, fields[2]})
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b symbol) int { return cmp.Compare(a.address, b.address) })
	s := &symbols{}
	for _, one := range all {
		s.addresses = append(s.addresses, one.address)
		s.names = append(s.names, one.name)
	}
	return s, nil
}

// at returns the symbol that contains an address, and whether the address is its start.
func (s *symbols) at(address uint64) (name string, entry bool) {
	if address < 1<<63 {
		return userSpace, false
	}
	i := sort.Search(len(s.addresses), func(i int) bool { return s.addresses[i] > address })
	if i == 0 {
		return "unknown", false
	}
	entry = s.addresses[i-1] == address
	// Of several names for one address, the first.
	for i--; i > 0 && s.addresses[i-1] == s.addresses[i]; i-- {
	}
	return s.names[i], entry
}

// readBlocks adds up the profiler's file by function.
func readBlocks(r io.Reader, s *symbols) (map[string]function, error) {
	functions := map[string]function{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var address, size, executions uint64
		if _, err := fmt.Sscanf(lines.Text(), "%x %d %d", &address, &size, &executions); err != nil {
			return nil, fmt.Errorf("block %q: %w", lines.Text(), err)
		}
		name, entry := s.at(address)
		f := functions[name]
		f.instructions += float64(size * executions)
		if entry {
			f.calls += float64(executions)
		}
		functions[name] = f
	}
	return functions, lines.Err()
}

// errIdle tells that nothing was sent in an interval.
var errIdle = errors.New("nothing was sent in this interval, or /proc/kallsyms shows no addresses")

// perTransaction divides by the number of transactions. It returns errIdle if there was none.
func perTransaction(functions map[string]function, p protocol) (map[string]function, error) {
	call, calls := p.call()
	transactions := functions[call].calls / calls
	if transactions == 0 {
		return nil, fmt.Errorf("no block begins %s: %w", call, errIdle)
	}
	for name, f := range functions {
		functions[name] = function{f.instructions / transactions, f.calls / transactions}
	}
	return functions, nil
}

// medians returns the median of each function, 0 where most intervals lack it.
func medians(intervals []map[string]function) map[string]function {
	names := map[string]bool{}
	for _, one := range intervals {
		for name := range one {
			names[name] = true
		}
	}
	median := func(of func(map[string]function) float64) float64 {
		var values []float64
		for _, one := range intervals {
			values = append(values, of(one))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	functions := map[string]function{}
	for name := range names {
		f := function{
			median(func(one map[string]function) float64 { return one[name].instructions }),
			median(func(one map[string]function) float64 { return one[name].calls }),
		}
		if f.instructions > 0 {
			functions[name] = f
		}
	}
	return functions
}

// bySegment adds up functions by segment.
func bySegment(functions map[string]function) map[string]float64 {
	names := workload.Segments()
	sums := map[string]float64{}
	for name, f := range functions {
		segment := sharedSegment
		if i, ok := workload.SegmentOfFunction(name); ok {
			segment = names[i]
		}
		sums[segment] += f.instructions
	}
	return sums
}

// writeFunctions writes a readable table, most instructions first.
func writeFunctions(path string, functions map[string]function) error {
	names := slices.SortedFunc(maps.Keys(functions), func(a, b string) int {
		return cmp.Or(cmp.Compare(functions[b].instructions, functions[a].instructions), strings.Compare(a, b))
	})
	var text strings.Builder
	fmt.Fprintln(&text, "instructions   calls  function, for one transaction")
	for _, name := range names {
		fmt.Fprintf(&text, "%12.1f %7.2f  %s\n", functions[name].instructions, functions[name].calls, name)
	}
	return os.WriteFile(path, []byte(text.String()), 0o644)
}
