// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/controller/leadership"
	"github.com/antrea-oncache/antrea/pkg/controller/nodeipam"
	"github.com/antrea-oncache/antrea/pkg/features"
)

// newNodeIPAM returns the functions that have to run so that Nodes get Pod networks: none unless the settings ask for that.
func newNodeIPAM(o *options, clients *kubernetes.Clients, leader *leadership.Leadership) ([]func(context.Context), error) {
	settings := &o.config.NodeIPAM
	networks := settings.ClusterNetworks()
	if !settings.EnableNodeIPAM || !o.gates.Enabled(features.NodeIPAM) || len(networks) == 0 {
		return nil, nil
	}
	allocator, err := nodeipam.New(clients.Kube, nodeipam.Config{
		Cluster: networks, Bits4: settings.NodeCIDRMaskSizeIPv4, Bits6: settings.NodeCIDRMaskSizeIPv6, Services: settings.ServiceNetworks(),
	}, leader.Serving)
	if err != nil {
		return nil, err
	}
	return []func(context.Context){allocator.Run}, nil
}
