// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"

	oncachehandler "github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/podfeed"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/report"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/rewriteport"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/ovs/kerneldp"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// onCache is the cache as other parts of the agent see it.
type onCache struct {
	// manager is nil when the feature gate is off.
	manager *oncache.Manager
	// announcer tells the other Nodes whether this one understands keys.
	announcer *rewriteport.Announcer
	// prepare does work in advance of start; nil if there is none.
	prepare func()
	// start starts the cache, or with the gate off removes what an earlier agent has left of it. ctx ends when the agent stops.
	start func(ctx context.Context) error
	// routes answer GET, changes PUT.
	routes, changes map[string]http.HandlerFunc
}

// newONCache makes the cache, and the handlers of its API paths.
func newONCache(o *options, n *node, pods *podfeed.Feed) (*onCache, error) {
	announcer := rewriteport.NewAnnouncer(n.clients.Kube, n.name)
	if !o.gates.Enabled(features.ONCache) {
		return &onCache{
			announcer: announcer,
			start: func(ctx context.Context) error {
				announcer.Want("")
				return removeONCache(ctx, n)
			},
			routes:  oncacheRoutes(nil, nil),
			changes: oncacheChanges(nil, nil),
		}, nil
	}
	manager, err := newManager(o, n, pods)
	if err != nil {
		return nil, err
	}
	manager.Observe(&report.Observer{Problems: n.problems, Node: n.name, Away: n.away})
	if err := legacyregistry.Registerer().Register(manager); err != nil {
		return nil, fmt.Errorf("register the metrics of %s: %w", features.ONCache, err)
	}
	return &onCache{
		manager: manager, announcer: announcer,
		prepare: manager.Prepare,
		start: func(ctx context.Context) error {
			rewrites := o.config.ONCache.RewritesPackets()
			if !rewrites {
				// Before Start, which waits for keys of an earlier agent to end.
				announcer.Want("")
			}
			manager.Start(ctx)
			if ctx.Err() != nil {
				return nil
			}
			reportUnavailable(n, manager)
			go manager.Run(ctx.Done())
			if rewrites {
				announcer.Want(manager.Annotation())
			}
			return nil
		},
		routes:  oncacheRoutes(manager, manager),
		changes: oncacheChanges(manager, manager),
	}, nil
}

// newManager makes the cache of a Node with the feature gate.
func newManager(o *options, n *node, pods *podfeed.Feed) (*oncache.Manager, error) {
	mode, err := datapath.ParseMode(o.config.ONCache.Mode)
	if err != nil {
		return nil, fmt.Errorf("oncache.mode: %w", err)
	}
	node, network := n.Node, n.Network
	return oncache.New(oncache.Config{
		PinPath:           oncache.DefaultPinPath,
		MaxFlows:          o.config.ONCache.MaxFlows,
		Lease:             time.Duration(o.config.ONCache.LeaseSeconds) * time.Second,
		Uplink:            node.Uplink.Name,
		UplinkIPv4:        node.Uplink.IPv4.Addr(),
		UplinkIPv6:        node.Uplink.IPv6.Addr(),
		IPv6:              network.IPv6Enabled,
		Mode:              mode,
		TunnelType:        string(network.TunnelType),
		TunnelDevice:      oncache.TunnelDevice(string(network.TunnelType), network.TunnelPort),
		TunnelPort:        network.TunnelPort,
		TunnelCsum:        network.TunnelCsum,
		Rewrite:           o.config.ONCache.RewritesPackets(),
		RewritePort:       uint16(o.config.ONCache.RewritePort),
		Openings:          o.config.ONCache.Openings,
		Direct:            o.cachesDirect(),
		Mirrored:          func() (func(string) bool, error) { return oncache.Mirrored(n.bridge, config.DefaultTunPortName) },
		DatapathExists:    datapathExists(o.config.OVSDatapathType),
		ConntrackZoneIPv4: openflow.ConntrackZoneIPv4, ConntrackZoneIPv6: openflow.ConntrackZoneIPv6,
		GatewayMAC: node.Gateway.MAC,
		VirtualMAC: config.GlobalVirtualMAC,
		Gateway:    oncache.Gateway{Name: node.Gateway.Name, IPv4: node.Gateway.IPv4, IPv6: node.Gateway.IPv6, OFPort: node.Gateway.OFPort},
	}, pods, n.flows, n.sysctls), nil
}

// datapathExists looks for the kernel's datapath. Another one is part of ovs-vswitchd.
func datapathExists(datapathType string) func() (bool, error) {
	if datapathType != ovsconfig.DefaultDatapathType {
		return func() (bool, error) { return true, nil }
	}
	return kerneldp.Exists
}

// oncacheRoutes are the paths that only read; with nil, for the gate off, they say so.
func oncacheRoutes(q oncachehandler.Querier, c oncachehandler.ModeController) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"/oncache": oncachehandler.HandleFunc(q), "/oncache/mode": oncachehandler.HandleMode(c)}
}

// oncacheChanges are the paths that change something.
func oncacheChanges(c oncachehandler.ModeController, f oncachehandler.Flusher) map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{"/oncache/mode": oncachehandler.HandleSetMode(c), "/oncache/flush": oncachehandler.HandleFlush(f)}
}

// formerCacheOf is formerCache with the condition under which its hits may continue while this agent starts: its own cache would have the same hits.
func formerCacheOf(o *options) round.FormerCache {
	former := formerCache
	if o.gates.Enabled(features.ONCache) && o.config.ONCache.Mode == datapath.ModeEnforce.String() && !o.config.TunnelCsum && !o.encrypts() {
		former.Agrees = func(epochs map[netip.Addr]uint16) (bool, error) {
			return datapath.Agrees(datapath.Options{
				PinPath: oncache.DefaultPinPath, MaxFlows: o.config.ONCache.MaxFlows, Rewrite: o.config.ONCache.RewritesPackets(), Openings: o.config.ONCache.Openings,
				Direct: o.cachesDirect(),
			}, epochs)
		}
	}
	return former
}

func removeONCache(ctx context.Context, n *node) error {
	err := oncache.Cleanup(ctx, oncache.DefaultPinPath, n.sysctls)
	if ctx.Err() != nil {
		return nil // the next agent finds what is left
	}
	if err != nil {
		return fmt.Errorf("feature gate %s is off, but removing its programs and settings failed: %w", features.ONCache, err)
	}
	return nil
}

func reportUnavailable(n *node, manager *oncache.Manager) {
	if reason := manager.Unavailable(); reason != nil {
		n.problems.Report(oncache.ReasonUnavailable, problem.Subject{Kind: "Node", Name: n.name},
			fmt.Sprintf("all traffic of this Node takes the slow path: %v", reason))
	}
}
