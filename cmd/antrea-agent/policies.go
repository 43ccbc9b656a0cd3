// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/auditlog"
	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/meterloss"
	"github.com/antrea-oncache/antrea/pkg/agent/policyreject"
	"github.com/antrea-oncache/antrea/pkg/agent/stats"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
)

// addPolicies makes the controller of NetworkPolicies and the parts that use its rules.
func (c *controllers) addPolicies(o *options, n *node, cache *onCache) (err error) {
	if c.antrea, err = client.NewProvider(n.clients.Kube, n.clients.Config); err != nil {
		return err
	}
	source := networkpolicy.NewSource(c.antrea, n.name)
	c.policies = networkpolicy.New(source, n.flows, n.Rounds, n.store, o.policyDir, n.problems)
	c.policies.ReportStatus(n.name, func(ctx context.Context, report *v1beta2.NetworkPolicyStatus) error {
		antrea, err := c.antrea.Client(ctx)
		if err != nil {
			return err
		}
		return antrea.ReportPolicyStatus(ctx, report)
	})
	if o.gates.Enabled(features.AntreaPolicy) {
		var services networkpolicy.ServiceGroups
		if o.proxiesServices() {
			services = n.flows
			if err := n.flows.KeepGroups(o.groupsFile); err != nil {
				klog.ErrorS(err, "Until policies and Services are known, rules do not match Services that they name")
			}
		}
		c.policies.EnableAntreaPolicies(services, o.proxiesAll())
	}
	if o.protectsNode() {
		c.policies.ApplyToNode(n.name, n.host, o.nodeRulesFile)
	}
	if err := c.addNames(o, n); err != nil {
		return err
	}
	// A nil manager must not become a non-nil interface.
	var connections networkpolicy.ConnectionCache
	if cache.manager != nil {
		connections = cache.manager
		c.fastStats = networkpolicy.NewFastStats(stats.FlowCounters{Flows: cache.manager}, networkpolicy.PodConnections{})
		c.fastStats.HasHadRules = c.policies.HasHadRules
		cache.manager.BeforeTakeover(c.readFastStats)
		cache.manager.ExpectRetiredWatcher()
	}
	if o.cutsConnections() {
		c.cutter = c.policies.Cutter(networkpolicy.PodConnections{}, connections)
	}
	settings := o.config.AuditLogging
	c.auditLog = auditlog.NewLogger(n.openFlow, n.flows, n.store, auditlog.DefaultDirectory, auditlog.Rotation{
		MaxSize: int(settings.MaxSize), MaxBackups: int(*settings.MaxBackups), MaxAge: int(*settings.MaxAge), Compress: *settings.Compress,
	})
	c.watchMeters = func(ctx context.Context) { meterloss.Watch(ctx, n.flows.DroppedByMeters) }
	c.refusals = policyreject.NewResponder(n.openFlow, n.flows, policyreject.Node{Interfaces: n.store, Gateway: n.Node.Gateway, TunnelPort: n.Node.TunnelOFPort})
	c.addStats(o, n)
	return nil
}

// addNames makes the part that finds the addresses of names in policies.
func (c *controllers) addNames(o *options, n *node) error {
	c.names = fqdn.New(fqdn.Config{})
	if !o.gates.Enabled(features.AntreaPolicy) {
		return nil
	}
	resolver, err := fqdn.NewResolver(o.config.DNSServerOverride, fqdn.Versions{IPv4: n.Network.IPv4Enabled, IPv6: n.Network.IPv6Enabled}, os.Getenv)
	if err != nil {
		return err
	}
	c.names = fqdn.New(fqdn.Config{
		Switch: n.openFlow, Flows: n.flows, Asks: resolver, File: filepath.Join(o.policyDir, fqdn.FileName),
		MinTTL: time.Duration(o.config.FQDNCacheMinTTL) * time.Second, MTU: n.Node.MTU,
	})
	c.policyNames = true
	c.names.SetRealizer(c.policies)
	c.policies.FollowNames(c.names)
	return nil
}

// readFastStats reads the last counts of the former agent's cache.
func (c *controllers) readFastStats() {
	if _, err := c.fastStats.Read(); err != nil {
		klog.ErrorS(err, "Statistics of NetworkPolicies lack what the fast path has carried while the agent restarted")
	}
}

// addStats makes the parts that count and report the traffic of policies.
func (c *controllers) addStats(o *options, n *node) {
	c.ruleStats = &stats.Reader{
		Tables: n.flows, Dumper: ovsctl.New(o.config.OVSRunDir, o.config.OVSBridge), Instance: ovsctl.NewVswitchd(o.config.OVSRunDir).Instance,
	}
	if c.fastStats != nil {
		c.ruleStats.FastPath = c.fastStats
	}
	if !o.gates.Enabled(features.NetworkPolicyStats) {
		if c.fastStats != nil {
			c.fastStats.Owned = c.policies.Owned
		}
		return
	}
	c.reporter = &stats.Reporter{
		Node: n.name, File: o.statsFile, Counts: c.ruleStats.Counts, Owners: c.policies.RuleOwners, Names: c.policies.RuleNames, FastPath: c.fastStats,
		Send: func(ctx context.Context, report *v1beta2.NodeStatsSummary) error {
			antrea, err := c.antrea.Client(ctx)
			if err != nil {
				return err
			}
			return antrea.ReportStats(ctx, report)
		},
	}
	c.reporter.Restore()
}
