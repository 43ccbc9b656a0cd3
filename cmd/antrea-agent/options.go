// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/nodelock"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/config"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// defaultPolicyDir is Antrea's.
const defaultPolicyDir = "/var/run/antrea/networkpolicy"

// defaultStatsFile is lost when the Node restarts, as are the counters that it describes.
const defaultStatsFile = "/var/run/antrea/networkpolicystats"

// defaultGroupsFile is lost when the Node restarts, as are the groups.
const defaultGroupsFile = "/var/run/antrea/servicegroups"

// defaultEgressFile is lost when the Node restarts, as are the Pods.
const defaultEgressFile = "/var/run/antrea/egresses"

// defaultNodeRulesFile is lost when the Node restarts, as are the rules.
const defaultNodeRulesFile = "/var/run/antrea/nodepolicyrules"

// options are the settings of the configuration file and the command line, checked and complete.
type options struct {
	flags  config.Flags
	config *agentconfig.AgentConfig
	gates  featuregate.FeatureGate
	// configFile is empty when all defaults apply.
	configFile string
	// tokenFile receives the loopback token of the API server.
	tokenFile string
	// policyDir is the directory of the last known policies.
	policyDir string
	// statsFile records how much of the policies' traffic has been reported.
	statsFile string
	// groupsFile records the groups of Services in Open vSwitch.
	groupsFile string
	// egressFile has the last known Egresses of this Node's Pods.
	egressFile string
	// nodeRulesFile records the rules of policies for the Node itself.
	nodeRulesFile string
	// lockFile is locked by the only agent of the Node.
	lockFile string
	// sysctlFile records the original values of the sysctls that the agent has changed.
	sysctlFile string
	// sources find the addresses that the Node depends on.
	sources *dependency.Sources
}

func newOptions() *options {
	return &options{
		tokenFile: apis.LoopbackTokenFile, policyDir: defaultPolicyDir, statsFile: defaultStatsFile, groupsFile: defaultGroupsFile, egressFile: defaultEgressFile,
		nodeRulesFile: defaultNodeRulesFile, lockFile: nodelock.DefaultFile, sysctlFile: sysctl.DefaultFile, sources: dependency.NewSources(),
	}
}

// complete reads the configuration file (without one, all defaults apply) and applies the flags, which win. It fails if they
// request something that the agent cannot do.
func (o *options) complete(configFile string) error {
	text, err := config.Read(configFile)
	if err != nil {
		return err
	}
	c, err := agentconfig.Parse(text)
	if err != nil {
		return fmt.Errorf("configuration file %s: %w", configFile, err)
	}
	if err := c.Override(&o.flags); err != nil {
		return err
	}
	gates, err := features.New(c.FeatureGates)
	if err != nil {
		return fmt.Errorf("%s: %w", o.flags.Sources(configFile), err)
	}
	if err := c.Validate(gates); err != nil {
		return fmt.Errorf("%s: %w", o.flags.Sources(configFile), err)
	}
	for _, name := range features.AgentGatesWithoutEffect(c.FeatureGates) {
		klog.InfoS("Feature gate is on but has no effect in this version", "featureGate", name)
	}
	for _, key := range c.WithoutEffect(gates) {
		klog.InfoS("Setting has no effect", "key", key)
	}
	o.config, o.gates, o.configFile = c, gates, configFile
	return nil
}

// cutsConnections reports whether policies also end connections that were established before.
func (o *options) cutsConnections() bool {
	return o.config.NetworkPolicy.EstablishedConnections == agentconfig.ConnectionsCut
}

// proxiesServices reports whether connections of Pods to Services are translated in OVS.
func (o *options) proxiesServices() bool {
	return o.gates.Enabled(features.AntreaProxy) && *o.config.AntreaProxy.Enable
}

// proxiesAll reports whether connections of the Node and from outside the cluster are also translated in OVS.
func (o *options) proxiesAll() bool { return o.proxiesServices() && o.config.AntreaProxy.ProxyAll }

// protectsNode reports whether policies apply to the connections of the Node's own programs.
func (o *options) protectsNode() bool {
	return o.gates.Enabled(features.NodeNetworkPolicy) && o.gates.Enabled(features.AntreaPolicy)
}

// cachesDirect reports whether the cache also has flows to Nodes that are reached without the tunnel.
func (o *options) cachesDirect() bool {
	return o.config.ONCache.Direct && o.config.TrafficEncapMode != agentconfig.EncapModeEncap && !o.encrypts()
}

// rewritePort returns the port of packets that are rewritten instead of encapsulated, 0 without the gate. The rules that keep Pods out of it are
// also there on Nodes that encapsulate: their Pods could send to Nodes that restore.
func (o *options) rewritePort() uint16 {
	if !o.gates.Enabled(features.ONCache) {
		return 0
	}
	return uint16(o.config.ONCache.RewritePort)
}
