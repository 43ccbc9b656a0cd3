// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package nodefacts reads, in a Pod of antctl check cluster, the facts about its Node that Kubernetes does not know. The Pod is on the Node's
// network, sees the Node's files below a root, and changes nothing.
//
// facts.go reads what Antrea needs, package uplink what makes tunnels slow; command.go is the Pod's command. kernel_linux.go asks the kernel, which
// kernel_other.go refuses on the other systems for which antctl is built.
package nodefacts

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/uplink"
)

// Module is a state of a kernel module.
type Module string

// The states. A module that is missing cannot be loaded; of one that is unknown the Node's module directory says nothing.
const (
	Present Module = "present"
	Missing Module = "missing"
	Unknown Module = "unknown"
)

// Modules are the kernel modules that Antrea may need.
var Modules = []string{"openvswitch", "geneve", "vxlan", "nf_conntrack", "ip_set"}

// Facts are the facts about a Node.
type Facts struct {
	Kernel  string            `json:"kernel"`
	Modules map[string]Module `json:"modules"`
	// BPFFS reports whether a bpffs is mounted at /sys/fs/bpf.
	BPFFS bool `json:"bpffs"`
	// CNIFiles are the files in /etc/cni/net.d that a container runtime reads, sorted as it sorts them.
	CNIFiles []string `json:"cniFiles"`
	// OVS is the socket of an Open vSwitch database that exists on the Node; empty if there is none.
	OVS string `json:"ovs,omitempty"`
	// TCP and UDP are the ports on which a program of the Node's network listens.
	TCP []uint16 `json:"tcp"`
	UDP []uint16 `json:"udp"`
	// Uplink is the device with the Node's address. If it cannot be described, Unknown says why.
	Uplink  *uplink.Facts `json:"uplink,omitempty"`
	Unknown string        `json:"unknown,omitempty"`
}

// Read reads the facts about the Node with this address, whose files are below root, and observes its CPUs for two seconds.
func Read(ctx context.Context, root string, address netip.Addr) (*Facts, error) {
	kernel, err := kernelRelease()
	if err != nil {
		return nil, fmt.Errorf("reading the kernel's version: %w", err)
	}
	f := &Facts{Kernel: kernel, Modules: map[string]Module{}}
	if f.CNIFiles, err = cniFiles(filepath.Join(root, "etc/cni/net.d")); err != nil {
		return nil, err
	}
	for _, module := range Modules {
		f.Modules[module] = findModule(root, f.Kernel, module)
	}
	f.BPFFS = isBPFFS(filepath.Join(root, "sys/fs/bpf"))
	for _, socket := range []string{"var/run/openvswitch/db.sock", "run/openvswitch/db.sock"} {
		if _, err := os.Stat(filepath.Join(root, socket)); err == nil {
			f.OVS = "/" + socket
		}
	}
	if f.TCP, err = listening("/proc/net/tcp", "/proc/net/tcp6"); err != nil {
		return nil, err
	}
	if f.UDP, err = listening("/proc/net/udp", "/proc/net/udp6"); err != nil {
		return nil, err
	}
	// Antrea can be installed whatever a driver answers.
	if f.Uplink, err = uplink.Read(ctx, root, address); err != nil {
		f.Uplink, f.Unknown = nil, err.Error()
	}
	return f, nil
}

// cniFiles returns the names of files that containerd and CRI-O read: .conf, .conflist and .json.
func cniFiles(directory string) ([]string, error) {
	entries, err := os.ReadDir(directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading CNI configuration: %w", err)
	}
	var names []string
	for _, entry := range entries { // sorted by name
		if slices.Contains([]string{".conf", ".conflist", ".json"}, filepath.Ext(entry.Name())) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// findModule looks whether a module is loaded, is part of the kernel, or can be loaded (man 5 modules.dep).
func findModule(root, kernel, module string) Module {
	if _, err := os.Stat("/sys/module/" + module); err == nil {
		return Present
	}
	state := Unknown
	for _, list := range []string{"modules.builtin", "modules.dep"} {
		text, err := os.ReadFile(filepath.Join(root, "lib/modules", kernel, list))
		if err != nil {
			continue
		}
		if bytes.Contains(text, []byte("/"+module+".ko")) {
			return Present
		}
		state = Missing
	}
	return state
}

// listening returns the ports on which sockets of this network namespace listen, from tables as in /proc/net (man 5 proc): the second column is the
// local address and port in hexadecimal, the third the remote one, and the fourth the state. A UDP socket without a peer has the state 07, a TCP
// socket that listens 0A.
func listening(tables ...string) ([]uint16, error) {
	var ports []uint16
	for _, table := range tables {
		text, err := os.ReadFile(table)
		if errors.Is(err, fs.ErrNotExist) {
			continue // without IPv6
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) < 4 || fields[3] != "0A" && fields[3] != "07" {
				continue
			}
			_, port, _ := strings.Cut(fields[1], ":")
			number, err := hex.DecodeString(port)
			if err != nil || len(number) != 2 {
				return nil, fmt.Errorf("%s: the port in %q cannot be read", table, line)
			}
			ports = append(ports, binary.BigEndian.Uint16(number))
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports), nil
}
