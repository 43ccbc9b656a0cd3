// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

var flowSysctls = []string{conntrack.AccountingSysctl, conntrack.TimestampSysctl}

// addFlowExporter makes the exporter of flow records. If it is off, it undoes the changes that an earlier agent has made for it.
func (c *controllers) addFlowExporter(o *options, n *node, cache *onCache) error {
	if !o.config.ExportsFlows(o.gates) {
		var errs []error
		for _, key := range flowSysctls {
			errs = append(errs, n.sysctls.Restore(key))
		}
		if err := os.Remove(flowexporter.DefaultStateFile); !errors.Is(err, os.ErrNotExist) {
			errs = append(errs, err)
		}
		if err := errors.Join(errs...); err != nil {
			klog.ErrorS(err, "Could not remove everything that an earlier agent has left of FlowExporter")
		}
		return nil
	}
	settings, err := o.config.FlowExporter.Exporter()
	if err != nil {
		return err
	}
	if err := n.countFlows(); err != nil {
		return err
	}
	describer := &flowexporter.Describer{
		Node: n.name, Interfaces: n.store, PodNetworks: func() []netip.Prefix { return c.allPodNetworks(n) }, Rules: c.policies.RuleOwners, RuleNames: c.ruleNames,
		Protocols: settings.Protocols,
	}
	if c.egress != nil {
		describer.Egresses = c.egressFinder(egressExcept(o))
	}
	collector := &flowexporter.Collector{FlowCollector: settings.Collector, NodeName: n.name, Kube: n.clients.Kube}
	if c.proxy != nil {
		describer.ServicePort, collector.ClusterIP = c.servicePort, c.clusterIP
	}
	uptime, err := datapath.Uptime()
	if err != nil {
		return err
	}
	c.flowExporter = &flowexporter.Exporter{
		Poll: settings.Poll, Timeouts: flows.Timeouts{Active: settings.Active, Idle: settings.Idle}, StateFile: flowexporter.DefaultStateFile, Begun: time.Now(), BegunUptime: uptime,
		Connections: networkpolicy.PodConnections{}.List, Ends: func() (*conntrack.Ends, error) { return conntrack.WatchEnds(openflow.ConntrackZones) },
		Describer: describer.Begin, Rule: describer.Rule, Dial: collector.Dial,
		Denied: &flowexporter.Denied{PacketIns: n.openFlow.PacketIns, ParsePolicyPacket: n.flows.ParsePolicyPacket},
	}
	if cache.manager != nil {
		cache.manager.ExpectRetiredWatcher()
		c.flowExporter.Cache = flowexporter.CacheOf(cache.manager)
	}
	return nil
}

// egressFinder returns what finds the Egresses of connections, of which some destinations have none.
func (c *controllers) egressFinder(except []netip.Prefix) func() func(pod, destination netip.Addr) flows.Egress {
	return func() func(pod, destination netip.Addr) flows.Egress {
		sources, nodes := c.egress.Sources(), c.addressesOfNodes()
		return func(pod, destination netip.Addr) (found flows.Egress) {
			source, ok := sources[pod]
			if ok && !nodes.Has(destination) && !slices.ContainsFunc(except, func(p netip.Prefix) bool { return p.Contains(destination) }) {
				found = flows.Egress{Name: source.Egress, IP: source.Addr.String(), Node: source.Node}
			}
			return found
		}
	}
}

// addressesOfNodes returns the addresses that objects of Nodes have.
func (c *controllers) addressesOfNodes() sets.Set[netip.Addr] {
	nodes, _ := c.nodes.Core().V1().Nodes().Lister().List(labels.Everything())
	found := sets.New[netip.Addr]()
	for _, node := range nodes {
		for _, a := range node.Status.Addresses {
			if addr, err := netip.ParseAddr(a.Address); err == nil { // others are names
				found.Insert(addr.Unmap())
			}
		}
	}
	return found
}

// ruleNames returns the names of rules on the switch, by flow id.
func (c *controllers) ruleNames() map[uint32]string {
	names := map[uint32]string{}
	for _, r := range c.policies.Rules() {
		if r.Name != "" {
			names[r.FlowID] = r.Name
		}
	}
	return names
}

// allPodNetworks returns the Pod networks of all Nodes.
func (c *controllers) allPodNetworks(n *node) []netip.Prefix {
	return append(podNetworks(n.Node), c.accepted.PodNetworks()...)
}

// servicePort returns NAMESPACE/NAME:PORT of the Service's port that is reached at the address.
func (c *controllers) servicePort(protocol corev1.Protocol, address netip.AddrPort) string {
	frontend, ok := c.proxy.FrontendAt(protocol, address)
	if !ok {
		return ""
	}
	namespace, name, _ := strings.Cut(frontend.Service, "/")
	service, err := c.services.Core().V1().Services().Lister().Services(namespace).Get(name)
	if err != nil {
		return frontend.Service
	}
	for _, port := range service.Spec.Ports {
		if port.Protocol == protocol && port.Name != "" && (port.Port == int32(address.Port()) || port.NodePort == int32(address.Port())) {
			return frontend.Service + ":" + port.Name
		}
	}
	return frontend.Service
}

// clusterIP returns the address of a Service.
func (c *controllers) clusterIP(namespace, name string) (string, error) {
	service, err := c.services.Core().V1().Services().Lister().Services(namespace).Get(name)
	if err != nil {
		return "", err
	}
	if ip := service.Spec.ClusterIP; ip != "" && ip != corev1.ClusterIPNone {
		return ip, nil
	}
	return "", fmt.Errorf("the Service %s/%s has no cluster IP", namespace, name)
}
