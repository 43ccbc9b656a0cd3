// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// observed is the length of the period in which the CPUs are observed.
const observed = 2 * time.Second

// Load describes the work of the CPUs for the network within that period.
type Load struct {
	// Packets came from devices and other CPUs; Busiest is the share of the CPU that took most of them.
	Packets uint64  `json:"packets"`
	Busiest float64 `json:"busiest"`
	// SoftIRQ is the share of that CPU's time that went into such work.
	SoftIRQ float64 `json:"softirq"`
	// Dropped packets found a full backlog; Squeezed counts the times at which a CPU had to stop with packets left.
	Dropped  uint64 `json:"dropped"`
	Squeezed uint64 `json:"squeezed"`
}

// readLoad observes the CPUs.
func readLoad(ctx context.Context) (Load, error) {
	before, err := readCounters()
	if err != nil {
		return Load{}, err
	}
	select {
	case <-ctx.Done():
		return Load{}, fmt.Errorf("observing the CPUs: %w", ctx.Err())
	case <-time.After(observed):
	}
	after, err := readCounters()
	if err != nil {
		return Load{}, err
	}
	return after.since(before), nil
}

// counters are the counters of CPUs by number.
type counters map[string]cpuCounters

type cpuCounters struct{ packets, dropped, squeezed, softirq, total uint64 }

func readCounters() (counters, error) {
	softnet, err := os.ReadFile("/proc/net/softnet_stat")
	if err != nil {
		return nil, err
	}
	stat, err := os.ReadFile("/proc/stat")
	if err != nil {
		return nil, err
	}
	c := counters{}
	if err := c.addTimes(string(stat)); err != nil {
		return nil, err
	}
	return c, c.addPackets(string(softnet))
}

// addTimes reads /proc/stat (man 5 proc): the seventh of a CPU's times is softirq, and what comes after the eighth is in the first two already.
func (c counters) addTimes(stat string) error {
	for line := range strings.Lines(stat) {
		name, times, _ := strings.Cut(strings.TrimSpace(line), " ")
		number, isCPU := strings.CutPrefix(name, "cpu")
		if !isCPU || number == "" {
			continue
		}
		values, err := numbers(times, 10, 8)
		if err != nil {
			return fmt.Errorf("/proc/stat: %w", err)
		}
		cpu := c[number]
		cpu.softirq = values[6]
		for _, v := range values[:8] {
			cpu.total += v
		}
		c[number] = cpu
	}
	return nil
}

// addPackets reads /proc/net/softnet_stat, a line for each CPU that is online: packets, dropped, squeezed; since Linux 5.10 the thirteenth number is
// the CPU's.
func (c counters) addPackets(softnet string) error {
	lines := 0
	for line := range strings.Lines(softnet) {
		values, err := numbers(line, 16, 3)
		if err != nil {
			return fmt.Errorf("/proc/net/softnet_stat: %w", err)
		}
		number := strconv.Itoa(lines)
		if len(values) > 12 {
			number = strconv.FormatUint(values[12], 10)
		}
		cpu := c[number]
		cpu.packets, cpu.dropped, cpu.squeezed = values[0], values[1], values[2]
		c[number] = cpu
		lines++
	}
	return nil
}

// numbers reads at least so many.
func numbers(text string, base, least int) ([]uint64, error) {
	var values []uint64
	for _, field := range strings.Fields(text) {
		v, err := strconv.ParseUint(field, base, 64)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	if len(values) < least {
		return nil, fmt.Errorf("%q has fewer than %d numbers", text, least)
	}
	return values, nil
}

// since returns what has happened after before. The counters of softnet_stat have 32 bits, and wrap around.
func (c counters) since(before counters) Load {
	var load Load
	var most uint64
	for number, now := range c {
		then := before[number]
		packets := uint64(uint32(now.packets - then.packets))
		load.Packets += packets
		load.Dropped += uint64(uint32(now.dropped - then.dropped))
		load.Squeezed += uint64(uint32(now.squeezed - then.squeezed))
		if packets <= most {
			continue
		}
		most, load.SoftIRQ = packets, 0
		if now.total > then.total && now.softirq >= then.softirq {
			load.SoftIRQ = float64(now.softirq-then.softirq) / float64(now.total-then.total)
		}
	}
	if load.Packets > 0 {
		load.Busiest = float64(most) / float64(load.Packets)
	}
	return load
}
