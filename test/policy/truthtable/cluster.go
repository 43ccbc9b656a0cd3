// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	agentrules "github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	controller "github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/policy/feed"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// cluster is antrea-controller and the agents' policy controllers of all Nodes.
type cluster struct {
	api    *fake.Clientset
	antrea *dynamicfake.FakeDynamicClient
	// antreaMarker has the objects of the last marker.
	antreaMarker *policy.World
	agents       map[string]*agentpolicy.Controller
	// switches are the switches of these agents.
	switches []nodeSwitch
	// interfaces are the interfaces that the agents know, by Node.
	interfaces map[string]interfacestore.InterfaceStore
	store      *controller.Store
	marks      int
	// marker is the id of the last marker's rule, by Node.
	marker map[string]string
	// realizing contains the requests for addresses of names in rules.
	realizing realizations
	cancel    context.CancelFunc
	done      sync.WaitGroup
}

// atOnce is a datapath that follows its tables because the test calls ForgetMegaflows.
type atOnce struct{}

func (atOnce) WaitRevalidation(context.Context) error { return nil }

// newCluster starts a cluster with the agents of some Nodes. dir is for the agents' files.
func newCluster(ctx context.Context, world *policy.World, nodes []nodeSwitch, dir string) (*cluster, error) {
	ctx, cancel := context.WithCancel(ctx)
	c := &cluster{
		api: fake.NewClientset(), antrea: newAntreaAPI(), antreaMarker: &policy.World{}, agents: map[string]*agentpolicy.Controller{}, interfaces: map[string]interfacestore.InterfaceStore{},
		store: controller.NewStore(), marker: map[string]string{}, cancel: cancel,
	}
	if err := c.create(ctx, world); err != nil {
		return c, err
	}
	objects, err := crd.NewPolicies(c.antrea)
	if err != nil {
		return c, err
	}
	central, err := controller.NewController(c.api, c.store)
	if err != nil {
		return c, err
	}
	admin, err := crd.NewAdminPolicies(c.antrea, true, true)
	if err != nil {
		return c, err
	}
	if err := errors.Join(central.FollowAntrea(objects), central.FollowAdmin(admin)); err != nil {
		return c, err
	}
	c.done.Go(func() { objects.Run(ctx) })
	c.done.Go(func() { admin.Run(ctx) })
	c.done.Go(func() { central.Run(ctx) })
	<-central.Synced()
	for _, n := range nodes {
		if err := c.startAgent(ctx, world, n, dir); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (c *cluster) stop() {
	c.cancel()
	c.done.Wait()
}

// connected returns the interface of a Pod in a place.
func connected(pod *policy.Pod, place int) *interfacestore.InterfaceConfig {
	return &interfacestore.InterfaceConfig{
		Type: interfacestore.ContainerInterface, InterfaceName: switchpair.InterfaceName(place), IPs: []netip.Addr{pod.IPv4, pod.IPv6},
		MAC: switchpair.PodMAC(place), OVSPortConfig: &interfacestore.OVSPortConfig{OFPort: switchpair.PodPort(place)},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodNamespace: pod.Namespace, PodName: pod.Name},
	}
}

func namespaceObject(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// create makes all objects of a world.
func (c *cluster) create(ctx context.Context, world *policy.World) error {
	if _, err := c.api.CoreV1().Namespaces().Create(ctx, namespaceObject(markerNamespace, nil), metav1.CreateOptions{}); err != nil {
		return err
	}
	for name, labels := range world.Namespaces {
		if _, err := c.api.CoreV1().Namespaces().Create(ctx, namespaceObject(name, labels), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	for _, pod := range slices.Concat(objects(world), markerPods) {
		if _, err := c.api.CoreV1().Pods(pod.Namespace).Create(ctx, pod.Object(), metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := c.createNodes(ctx, world); err != nil {
		return err
	}
	if err := c.createNodes(ctx, &policy.World{Hosts: []*policy.Pod{markerNode}}); err != nil {
		return err
	}
	if err := c.changeAntrea(ctx, &policy.World{}, world); err != nil {
		return err
	}
	for _, p := range world.Policies {
		if _, err := c.api.NetworkingV1().NetworkPolicies(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

var protocolNumbers = map[corev1.Protocol]uint8{
	corev1.ProtocolTCP: of.IPProtoTCP, corev1.ProtocolUDP: of.IPProtoUDP, corev1.ProtocolSCTP: of.IPProtoSCTP,
}

// protocolOf returns the IP protocol number of a probe.
func protocolOf(p *policy.Probe) uint8 {
	switch {
	case p.Protocol != policy.ICMP:
		return protocolNumbers[p.Protocol]
	case p.IPv6:
		return unix.IPPROTO_ICMPV6
	}
	return unix.IPPROTO_ICMP
}

// verdicts returns what the rules of the Nodes decide about a probe: at its source and at its destination.
func (c *cluster) verdicts(p *policy.Probe) (egress, ingress agentrules.Verdict) {
	from, to := p.Addresses()
	connection := agentrules.Connection{Source: from, Destination: to, Protocol: protocolOf(p), SourcePort: p.SourcePort, DestinationPort: p.Port}
	if p.Protocol == policy.ICMP {
		connection.SourcePort, connection.ICMPType = 0, wire.EchoRequest(p.IPv6)
	}
	return agentrules.Evaluate(c.rules(p.From.Node), agentrules.Egress, connection), agentrules.Evaluate(c.rules(p.To.Node), agentrules.Ingress, connection)
}

// rules returns the rules of a Node; clients outside of the cluster have none.
func (c *cluster) rules(node string) []*agentrules.Rule {
	if agent := c.agents[node]; agent != nil {
		return agent.Rules()
	}
	return nil
}

// allows reports whether the rules on the Nodes allow a probe.
func (c *cluster) allows(p *policy.Probe) bool {
	egress, ingress := c.verdicts(p)
	return egress.Allowed() && ingress.Allowed()
}

// decision describes the verdict of a Node's rules.
func (c *cluster) decision(node string, v agentrules.Verdict) string {
	for _, r := range c.rules(node) {
		if r.FlowID == v.FlowID && v.FlowID != 0 {
			return fmt.Sprintf("%v by rule %d %q %+v", v.Action, r.FlowID, r.Name, r.Effect)
		}
	}
	return fmt.Sprintf("%v by no rule", v.Action)
}

// source is the connection from the controller to an agent, with the conversion that the API server makes.
type source struct {
	store *controller.Store
	node  string
	// marked reports whether the agent asks for marks (bookmarks at the end of events), which upstream's antrea-controller does not send.
	marked bool
}

// sourceOf returns the source of a Node's agent. One of the two Nodes gets marks.
func (c *cluster) sourceOf(node string) *source { return &source{c.store, node, node == "node-1"} }

var resources = map[agentpolicy.Resource]controller.Resource{
	agentpolicy.NetworkPolicies: controller.NetworkPolicies,
	agentpolicy.AddressGroups:   controller.AddressGroups,
	agentpolicy.AppliedToGroups: controller.AppliedToGroups,
}

// Moved implements agentpolicy.Source.
func (*source) Moved() <-chan struct{} { return nil }

// Watch implements agentpolicy.Source.
func (s *source) Watch(_ context.Context, resource agentpolicy.Resource) (watch.Interface, error) {
	selection := controller.Selection{Node: s.node, Marked: s.marked}
	internal := s.store.Watch(resources[resource], selection, func(version string) runtime.Object {
		if !s.marked {
			version = "" // as upstream's antrea-controller
		}
		return &v1beta2.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	})
	return feed.Converted(internal), nil
}
