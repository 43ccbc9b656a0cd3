// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of /proc/stat: USER_HZ is 100 on all architectures of Linux that Kubernetes runs on.
const tick = 10 * time.Millisecond

// CPUTime is the time that the CPUs of a Node were busy since its boot, for whatever program. Kernel identifies the running kernel, since test
// clusters have several Nodes on one.
type CPUTime struct {
	Busy   time.Duration `json:"busy"`
	Kernel string        `json:"kernel"`
}

// ReadCPUTime reads the Node's, which /proc/stat shows in every Pod.
func ReadCPUTime() (CPUTime, error) {
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return CPUTime{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return CPUTime{}, err
	}
	busy, err := busyTime(stat)
	return CPUTime{busy, strings.TrimSpace(string(boot))}, err
}

// busyTime sums the fields of the first line of /proc/stat (man 5 proc): user, nice, system, idle, iowait, irq, softirq. Idle and iowait are not
// busy, steal is another machine's, and guest is part of user.
func busyTime(stat []byte) (time.Duration, error) {
	const names = 8 // with "cpu" in front
	line, _, _ := bytes.Cut(stat, []byte("\n"))
	fields := strings.Fields(string(line))
	if len(fields) < names || fields[0] != "cpu" {
		return 0, fmt.Errorf("/proc/stat begins with %q, not with cpu and at least %d numbers", line, names-1)
	}
	var sum time.Duration
	for _, i := range []int{1, 2, 3, 6, 7} {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat, field %d: %w", i, err)
		}
		sum += time.Duration(n) * tick
	}
	return sum, nil
}
