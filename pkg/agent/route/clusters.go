// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// With encryption between clusters, the device of a gateway Node has one address. It takes tunnel packets of other clusters' gateway Nodes to this address and
// nothing else, and these must come from it. It is not in the set of addresses to which Nodes of this cluster send tunnel packets.

// fromClusters match packets of other clusters that were encrypted.
func (p ruleParams) fromClusters() [][]string {
	if p.clusterPort == 0 {
		return nil
	}
	return [][]string{{"-i", config.ClusterWireGuardDevice}}
}

// throughClusters match packets that the Node forwards to the device.
func (p ruleParams) throughClusters() [][]string {
	if p.clusterPort == 0 {
		return nil
	}
	return [][]string{{"-o", config.ClusterWireGuardDevice}}
}

// notFromClusters are the arguments that leave encrypted packets of other clusters out.
func (p ruleParams) notFromClusters() []string {
	if p.clusterPort == 0 {
		return nil
	}
	return []string{"!", "-i", config.ClusterWireGuardDevice}
}

// leavingClusters match tunnel packets to other clusters that leave without being encrypted, as when the device is gone.
func (p ruleParams) leavingClusters() [][]string {
	if p.clusterPort == 0 {
		return nil
	}
	return [][]string{slices.Concat([]string{"!", "-o", config.ClusterWireGuardDevice}, p.tunnelPacket(), []string{"-m", "set", "--match-set", p.clusterSet, "dst"})}
}

// dropPlainClusters drops tunnel packets of other clusters that come without being encrypted, and what comes encrypted and is not a tunnel packet to the
// device's address: another cluster is to reach this one's Services, and nothing else of the Node.
func (t *table) dropPlainClusters(p ruleParams) {
	in := chainPrefix + chainPrerouting
	for _, encrypted := range p.fromClusters() {
		drop := func(comment string, args ...string) { t.add(in, comment, append(args, "-j", "DROP")...) }
		drop("drop tunnel packets of other clusters that are not encrypted",
			slices.Concat(p.notFromClusters(), p.tunnelPacket(), []string{"-m", "set", "--match-set", p.clusterSet, "src"})...)
		drop("drop packets of other clusters to other addresses", slices.Concat(encrypted, []string{"-m", "addrtype", "!", "--dst-type", "LOCAL", "--limit-iface-in"})...)
		drop("drop packets of other clusters of other protocols", slices.Concat(encrypted, []string{"!", "-p", p.tunnelProtocol})...)
		drop("drop packets of other clusters to other ports", slices.Concat(encrypted, p.otherPort())...)
	}
}

// otherPort are the arguments that match packets to other ports than the tunnel's.
func (p ruleParams) otherPort() []string {
	match := p.tunnelPacket()
	return slices.Insert(match, slices.Index(match, "--dport"), "!")
}

// keepClustersEncrypted drops what would leave without being encrypted, and packets that the Node would forward to the device, as if it had made them.
func (t *table) keepClustersEncrypted(p ruleParams) {
	for _, leaving := range p.leavingClusters() {
		t.add(t.with(chainPostrouting), "drop tunnel packets to other clusters that are not encrypted", slices.Concat(leaving, []string{"-j", "DROP"})...)
	}
	for _, through := range p.throughClusters() {
		t.add(chainPrefix+chainForward, "drop packets that are forwarded to other clusters", slices.Concat(through, []string{"-j", "DROP"})...)
	}
}
