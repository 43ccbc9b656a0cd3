// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/antrea-oncache/antrea/pkg/agent/nodeportlocal"
	"github.com/antrea-oncache/antrea/pkg/agent/proxy"
)

// addNodePortLocal makes the controller of ports of the Node that lead to Pods. Without the feature it removes the annotations of a former agent.
func (c *controllers) addNodePortLocal(o *options, n *node) (err error) {
	settings := nodeportlocal.Config{
		NodeName: n.name, Host: n.host, Interfaces: n.store, Pods: c.localPods.Core().V1().Pods(), Nodes: c.nodes.Core().V1().Nodes(),
		Kube: n.clients.Kube, Problems: n.problems,
	}
	if o.config.LeadsPorts(o.gates) {
		settings.Range = &nodeportlocal.Range{Reserved: o.config.OwnPorts(o.gates)}
		if settings.Range.First, settings.Range.Last, err = o.config.NodePortLocal.Ports(); err != nil {
			return err
		}
		if c.services == nil {
			c.services = proxy.NewFactory(n.clients.Kube)
		}
		settings.Services = c.services.Core().V1().Services()
	}
	c.nodePortLocal, err = nodeportlocal.New(settings)
	return err
}

// nodePortLocalRange returns the range in AntreaAgentInfo; empty without the feature.
func (o *options) nodePortLocalRange() string {
	if !o.config.LeadsPorts(o.gates) {
		return ""
	}
	return o.config.NodePortLocal.PortRange
}
