// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package soak keeps CPUs from idling during a measurement, and measures how long interrupts have kept them busy.
//
// A soaker is a process that spins on one CPU with the policy SCHED_IDLE, which yields to all others at once. It has
// two uses. An idle CPU of a virtual machine leaves the guest, and its return costs more than the whole path of a
// packet: with soakers the network is measured, not the hypervisor (on hardware, disabling idle states has the same
// effect). And the kernel charges the softirqs that interrupt an idle CPU, most of a receiver's work, to no process;
// softirqs that interrupt a soaker show as gaps in its time.
//
// spin.go is the process, soak.go starts and asks it.
package soak

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// Soaker is a running soaker.
type Soaker struct {
	process *proc.Process
	ask     io.WriteCloser
	answers *bufio.Scanner
}

// Start starts a soaker: command, with the CPU's number appended, is the command line of a program that calls Spin.
func Start(cpu int, command ...string) (*Soaker, error) {
	cmd := exec.Command(command[0], append(command[1:], strconv.Itoa(cpu))...)
	cmd.Stderr = os.Stderr
	ask, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s := &Soaker{ask: ask, answers: bufio.NewScanner(answers)}
	if s.process, err = proc.Start(cmd); err != nil {
		return nil, err
	}
	_, err = s.Read() // it spins once it answers
	return s, err
}

// Reading is the use of a CPU's time since the soaker's start.
type Reading struct {
	Total time.Duration
	// Interrupts is the time for which interrupts, including softirqs, have interrupted the soaker. Others is the time
	// of other threads, including the interrupts during that time.
	Interrupts, Others time.Duration
}

// Read reads the meter.
func (s *Soaker) Read() (Reading, error) {
	var r Reading
	if _, err := fmt.Fprintln(s.ask); err != nil {
		return r, fmt.Errorf("asking a soaker: %w", err)
	}
	if !s.answers.Scan() {
		return r, fmt.Errorf("a soaker has ended: %w", s.process.Err())
	}
	_, err := fmt.Sscan(s.answers.Text(), (*int64)(&r.Total), (*int64)(&r.Interrupts), (*int64)(&r.Others))
	return r, err
}

// Stop ends it.
func (s *Soaker) Stop() { s.process.Kill() }
