// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package uplink describes the network device that carries a Node's tunnel packets, and the work of the Node's CPUs for it: what makes tunnels
// slow. It only reads. antctl check cluster judges the description, and the agent's support bundle has it.
//
// uplink.go finds the device, ethtool_linux.go asks its driver, load.go observes the CPUs. On other systems than Linux, for which antctl is built,
// ethtool_other.go refuses.
package uplink

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// Hash names the fields of a packet that choose its receive queue.
type Hash string

// The hashes. All tunnel packets between two Nodes have the same addresses, but the ports of a flow are its own.
const (
	Ports     Hash = "ports"
	Addresses Hash = "addresses"
)

// Feature is an offload of a device.
type Feature struct {
	On         bool `json:"on"`
	Changeable bool `json:"changeable"`
}

// Offloads that matter to tunnels, as the kernel calls them (net/ethtool/common.c).
const (
	GRO                = "rx-gro"
	TunnelSegmentation = "tx-udp_tnl-segmentation"
)

// Facts are the properties of a Node's network device, and of the kernel behind it, that decide how fast tunnel packets are handled.
type Facts struct {
	Device string `json:"device"`
	MTU    int    `json:"mtu"`
	CPUs   int    `json:"cpus"`
	// Queues are receive queues; MostQueues, which the device can have, is 0 if the driver does not say.
	Queues     int `json:"queues"`
	MostQueues int `json:"mostQueues,omitempty"`
	// RPS reports whether the kernel hands packets of a queue to other CPUs.
	RPS bool `json:"rps"`
	// UDP4 and UDP6 are empty if the driver does not say.
	UDP4 Hash `json:"udp4,omitempty"`
	UDP6 Hash `json:"udp6,omitempty"`
	// Features are GRO and TunnelSegmentation, as far as the kernel knows them.
	Features map[string]Feature `json:"features"`
	Load     Load               `json:"load"`
}

// Read describes the device that has the Node's address, by files below root, and observes the CPUs for two seconds.
func Read(ctx context.Context, root string, address netip.Addr) (*Facts, error) {
	f, err := readDevice(root, address)
	if err != nil {
		return nil, err
	}
	f.Load, err = readLoad(ctx)
	return f, err
}

// readDevice describes the device.
func readDevice(root string, address netip.Addr) (*Facts, error) {
	device, err := deviceOf(address)
	if err != nil {
		return nil, err
	}
	u := &Facts{Device: device.Name, MTU: device.MTU, CPUs: runtime.NumCPU(), Features: map[string]Feature{}}
	queues, err := filepath.Glob(filepath.Join(root, "sys/class/net", device.Name, "queues/rx-*"))
	if err != nil || len(queues) == 0 {
		return nil, fmt.Errorf("%s has no receive queues in /sys/class/net", device.Name)
	}
	u.Queues = len(queues)
	for _, queue := range queues {
		mask, err := os.ReadFile(filepath.Join(queue, "rps_cpus"))
		u.RPS = u.RPS || err == nil && strings.Trim(string(mask), "0,\n") != ""
	}
	return u, u.askDriver()
}

// deviceOf returns the device that has an address.
func deviceOf(address netip.Addr) (*net.Interface, error) {
	devices, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("listing network devices: %w", err)
	}
	for i := range devices {
		addresses, err := devices[i].Addrs()
		if err != nil {
			return nil, fmt.Errorf("reading the addresses of %s: %w", devices[i].Name, err)
		}
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Unmap() == address {
				return &devices[i], nil
			}
		}
	}
	return nil, fmt.Errorf("no network device has the Node's address %s", address)
}
