// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// reservation is a machine's place on a processor of this host.
//
// The kernel of user-mode Linux and the program that runs in it are processes of this host that take turns: each system
// call wakes the other process. On one processor that is a switch, on two it is an interrupt, and often the end of a
// processor's sleep, which takes several times as long in a virtual machine.
type reservation struct {
	cpu  int
	lock net.Listener
}

// maxPlaces bounds how many machines share a processor.
const maxPlaces = 8

// reserveCPU reserves a place for the calling process on the processor that has the fewest machines, of several the last one: the first
// one often serves the interrupts. It returns nil if all places are taken.
func reserveCPU() (*reservation, error) {
	var usable unix.CPUSet
	if err := unix.SchedGetaffinity(0, &usable); err != nil {
		return nil, fmt.Errorf("asking which processors may be used: %w", err)
	}
	for place := range maxPlaces {
		for cpu := 64*len(usable) - 1; cpu >= 0; cpu-- {
			if !usable.IsSet(cpu) {
				continue
			}
			// An abstract address belongs to one process at most, and is free once that has ended.
			if lock, err := net.Listen("unix", fmt.Sprintf("@antrea-oncache/uml/cpu/%d/%d", cpu, place)); err == nil {
				return &reservation{cpu, lock}, nil
			}
		}
	}
	return nil, nil
}

// pin makes the calling thread, and what it starts, run on the processor.
func (r *reservation) pin() error {
	var one unix.CPUSet
	one.Set(r.cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("pinning user-mode Linux to processor %d: %w", r.cpu, err)
	}
	return nil
}

func (r *reservation) Close() { r.lock.Close() }
