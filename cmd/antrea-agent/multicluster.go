// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"os"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/multicluster"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
)

// connectsClusters reports whether this Node exchanges packets with other clusters.
func (o *options) connectsClusters() bool { return o.config.ConnectsClusters(o.gates) }

// addClusters makes the controller of the ways to other clusters.
func (c *controllers) addClusters(o *options, n *node) (err error) {
	if !o.connectsClusters() {
		return nil
	}
	if err := multicluster.CheckPods(n.Node.PodIPv4CIDR); err != nil {
		return err
	}
	config := multicluster.Config{
		NodeName: n.name, Namespace: cmp.Or(o.config.Multicluster.Namespace, os.Getenv("POD_NAMESPACE"), "kube-system"),
		PodToPod: o.config.Multicluster.EnablePodToPodConnectivity,
		Objects:  n.clients.Dynamic, Nodes: c.accepted, Flows: n.flows, Host: n.Routes, End: conntrack.End, Problems: n.problems,
	}
	if port := n.Network.ClusterWireGuardPort; port != 0 {
		config.Device, config.Port = wireguard.NewClusterDevice(port, n.Node.Uplink.MTU), port
	}
	c.clusters, err = multicluster.New(config)
	return err
}

// clusterWireGuardPort is the UDP port of encrypted packets between clusters; 0 without encryption there.
func (o *options) clusterWireGuardPort() uint16 {
	if !o.config.EncryptsClusters(o.gates) {
		return 0
	}
	return uint16(o.config.Multicluster.WireGuard.Port)
}

// removeFormerClusterDevice removes the device of a former agent that encrypted packets between clusters, once no flow leads there.
func (c *controllers) removeFormerClusterDevice(ctx context.Context) {
	if c.clusters != nil && c.clusters.Device != nil {
		return
	}
	select {
	case <-c.formerFlowsGone:
	case <-ctx.Done():
		return
	}
	removeWireGuard(ctx, wireguard.RemoveClusterDevice)
}
