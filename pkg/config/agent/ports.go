// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"

	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/features"
)

// listener is a port of the Node that a configuration key takes.
type listener struct {
	key, protocol string
	port          int
}

// listeners returns the ports that are in use with these settings, without the controller's.
func listeners(c *AgentConfig, gates featuregate.FeatureGate) []listener {
	tunnel := int(c.TunnelPort)
	if tunnel == 0 {
		tunnel = map[string]int{TunnelGeneve: 6081, TunnelVXLAN: 4789}[c.TunnelType]
	}
	all := []listener{{"tunnelPort", "udp", tunnel}, {"apiPort", "tcp", c.APIPort}, {"clusterPort", "tcp", c.ClusterPort}}
	if c.TrafficEncryptionMode == EncryptionWireGuard {
		all = append(all, listener{"wireGuard.port", "udp", int(c.WireGuard.Port)})
	}
	if c.EncryptsClusters(gates) {
		all = append(all, listener{"multicluster.wireGuard.port", "udp", int(c.Multicluster.WireGuard.Port)})
	}
	if c.AntreaProxy.ProxyAll && gates.Enabled(features.AntreaProxy) {
		all = append(all, listener{"antreaProxy.serviceHealthCheckServerBindAddress", "tcp", int(c.ServiceHealthPort())})
	}
	// The rules for this port are there with the gate, whatever this Node's oncache.tunnel is: other Nodes may rewrite.
	if gates.Enabled(features.ONCache) || c.ONCache.RewritesPackets() {
		all = append(all, listener{"oncache.rewritePort", "udp", int(c.ONCache.RewritePort)}, listener{"oncache.rewritePort", "tcp", int(c.ONCache.RewritePort)})
	}
	return all
}

// validatePorts looks for ports that two keys take.
func validatePorts(c *AgentConfig, gates featuregate.FeatureGate) (errs []error) {
	all := listeners(c, gates)
	for i, l := range all {
		for _, other := range all[:i] {
			if l.protocol == other.protocol && l.port == other.port && l.port != 0 {
				errs = append(errs, fmt.Errorf("%s: %d is the port of %s; allowed: a port that nothing else on any Node uses", l.key, l.port, other.key))
			}
		}
	}
	return errs
}
