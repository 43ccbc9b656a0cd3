// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guest runs inside the testbed's virtual machine or user-mode Linux: it completes the boot (mounts, kernel modules, network)
// and then serves commands (package remote).
//
// The machine's root is the host's own file system (virtiofs, hostfs), except /tmp and /run, which are the guest's. The guest
// loads kernel modules out of the testbed's cache and leaves the host's /lib/modules alone.
package guest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

const (
	// Marker begins every console line that is meant for the host; ReadyMessage is the last one of a boot.
	Marker       = "testbed: "
	ReadyMessage = "ready"
	// Address and HostAddress are the addresses of guest and host on the link between them, as in QEMU's user network.
	Address     = "10.0.2.15"
	HostAddress = "10.0.2.2"
	// Port is the command server's port.
	Port = 7000

	tracing = "/sys/kernel/tracing"
)

// Config is the host's information for the guest, in a file that only root can read.
type Config struct {
	Secret string `json:"secret"`
	// ModulesRoot has lib/modules/<kernel version>; "" when everything is built into the kernel.
	ModulesRoot string `json:"modulesRoot"`
	// Device is the network device that leads to the host.
	Device string `json:"device"`
	// Hostname, Addresses (of Device) and Gateways (of default routes) may be left out: "testbed", Address, none.
	Hostname  string         `json:"hostname,omitempty"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	Gateways  []netip.Addr   `json:"gateways,omitempty"`
}

// Modules are the kernel modules that a Node needs, in the order of loading. A kernel that lacks one of them must have it built
// in.
var Modules = []string{
	"openvswitch", "vport-geneve", "vport-vxlan", "geneve", "vxlan", "wireguard", "veth", "bridge", "overlay", "dummy",
	"cls_bpf", "sch_ingress", "nf_conntrack", "nf_conntrack_netlink", "nf_tables", "nft_compat",
	"ip_tables", "iptable_filter", "iptable_nat", "iptable_mangle", "iptable_raw", "ip_set", "ip_set_hash_net", "ip_set_hash_ip", "xt_set",
}

// Run completes the boot and serves commands until the machine is switched off.
func Run(configFile string) error {
	var config Config
	data, err := os.ReadFile(configFile)
	if err != nil {
		return fmt.Errorf("reading the guest configuration: %w", err)
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return fmt.Errorf("reading the guest configuration %s: %w", configFile, err)
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"mounts", mount},
		{"host name", func() error { return unix.Sethostname([]byte(cmp.Or(config.Hostname, "testbed"))) }},
		{"kernel modules", func() error { return loadModules(config.ModulesRoot) }},
		{"network", config.configureNetwork},
	} {
		if err := step.do(); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Println(Marker + step.name)
	}
	l, err := net.Listen("tcp", fmt.Sprintf("0.0.0.0:%d", Port))
	if err != nil {
		return err
	}
	fmt.Println(Marker + ReadyMessage)
	return remote.NewServer(config.Secret).Serve(l)
}

// mount mounts what the initramfs (package machine) has not mounted.
func mount() error {
	type mountPoint struct{ fstype, dir, options string }
	mounts := []mountPoint{
		{"devpts", "/dev/pts", "ptmxmode=666,mode=620"},
		{"tmpfs", "/dev/shm", "mode=1777"},
		{"cgroup2", "/sys/fs/cgroup", ""},
		{"bpf", "/sys/fs/bpf", ""},
	}
	// A kernel without tracing does not have the directory.
	if _, err := os.Stat(tracing); err == nil {
		mounts = append(mounts, mountPoint{"tracefs", tracing, ""})
	}
	for _, m := range mounts {
		if err := os.MkdirAll(m.dir, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.fstype, m.dir, m.fstype, 0, m.options); err != nil {
			return fmt.Errorf("mounting %s on %s: %w", m.fstype, m.dir, err)
		}
	}
	// Every command inherits this limit; the kernel's default is 4096.
	limit := unix.Rlimit{Cur: 1 << 20, Max: 1 << 20}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("raising the limit of open files: %w", err)
	}
	return nil
}

func loadModules(root string) error {
	if root == "" {
		return nil
	}
	// The kernel loads modules on demand (iptables matches, ip link types) through this program.
	helper := "/run/testbed/modprobe"
	if err := os.MkdirAll(filepath.Dir(helper), 0o755); err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nexec /sbin/modprobe -d '%s' \"$@\"\n", root)
	if err := os.WriteFile(helper, []byte(script), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile("/proc/sys/kernel/modprobe", []byte(helper), 0o644); err != nil {
		return err
	}
	args := append([]string{"-d", root, "-a", "virtio_net", "virtio-rng"}, Modules...)
	out, err := exec.Command("/sbin/modprobe", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("modprobe: %w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

func (c Config) configureNetwork() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	card, err := netlink.LinkByName(c.Device)
	if err != nil {
		return fmt.Errorf("finding the virtual network card %s: %w", c.Device, err)
	}
	if err := errors.Join(netlink.LinkSetUp(lo), netlink.LinkSetUp(card)); err != nil {
		return err
	}
	addresses := c.Addresses
	if len(addresses) == 0 {
		addresses = []netip.Prefix{netip.PrefixFrom(netip.MustParseAddr(Address), 24)}
	}
	for _, a := range addresses {
		address := &netlink.Addr{IPNet: &net.IPNet{IP: a.Addr().AsSlice(), Mask: net.CIDRMask(a.Bits(), a.Addr().BitLen())}, Flags: unix.IFA_F_NODAD}
		if err := netlink.AddrAdd(card, address); err != nil {
			return fmt.Errorf("giving %s the address %s: %w", c.Device, a, err)
		}
	}
	for _, gateway := range c.Gateways {
		if err := netlink.RouteAdd(&netlink.Route{LinkIndex: card.Attrs().Index, Gw: gateway.AsSlice()}); err != nil {
			return fmt.Errorf("adding a default route through %s: %w", gateway, err)
		}
	}
	return nil
}
