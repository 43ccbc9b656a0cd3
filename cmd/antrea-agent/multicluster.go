// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"os"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/multicluster"
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
	c.clusters, err = multicluster.New(multicluster.Config{
		NodeName: n.name, Namespace: cmp.Or(o.config.Multicluster.Namespace, os.Getenv("POD_NAMESPACE"), "kube-system"),
		PodToPod: o.config.Multicluster.EnablePodToPodConnectivity,
		Objects:  n.clients.Dynamic, Nodes: c.accepted, Flows: n.flows, Host: n.Routes, End: conntrack.End, Problems: n.problems,
	})
	return err
}
