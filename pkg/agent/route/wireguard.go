// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// encrypts reports whether packets to Pods of other Nodes are encrypted.
func (p ruleParams) encrypts() bool { return p.wireGuardPort != 0 && p.podCIDR.IsValid() }

// encryptedPackets match packets of WireGuard.
func (p ruleParams) encryptedPackets() (matches [][]string) {
	for _, port := range []uint16{p.wireGuardPort, p.clusterPort} {
		if port != 0 {
			matches = append(matches, portMatch("udp", "--dport", port))
		}
	}
	return matches
}

// plainPods match packets with the address of another Node's Pod that were not encrypted. The gateway port has none either: what Pods of other
// Nodes send comes from the device.
func (p ruleParams) plainPods() [][]string {
	if !p.encrypts() {
		return nil
	}
	return [][]string{{"!", "-i", config.WireGuardDevice, "!", "-s", p.podCIDR.String(), "-m", "set", "--match-set", p.podSet, "src"}}
}

// leavingPods match packets to another Node's Pod that leave without being encrypted, as when the device is gone and the host's default route leads them to
// the network. In POSTROUTING the destination is translated, and the device is the last one.
func (p ruleParams) leavingPods() [][]string {
	if !p.encrypts() {
		return nil
	}
	return [][]string{{"!", "-o", config.WireGuardDevice, "!", "-d", p.podCIDR.String(), "-m", "set", "--match-set", p.podSet, "dst"}}
}

// dropPlainPods drops what comes without being encrypted: packets of Pods as they are, and in the tunnel, which Open vSwitch would accept.
func (t *table) dropPlainPods(p ruleParams) {
	if p.wireGuardPort == 0 {
		return
	}
	in, out := chainPrefix+chainPrerouting, chainPrefix+chainOutput
	for _, plain := range p.plainPods() {
		t.add(in, "drop packets from Pods of other Nodes that are not encrypted", slices.Concat(plain, []string{"-j", "DROP"})...)
	}
	t.add(in, "drop tunnel packets, which are not encrypted", slices.Concat(p.tunnelPacket(), []string{"-m", "addrtype", "--dst-type", "LOCAL", "-j", "DROP"})...)
	t.add(out, "drop tunnel packets, which are not encrypted", slices.Concat(p.tunnelPacket(), []string{"-m", "addrtype", "--src-type", "LOCAL", "-j", "DROP"})...)
}

// acceptEncrypted accepts packets that the Node forwards to Pods of other Nodes, and answers of these, whatever the Node's own rules do: kube-proxy in its mode
// nftables leads connections to NodePorts this way, and accepts none itself.
func (t *table) acceptEncrypted(p ruleParams) {
	if p.encrypts() {
		forward := chainPrefix + chainForward
		t.add(forward, "accept packets to Pods of other Nodes", "-o", config.WireGuardDevice, "-j", "ACCEPT")
		t.add(forward, "accept answers of Pods of other Nodes", "-i", config.WireGuardDevice, "-m", "conntrack", "--ctstate", "RELATED,ESTABLISHED", "-j", "ACCEPT")
	}
}

// keepPodsEncrypted drops what would leave without being encrypted.
func (t *table) keepPodsEncrypted(p ruleParams) {
	for _, leaving := range p.leavingPods() {
		t.add(t.with(chainPostrouting), "drop packets to Pods of other Nodes that are not encrypted", slices.Concat(leaving, []string{"-j", "DROP"})...)
	}
}

// with returns the chain that is named after a built-in one, which the table has then.
func (t *table) with(builtin string) string {
	chain := chainPrefix + builtin
	if !slices.Contains(t.chains, chain) {
		t.chains = append(t.chains, chain)
	}
	return chain
}

// masqueradeEncrypted gives packets of the Node with another interface's address, as after kube-proxy's translation, the address that the peer
// accepts from this Node.
func (t *table) masqueradeEncrypted(p ruleParams, masquerade []string) {
	if p.encrypts() {
		t.add(chainPrefix+chainPostrouting, "masquerade packets of the Node that are encrypted", append([]string{"-o", config.WireGuardDevice,
			"-m", "addrtype", "!", "--src-type", "LOCAL", "--limit-iface-out", "-m", "addrtype", "--src-type", "LOCAL"}, masquerade...)...)
	}
}
