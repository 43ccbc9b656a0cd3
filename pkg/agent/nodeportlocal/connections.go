// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"fmt"
	"net"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// endConnections forgets the connections that rules have led to Pods: the kernel translates their packets without a rule, whoever has the
// address of the Pod. It also forgets the UDP flows to the Node that are older than the rule for their port: the kernel would never translate them.
func endConnections(gone, begun map[route.PodPort]bool) error {
	local, err := localAddresses()
	if err != nil {
		return err
	}
	early := map[nodePort]bool{}
	for rule := range begun {
		early[nodePort{familyOf(rule.Pod.Addr()), rule.Protocol, rule.NodePort}] = rule.Protocol == "udp"
	}
	err = conntrack.End(conntrack.HostZone, func(c *conntrack.Connection) bool {
		_, dialed, server := c.Ends()
		protocol := protocolName(c.Original.Protocol)
		led := dialed != server && gone[route.PodPort{Protocol: protocol, NodePort: dialed.Port(), Pod: server}]
		return led || dialed == server && local[dialed.Addr()] && early[nodePort{familyOf(dialed.Addr()), protocol, dialed.Port()}]
	})
	if err != nil {
		return fmt.Errorf("end connections to Pods through ports of the Node: %w", err)
	}
	return nil
}

// localAddresses returns the addresses of the network namespace.
func localAddresses() (map[netip.Addr]bool, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list the addresses of the Node: %w", err)
	}
	local := map[netip.Addr]bool{}
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			local[prefix.Addr()] = true
		}
	}
	return local, nil
}

func protocolName(number uint8) string {
	switch number {
	case unix.IPPROTO_TCP:
		return "tcp"
	case unix.IPPROTO_UDP:
		return "udp"
	}
	return ""
}
