// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/component-base/featuregate"

	"github.com/antrea-oncache/antrea/pkg/features"
)

// unbuiltSwitch is a boolean setting that has no effect in this version.
type unbuiltSwitch struct {
	name string
	on   bool
	// remedy is set when the agent must not run as if the setting were off: it says what to do. An agent that does not start takes
	// the whole Node off the network, so there has to be a reason.
	remedy string
}

func unbuiltSwitches(c *AgentConfig) []unbuiltSwitch {
	return []unbuiltSwitch{
		{"enableBridgingMode", c.EnableBridgingMode, "Pods would not be connected to the Node's network: leave it out if they may have addresses of the Pod network only"},
		{"multicast.enable", c.Multicast.Enable, ""},
		{"multicluster.enableStretchedNetworkPolicy", c.Multicluster.EnableStretchedNetworkPolicy, stretchedRemedy(c)},
		{"secondaryNetwork.ovsBridges", len(c.SecondaryNetwork.OVSBridges) > 0, ""},
	}
}

// stretchedRemedy says what to do about policies that recognize Pods of other clusters.
func stretchedRemedy(c *AgentConfig) string {
	const remedy = "rules for Pods of other clusters would not be enforced: leave it out if there are none"
	if c.ONCache.RewritesPackets() {
		return remedy + "; no version can combine it with oncache.tunnel rewrite, which uses the field of the tunnel's header by which such a Pod is recognized"
	}
	return remedy
}

// ConnectsClusters reports whether this Node exchanges packets with other clusters.
func (c *AgentConfig) ConnectsClusters(gates featuregate.FeatureGate) bool {
	return c.Multicluster.EnableGateway && gates.Enabled(features.Multicluster) && c.TrafficEncapMode == EncapModeEncap &&
		c.TrafficEncryptionMode == EncryptionNone && gates.Enabled(features.AntreaProxy) && *c.AntreaProxy.Enable
}

// EncryptsClusters reports whether packets between clusters are encrypted.
func (c *AgentConfig) EncryptsClusters(gates featuregate.FeatureGate) bool {
	return c.ConnectsClusters(gates) && c.Multicluster.TrafficEncryptionMode == EncryptionWireGuard
}

// multiclusterWithoutEffect says why no other cluster is connected, empty if that was not asked for, or happens.
func multiclusterWithoutEffect(c *AgentConfig, gates featuregate.FeatureGate) string {
	switch {
	case !c.Multicluster.EnableGateway && c.Multicluster.EnablePodToPodConnectivity:
		return "multicluster.enablePodToPodConnectivity needs multicluster.enableGateway"
	case !c.Multicluster.EnableGateway && !strings.EqualFold(c.Multicluster.TrafficEncryptionMode, EncryptionNone):
		return "multicluster.trafficEncryptionMode needs multicluster.enableGateway"
	case !c.Multicluster.EnableGateway || c.ConnectsClusters(gates):
		return ""
	case !gates.Enabled(features.Multicluster):
		return fmt.Sprintf("multicluster.enableGateway needs the feature gate %s", features.Multicluster)
	default:
		return "multicluster.enableGateway: other clusters are not connected, which needs trafficEncapMode encap, trafficEncryptionMode none and AntreaProxy"
	}
}

// WithoutEffect returns a line for each setting that Validate accepts and that asks for something that does not happen: because of
// other settings, as in Antrea, or because this version does not have the feature.
func (c *AgentConfig) WithoutEffect(gates featuregate.FeatureGate) []string {
	var lines []string
	if c.FlowExporter.Enable && !gates.Enabled(features.FlowExporter) {
		lines = append(lines, fmt.Sprintf("flowExporter.enable needs the feature gate %s", features.FlowExporter))
	}
	if c.NodePortLocal.Enable && !gates.Enabled(features.NodePortLocal) {
		lines = append(lines, fmt.Sprintf("nodePortLocal.enable needs the feature gate %s", features.NodePortLocal))
	}
	if line := multiclusterWithoutEffect(c, gates); line != "" {
		lines = append(lines, line)
	}
	for _, s := range unbuiltSwitches(c) {
		gate := features.OfKey(s.name)
		switch {
		case !s.on:
		case gate != "" && !gates.Enabled(gate):
			lines = append(lines, fmt.Sprintf("%s needs the feature gate %s", s.name, gate))
		case s.remedy == "":
			lines = append(lines, s.name+": this version does not have the feature")
		}
	}
	for _, ch := range choices(c) {
		if ch.instead != "" && !slices.Contains(ch.built, *ch.value) {
			lines = append(lines, fmt.Sprintf("%s: this version does not have %q; it does as with %q", ch.name, *ch.value, ch.instead))
		}
	}
	switch {
	case c.HostNetworkAcceleration.Enable && c.TrafficEncapMode == EncapModeEncap:
		lines = append(lines, "hostNetworkAcceleration.enable: true is for trafficEncapMode noEncap and hybrid")
	case c.HostNetworkAcceleration.Enable:
		lines = append(lines, "hostNetworkAcceleration.enable: this version does not have the feature")
	}
	if c.ONCache.Direct && (c.TrafficEncapMode == EncapModeEncap || c.TrafficEncryptionMode != EncryptionNone) {
		lines = append(lines, "oncache.direct: true is for trafficEncapMode noEncap and hybrid")
	}
	if c.TrafficEncapMode != EncapModeEncap && gates.Enabled(features.Egress) {
		lines = append(lines, "featureGates.Egress: Egresses need trafficEncapMode encap, without it Pods keep their Node's address outside")
	}
	if c.TrafficEncryptionMode == EncryptionWireGuard && gates.Enabled(features.Egress) {
		lines = append(lines, "featureGates.Egress: Egresses need trafficEncryptionMode none, because packets to another Node's Egress would not be encrypted; Pods keep their Node's address outside")
	}
	return lines
}
