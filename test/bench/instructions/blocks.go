// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// function is what the kernel, a module of it or an eBPF program has executed of one symbol.
type function struct {
	name                string
	instructions, calls uint64
}

// userSpace is the name of everything that is not the kernel's.
const userSpace = "user space"

// symbols are the kernel's, by address.
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
	for lines := bufio.NewScanner(r); ; {
		if !lines.Scan() {
			if err := lines.Err(); err != nil {
				return nil, err
			}
			break
		}
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
	slices.SortStableFunc(all, func(a, b symbol) int {
		switch {
		case a.address < b.address:
			return -1
		case a.address > b.address:
			return 1
		}
		return 0
	})
	s := &symbols{}
	for _, one := range all {
		s.addresses = append(s.addresses, one.address)
		s.names = append(s.names, one.name)
	}
	return s, nil
}

// at finds the symbol that an address belongs to, and whether it is its beginning.
func (s *symbols) at(address uint64) (name string, entry bool) {
	if address < 1<<63 {
		return userSpace, false
	}
	i := sort.Search(len(s.addresses), func(i int) bool { return s.addresses[i] > address })
	if i == 0 {
		return "unknown", false
	}
	entry = s.addresses[i-1] == address
	// Of several names of one address, the first.
	for i--; i > 0 && s.addresses[i-1] == s.addresses[i]; i-- {
	}
	return s.names[i], entry
}

// readBlocks adds up the profiler's file by function, the most instructions first.
func readBlocks(r io.Reader, s *symbols) ([]function, error) {
	byName := map[string]*function{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		var address, size, executions uint64
		if _, err := fmt.Sscanf(lines.Text(), "%x %d %d", &address, &size, &executions); err != nil {
			return nil, fmt.Errorf("block %q: %w", lines.Text(), err)
		}
		name, entry := s.at(address)
		f := byName[name]
		if f == nil {
			f = &function{name: name}
			byName[name] = f
		}
		f.instructions += size * executions
		if entry {
			f.calls += executions
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	all := make([]function, 0, len(byName))
	for _, f := range byName {
		all = append(all, *f)
	}
	slices.SortFunc(all, func(a, b function) int {
		if a.instructions != b.instructions {
			if a.instructions > b.instructions {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return all, nil
}
