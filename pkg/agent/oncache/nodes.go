// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

// node is one transport address of a remote Node. Most Nodes have one. A Node with addresses of both families has two, and
// each leads to the Pod networks of its family.
type node struct {
	coherency.Node
	slot int
	// serial is greater than the serial of every Node announced before.
	serial uint64
}

// changesNodes reports whether a change alters or removes a Node that flows may refer to.
func (l *ledger) changesNodes(c coherency.Change) bool {
	for name, wanted := range l.announced(c.Nodes) {
		if old := l.nodes[name]; old != nil && !sameNodes(old, wanted) {
			return true
		}
	}
	return slices.ContainsFunc(c.RemovedNodes, func(name string) bool { return l.nodes[name] != nil })
}

// mayAnnounce reports whether the datapath may know the Node. Packets to others stay on Open vSwitch: each of a Routed Node's Pod networks
// may have a next hop of its own, and a slot has one.
func (l *ledger) mayAnnounce(n coherency.Node) bool {
	return n.Reach.Kind == reach.Tunnel || l.direct && n.Reach.Kind == reach.Direct
}

// announced returns, by name, the Nodes that the datapath may know.
func (l *ledger) announced(nodes []coherency.Node) map[string][]coherency.Node {
	named := map[string][]coherency.Node{}
	for _, n := range nodes {
		known := named[n.Name]
		if l.mayAnnounce(n) {
			known = append(known, n)
		}
		named[n.Name] = known // even if there is none: the Node may have been announced before
	}
	return named
}

func sameNodes(have []*node, want []coherency.Node) bool {
	return slices.EqualFunc(have, want, func(n *node, w coherency.Node) bool {
		return n.Reach == w.Reach && slices.Equal(n.PodCIDRs, w.PodCIDRs)
	})
}

func (l *ledger) applyNodes(c coherency.Change) {
	for _, name := range c.RemovedNodes {
		l.removeNodes(name)
	}
	l.applyPlain(c)
	wanted := l.announced(c.Nodes)
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if sameNodes(l.nodes[name], wanted[name]) {
			continue
		}
		l.removeNodes(name)
		for _, n := range wanted[name] {
			if err := l.addNode(n); err != nil {
				l.failures.add(operationNode)
				klog.ErrorS(err, "Flows to this Node stay on Open vSwitch", "node", n.Name, "address", n.Reach.Address)
			}
		}
	}
}

// WithoutTunnel is the reason why packets to a Node that is reached without the tunnel stay on Open vSwitch.
const WithoutTunnel = "reached without the tunnel"

// applyPlain remembers the Nodes that are not announced, for users.
func (l *ledger) applyPlain(c coherency.Change) {
	for _, name := range c.RemovedNodes {
		delete(l.plain, name)
	}
	for _, n := range c.Nodes {
		delete(l.plain, n.Name)
	}
	for _, n := range c.Nodes {
		if !l.mayAnnounce(n) {
			l.plain[n.Name] = append(l.plain[n.Name], n)
		}
	}
}

func (l *ledger) addNode(info coherency.Node) error {
	slot := slices.Index(l.slotNodes[:], nil)
	if slot < 0 {
		return fmt.Errorf("all %d Node slots are taken", len(l.slotNodes))
	}
	l.nodeSerial++
	n := &node{Node: info, slot: slot, serial: l.nodeSerial}
	l.slotNodes[slot], l.nodes[info.Name] = n, append(l.nodes[info.Name], n)
	if info.Reach.Kind == reach.Direct {
		l.noteDirect() // before: the watcher of the uplink must not let packets to it pass before it has looked for what they would bypass
		l.dp.SetDirectNode(slot, info.Reach.Address)
	} else {
		l.dp.SetNode(slot, info.Reach.Address)
	}
	l.dp.SetNodeRewrites(slot, l.rewritesTo(n))
	l.wake() // the worker finds out the MTU of the route
	for _, p := range info.PodCIDRs {
		if err := l.dp.AddPodNetwork(p, slot); err != nil {
			l.removeNode(n)
			return err
		}
	}
	return nil
}

func (l *ledger) removeNodes(name string) {
	for _, n := range slices.Clone(l.nodes[name]) {
		l.removeNode(n)
	}
}

func (l *ledger) removeNode(n *node) {
	l.evictions.Node++
	l.slotNodes[n.slot] = nil
	l.nodes[n.Name] = slices.DeleteFunc(l.nodes[n.Name], func(other *node) bool { return other == n })
	if len(l.nodes[n.Name]) == 0 {
		delete(l.nodes, n.Name)
	}
	for _, p := range n.PodCIDRs {
		if err := l.inherit(n, p); err != nil {
			l.failures.add(operationNode)
			klog.ErrorS(err, "Flows to a Pod network of a removed Node stay on Open vSwitch", "node", n.Name, "network", p)
		}
	}
	l.dp.ClearNode(n.slot)
	if n.Reach.Kind == reach.Direct {
		l.noteDirect()
	}
}

// inherit passes a Pod network that n has lost to another Node that was announced with it, or to none.
func (l *ledger) inherit(n *node, p netip.Prefix) error {
	heir := l.owner(p)
	switch {
	case heir == nil:
		return l.dp.RemovePodNetwork(p)
	case heir.serial < n.serial:
		return l.dp.AddPodNetwork(p, heir.slot)
	}
	return nil // n had lost it to another Node earlier
}

// owner returns the Node that a Pod network leads to, or nil. The controller of Nodes gives a network to one Node at a time. If
// several have it nevertheless, it leads to the one announced last, whose OpenFlow flow has replaced the others' flows.
func (l *ledger) owner(p netip.Prefix) (last *node) {
	for _, n := range l.eachNode() {
		if slices.Contains(n.PodCIDRs, p) && (last == nil || n.serial > last.serial) {
			last = n
		}
	}
	return last
}

// eachNode returns all Nodes, by slot. The caller holds mu.
func (l *ledger) eachNode() []*node {
	return slices.DeleteFunc(slices.Clone(l.slotNodes[:]), func(n *node) bool { return n == nil })
}
