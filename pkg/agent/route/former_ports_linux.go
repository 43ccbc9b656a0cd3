// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"context"
	"slices"
	"strconv"

	"k8s.io/klog/v2"
)

// keepFormerPorts finds the ports for rewritten packets whose rules an earlier agent has left, and keeps these rules. The kernel has them, so
// they also survive an agent that ends before it may remove them.
func (s *stack) keepFormerPorts(ctx context.Context) error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	if w.params.tunnelProtocol != "udp" {
		return nil // the cache does not work with such a tunnel, and no rules keep Pods out of it
	}
	rules, err := w.rules(ctx)
	if err != nil {
		return err
	}
	p := w.params
	p.formerPorts = formerPorts(rules[tableMangle], p.rewritePort)
	w.want(p)
	if len(p.formerPorts) > 0 {
		klog.InfoS("Keeping Pods out of former ports for rewritten packets for now", "family", w.family.name, "ports", p.formerPorts)
	}
	return nil
}

// forgetFormerPorts removes the rules that keepFormerPorts has kept.
func (s *stack) forgetFormerPorts(ctx context.Context) error {
	s.firewallMutex.Lock()
	defer s.firewallMutex.Unlock()
	w := s.firewall
	p := w.params
	if len(p.formerPorts) == 0 {
		return nil
	}
	klog.InfoS("Removing the rules for former ports for rewritten packets", "family", w.family.name, "ports", p.formerPorts)
	p.formerPorts = nil
	w.want(p)
	return w.apply(ctx)
}

// formerPorts returns the ports other than present that rules of the mangle table, as iptables-save(8) prints them, keep Pods out of: of TCP,
// because UDP is also the tunnel's protocol.
func formerPorts(mangle []string, present uint16) (ports []uint16) {
	for _, line := range mangle {
		args := splitArgs(line)
		if argument(args, "-A") != chainPrefix+chainForward || argument(args, "-p") != "tcp" {
			continue
		}
		port, err := strconv.ParseUint(argument(args, "--dport"), 10, 16)
		if err == nil && uint16(port) != present && !slices.Contains(ports, uint16(port)) {
			ports = append(ports, uint16(port))
		}
	}
	return ports
}
