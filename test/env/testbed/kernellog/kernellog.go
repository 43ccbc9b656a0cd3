// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kernellog reads the kernel's log and picks out the messages that a test must not cause: the kernel's warnings about its
// own state and about packets that it cannot handle.
package kernellog

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Record is one message.
type Record struct {
	// Level is 0 (emergency) to 7 (debug).
	Level    int
	Sequence uint64
	Message  string
}

// device returns one record per read: "<priority>,<sequence>,<microseconds>,<flags>;<message>\n<more lines, each after a blank>"
// (Documentation/ABI/testing/dev-kmsg).
const device = "/dev/kmsg"

// Read returns the records after the one with this sequence number. lost is the number of records that the kernel has overwritten
// before they could be read.
func Read(after uint64) (records []Record, lost uint64, err error) {
	fd, err := unix.Open(device, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, 0, fmt.Errorf("opening %s: %w", device, err)
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	next := after + 1
	for {
		n, err := unix.Read(fd, buf)
		switch {
		case errors.Is(err, unix.EAGAIN): // the end
			return records, lost, nil
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.EINTR): // overwritten; the next read gives the oldest that is left
			continue
		case err != nil:
			return nil, 0, fmt.Errorf("reading %s: %w", device, err)
		}
		r, err := parse(string(buf[:n]))
		if err != nil {
			return nil, 0, err
		}
		if r.Sequence < next {
			continue
		}
		lost += r.Sequence - next
		next = r.Sequence + 1
		records = append(records, r)
	}
}

func parse(text string) (r Record, err error) {
	header, message, found := strings.Cut(text, ";")
	fields := strings.Split(header, ",")
	if !found || len(fields) < 3 {
		return r, fmt.Errorf("%s: record %q has no header", device, text)
	}
	priority, err := strconv.Atoi(fields[0])
	if err != nil {
		return r, fmt.Errorf("%s: priority of %q: %w", device, text, err)
	}
	if r.Sequence, err = strconv.ParseUint(fields[1], 10, 64); err != nil {
		return r, fmt.Errorf("%s: sequence number of %q: %w", device, text, err)
	}
	r.Level = priority & 7
	r.Message, _, _ = strings.Cut(message, "\n") // the lines after it name the device
	return r, nil
}

// faults are messages of the kernel about a mistake of its own, or about a packet that it cannot handle.
var faults = regexp.MustCompile(strings.Join([]string{
	`\bWARNING:`, `\bBUG:`, `kernel BUG at`, `\bOops\b`, `general protection fault`, `[Uu]nable to handle`, `invalid opcode`,
	`stack guard page`, `\bK[ACM]SAN:`, `\bKFENCE:`, `\bUBSAN:`, `refcount_t:`, `list_(add|del) corruption`, `bad page state`,
	`sleeping function called`, `scheduling while atomic`, `possible (circular|recursive) locking`, `suspicious RCU usage`,
	`inconsistent lock state`, `page allocation failure`, `Out of memory`,
	// Devices, references to them, and packets.
	`unregister_netdevice: waiting for`, `NETDEV WATCHDOG`, `skb_(over|under)_panic`, `\bskb\b.*(bad|invalid|linear|headroom)`,
	`hw csum failure`, `bad gso`, `caps=\(0x`, `Dead loop on virtual device`, `protocol [0-9a-f]{4} is buggy`,
	`Attempt to release`, `Freeing alive`, `dst.*(underflow|leak)`, `neighbour: .*overflow`, `table full, dropping packet`,
	// Open vSwitch and eBPF.
	`recursion limit`, `deferred action limit`, `verifier bug`, `bpf.*(corrupt|leak)`,
}, "|"))

// slowness are messages that only say that the machine is slow or was not given a processor.
var slowness = regexp.MustCompile(`soft lockup|hard LOCKUP|\brcu\b.*(stall|detected)|blocked for more than|clocksource|hogged CPU`)

// critical is KERN_CRIT: every message of this level or a more severe one is a fault.
const critical = 2

// Faults returns the messages of the records that are faults.
func Faults(records []Record) []string {
	var found []string
	for _, r := range records {
		if (r.Level <= critical || faults.MatchString(r.Message)) && !slowness.MatchString(r.Message) {
			found = append(found, r.Message)
		}
	}
	return found
}
