// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"path/filepath"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	agentbundle "github.com/antrea-oncache/antrea/pkg/agent/supportbundle"
	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/supportbundle"
)

// newSupportBundles makes the collector of this agent's support bundles.
func newSupportBundles(ctx context.Context, o *options, n *node, cache *onCache, paths map[string]http.HandlerFunc) (*supportbundle.Collector, error) {
	source := &agentbundle.Agent{
		LogDirectory: apis.LogDirectory, OVSLogDirectory: apis.OVSLogDirectory, ConfigFile: o.configFile,
		OVSRunDir: o.config.OVSRunDir, Bridge: o.config.OVSBridge, Routes: paths,
		ConntrackZones: openflow.AllConntrackZones, Uplink: cmp.Or(n.Node.Uplink.IPv4, n.Node.Uplink.IPv6).Addr(),
	}
	// A nil manager must not become a non-nil interface.
	if cache.manager != nil {
		source.Cache = cache.manager
	}
	return supportbundle.New(ctx, supportbundle.Config{
		Component: "agent", Items: source.Items,
		Directory: filepath.Join(os.TempDir(), "antrea-agent-supportbundle-"+n.name),
	})
}
