// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package native

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// Cost implements bed.Setup. It returns the CPU time of a state's programs, including the softirqs that interrupt them, and
// of softirqs that interrupted no program, on the CPUs of each Node. Other programs of the machine are not included; their
// softirqs are.
func (s *setup) Cost(state result.State) (bed.Cost, error) {
	var c bed.Cost
	link := s.links[state]
	for i, side := range []struct {
		space bed.Space
		into  *time.Duration
	}{{link.Client, &c.Client}, {link.Server, &c.Server}} {
		used, err := usage(side.space.(*space).group)
		if err != nil {
			return c, err
		}
		*side.into = used
		for _, cpu := range s.bed.cpus[i] {
			r, err := s.bed.soakers[cpu].Read()
			if err != nil {
				return c, err
			}
			deferred, err := ksoftirqd(cpu)
			if err != nil {
				return c, err
			}
			*side.into += r.Interrupts + deferred
		}
	}
	return c, nil
}

// foreign returns the share of the CPUs' time that was taken by programs which the bed has not started. It is complete
// after all setups are closed.
func (b *Bed) foreign() (float64, error) {
	var total time.Duration
	others := -b.own
	for _, s := range b.soakers {
		r, err := s.Read()
		if err != nil {
			return 0, err
		}
		total += r.Total
		others += r.Others
	}
	return max(0, others.Seconds()/total.Seconds()), nil
}

// usage returns the CPU time of a control group.
func usage(group string) (time.Duration, error) {
	path := filepath.Join(group, "cpu.stat")
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		var us int64
		if n, _ := fmt.Sscanf(line, "usage_usec %d", &us); n == 1 {
			return time.Duration(us) * time.Microsecond, nil
		}
	}
	return 0, fmt.Errorf("%s has no usage_usec: %s", path, data)
}

// softirqThreads returns the process ids of the kernel's threads ksoftirqd/N, by CPU.
var softirqThreads = sync.OnceValues(func() (map[int]string, error) {
	names, err := filepath.Glob("/proc/[0-9]*/comm")
	if err != nil {
		return nil, err
	}
	found := map[int]string{}
	for _, path := range names {
		name, err := os.ReadFile(path)
		var cpu int
		if n, _ := fmt.Sscanf(string(name), "ksoftirqd/%d", &cpu); err == nil && n == 1 {
			found[cpu] = filepath.Dir(path)
		}
	}
	return found, nil
})

// ksoftirqd returns the CPU time of the thread that handles a CPU's softirqs when there are many.
func ksoftirqd(cpu int) (time.Duration, error) {
	threads, err := softirqThreads()
	if err != nil {
		return 0, err
	}
	dir := threads[cpu]
	if dir == "" {
		return 0, nil // in a container it is not visible
	}
	data, err := os.ReadFile(filepath.Join(dir, "schedstat"))
	if err != nil {
		return 0, err
	}
	var ns int64
	_, err = fmt.Sscan(string(data), &ns)
	return time.Duration(ns), err
}
