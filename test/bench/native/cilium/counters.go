// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"fmt"
	"path/filepath"

	"github.com/cilium/ebpf"
)

// Values of metricsKey, from bpf/lib/source_info.h and bpf/lib/common.h of Cilium.
const (
	overlayFile = 3 // bpf_overlay.c
	ingress     = 1
)

// metricsKey and metricsValue are struct metrics_key and metrics_value of bpf/lib/metrics.h.
type metricsKey struct {
	Reason, Direction uint8
	Line              uint16
	File              uint8
	Reserved          [3]uint8
}

type metricsValue struct{ Count, Bytes uint64 }

// counters are the packets that the eBPF programs of a Node have counted.
type counters struct{ packets *ebpf.Map }

func (n *node) openCounters() (*counters, error) {
	c := &counters{}
	err := n.Host.Do(func() (err error) {
		c.packets, err = ebpf.LoadPinnedMap(filepath.Join(bpffs, "tc", "globals", "cilium_metrics"), &ebpf.LoadPinOptions{ReadOnly: true})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("counters of Cilium's programs: %w", err)
	}
	return c, nil
}

// Received is the number of packets that Cilium's program at a Node's tunnel device has received.
func (p *Pair) Received(node int) (packets uint64, err error) {
	var key metricsKey
	var perCPU []metricsValue
	all := p.nodes[node].counters.packets.Iterate()
	for all.Next(&key, &perCPU) {
		if key.File != overlayFile || key.Direction != ingress {
			continue
		}
		for _, v := range perCPU {
			packets += v.Count
		}
	}
	return packets, all.Err()
}

func (c *counters) close() error { return c.packets.Close() }
