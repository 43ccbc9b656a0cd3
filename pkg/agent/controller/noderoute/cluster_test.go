// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/reach"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// refusedNode is the Node whose flows every switch of the test refuses.
const refusedNode = "refused"

// testHost is the host and the switch of one agent. It fails the test when two Nodes have flows or routes for one packet.
type testHost struct {
	openflow.Client
	sw  *of.Fake
	own string

	mutex     sync.Mutex
	flows     map[string][]netip.Prefix
	routes    map[netip.Prefix]string
	addresses map[string][]netip.Addr
	wrong     []string
}

func (h *testHost) InstallNodeFlows(node string, peers map[netip.Prefix]openflow.Peer) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for cidr, p := range peers {
		for other, cidrs := range h.flows {
			if other != node && slices.ContainsFunc(cidrs, cidr.Overlaps) {
				h.wrong = append(h.wrong, fmt.Sprintf("flows of %s to %s, while %s has some to %v", node, cidr, other, cidrs))
			}
		}
		if !slices.Contains(h.addresses[node], p.Reach.Address) {
			h.wrong = append(h.wrong, fmt.Sprintf("flows of %s lead to %s before that is known to be an address of a Node", node, p.Reach.Address))
		}
	}
	if node == refusedNode {
		return &of.FlowError{Flow: "f", Err: errors.New("refused")}
	}
	h.flows[node] = slices.Collect(maps.Keys(peers))
	return h.Client.InstallNodeFlows(node, peers)
}

func (h *testHost) UninstallNodeFlows(node string) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.flows, node)
	return h.Client.UninstallNodeFlows(node)
}

func (h *testHost) SetNodeAddresses(node string, addresses []netip.Addr) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.addresses[node] = slices.Clone(addresses); len(addresses) == 0 {
		delete(h.addresses, node)
	}
	return nil
}

func (h *testHost) AddRoutes(cidr netip.Prefix, node string, _ reach.Reach, _ netip.Addr) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	for other, name := range h.routes {
		if name != node && other.Overlaps(cidr) {
			h.wrong = append(h.wrong, fmt.Sprintf("route of %s to %s, while %s has one to %s", node, cidr, name, other))
		}
	}
	h.routes[cidr] = node
	return nil
}

func (h *testHost) DeleteRoutes(cidr netip.Prefix) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	delete(h.routes, cidr)
	return nil
}

func (h *testHost) Guard(string, []netip.Prefix) error { return nil }

func (h *testHost) Reconcile([]netip.Prefix) error { return nil }

// others returns the addresses of other Nodes, as text. Addresses of this Node are only ever added.
func (h *testHost) others() map[string]string {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	others := map[string]string{}
	for name, addresses := range h.addresses {
		if name != h.own {
			others[name] = fmt.Sprint(addresses)
		}
	}
	return others
}

// testAgent is the controller of one Node with its host.
type testAgent struct {
	*Controller
	host     *testHost
	problems *problem.Recorder
	stop     func()
}

func startAgent(t *testing.T, client *fake.Clientset, index int) *testAgent {
	t.Helper()
	host := &testHost{sw: of.NewFake(), own: nodeName(index), flows: map[string][]netip.Prefix{}, routes: map[netip.Prefix]string{}, addresses: map[string][]netip.Addr{}}
	host.Client = openflow.NewClient(host.sw, func(map[uint8]string) error { return nil }, openflow.Features{})
	cidr, address := honest(index)
	own := &config.NodeConfig{Name: nodeName(index), OVSBridge: "br-int", PodIPv4CIDR: cidr, TunnelOFPort: config.TunnelOFPort,
		Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, IPv4: gatewayOf(cidr), OFPort: config.GatewayOFPort},
		Uplink:  config.Uplink{IPv4: netip.PrefixFrom(address, 24)}}
	network := &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true}
	_, err := host.Initialize(t.Context(), openflow.RoundInfo{RoundNum: 5}, own, network)
	require.NoError(t, err)
	a := &testAgent{host: host, problems: problem.NewRecorder()}
	factory := informers.NewSharedInformerFactory(client, 0)
	a.Controller, err = New(factory.Core().V1().Nodes(), host, host, network, own, a.problems)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	factory.Start(ctx.Done())
	// The fake API loses events between the list and the watch.
	synctest.Wait()
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx)
	}()
	a.stop = func() {
		// Informers that have not synced yet would report an error, and wait for a time outside the bubble.
		time.Sleep(time.Second)
		cancel()
		<-done
		factory.Shutdown()
	}
	return a
}

func nodeName(index int) string { return fmt.Sprintf("node-%d", index) }

// honest returns the Pod network and the address of a correct Node.
func honest(index int) (netip.Prefix, netip.Addr) {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 10, byte(index), 0}), 24), netip.AddrFrom4([4]byte{192, 168, 0, byte(10 + index)})
}

// testCluster makes and changes Node objects. The first Nodes have agents, and their objects are honest.
type testCluster struct {
	*rand.Rand
	client *fake.Clientset
	nodes  map[string]*corev1.Node
	liars  map[string]bool
	serial int
}

const (
	testAgents = 3
	testNodes  = 10
)

func (c *testCluster) pick(texts ...string) string { return texts[c.IntN(len(texts))] }

// make makes an object. Its age is random: agents do not see Nodes in the order of their creation.
func (c *testCluster) make(name string, index int, lies bool) *corev1.Node {
	c.serial++
	cidr, address := honest(index)
	n := node(name, address.String(), cidr.String())
	n.UID = types.UID(fmt.Sprintf("%04d-%d", c.IntN(10000), c.serial))
	n.CreationTimestamp = metav1.Unix(1000+int64(c.IntN(5)), 0)
	if lies {
		c.lie(n)
	}
	return n
}

// lie changes an object in one or two places.
func (c *testCluster) lie(n *corev1.Node) {
	other, address := honest(c.IntN(testNodes))
	for range 1 + c.IntN(2) {
		switch c.IntN(4) {
		case 0:
			n.Spec.PodCIDRs = []string{c.pick(other.String(), netip.PrefixFrom(other.Addr(), 25).String(), netip.PrefixFrom(other.Addr(), 23).Masked().String(),
				"10.10.0.0/16", "10.10.4.0/22", "0.0.0.0/0", "0.0.0.0/1", "192.168.0.0/16", netip.PrefixFrom(address, 31).Masked().String(), "127.0.0.0/8",
				"224.0.0.0/24", "::ffff:10.10.3.0/120", "nothing", other.String()[:5], netip.PrefixFrom(other.Addr().Next(), 24).String())}
			if c.IntN(4) == 0 {
				n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, c.pick("fd00:1::/64", "10.11.0.0/24", "garbage"))
			}
		case 1:
			n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: c.address(other, address)}}
		case 2:
			n.Annotations = map[string]string{TransportAddressesAnnotation: c.address(other, address)}
		case 3:
			n.Status.Addresses = nil
		}
	}
}

func (c *testCluster) address(cidr netip.Prefix, address netip.Addr) string {
	return c.pick(address.String(), cidr.Addr().Next().String(), "0.0.0.0", "127.0.0.1", "224.0.0.1", "169.254.1.1", "garbage", "fe80::1%e", "::ffff:"+address.String(), "fd00::1")
}

// step changes one Node.
func (c *testCluster) step(t *testing.T) {
	ctx, nodes := t.Context(), c.client.CoreV1().Nodes()
	index := c.IntN(testNodes)
	name := nodeName(index)
	if index == testNodes-1 {
		name = refusedNode
	}
	lies := index >= testAgents && c.IntN(3) == 0 // agents are compared by what they see of Nodes
	switch present := c.nodes[name]; {
	case present == nil || c.IntN(4) == 0 && present != nil: // also under the same name at once, with another UID
		if present != nil {
			require.NoError(t, nodes.Delete(ctx, name, metav1.DeleteOptions{}))
		}
		n := c.make(name, index, lies)
		_, err := nodes.Create(ctx, n, metav1.CreateOptions{})
		require.NoError(t, err)
		c.nodes[name], c.liars[name] = n, lies
	case c.IntN(3) == 0:
		require.NoError(t, nodes.Delete(ctx, name, metav1.DeleteOptions{}))
		delete(c.nodes, name)
		delete(c.liars, name)
	default:
		n := c.make(name, index, lies)
		n.UID, n.CreationTimestamp = present.UID, present.CreationTimestamp
		_, err := nodes.Update(ctx, n, metav1.UpdateOptions{})
		require.NoError(t, err)
		c.nodes[name], c.liars[name] = n, lies
	}
}

// winners computes from all objects, in the simplest way, which Node has which Pod network.
func (c *testCluster) winners() map[netip.Prefix]string {
	var all []*object
	for _, n := range c.nodes {
		all = append(all, readNode(n))
	}
	slices.SortFunc(all, func(a, b *object) int {
		if (&claim{node: a}).older(&claim{node: b}) {
			return -1
		}
		return 1
	})
	winners := map[netip.Prefix]string{}
	for _, o := range all {
		for _, cidr := range o.cidrs {
			inside := 0
			for _, other := range all {
				if other != o && slices.ContainsFunc(other.allAddresses(), cidr.Contains) {
					inside++
				}
			}
			taken := slices.ContainsFunc(slices.Collect(maps.Keys(winners)), cidr.Overlaps)
			if inside < crowd && !taken {
				winners[cidr] = o.name
			}
		}
	}
	return winners
}

// undisturbed returns the honest Nodes that no older Node's claim overlaps, and whose address is in no Pod network.
func (c *testCluster) undisturbed() map[string]bool {
	names := map[string]bool{}
	for name, n := range c.nodes {
		o := readNode(n)
		clean := !c.liars[name] && name != refusedNode
		for other, m := range c.nodes {
			if other == name {
				continue
			}
			p := readNode(m)
			olderOne := (&claim{node: p}).older(&claim{node: o})
			for _, cidr := range p.cidrs {
				if olderOne && slices.ContainsFunc(o.cidrs, cidr.Overlaps) || slices.ContainsFunc(o.allAddresses(), cidr.Contains) {
					clean = false
				}
			}
		}
		if clean {
			names[name] = true
		}
	}
	return names
}

func (a *testAgent) winners() map[netip.Prefix]string {
	a.claims.mutex.Lock()
	defer a.claims.mutex.Unlock()
	winners := map[netip.Prefix]string{}
	for cidr, c := range a.claims.winners.All() {
		winners[cidr] = c.node.name
	}
	return winners
}

// connections returns the connections to other Nodes, one text for each network.
func (a *testAgent) connections() map[string]bool {
	all := map[string]bool{}
	for _, p := range a.Peers() {
		for _, n := range p.Networks {
			all[fmt.Sprintf("%s %s %s", p.Name, n.CIDR, n.Reach.Address)] = true
		}
	}
	return all
}

func (a *testAgent) problemList() (all []string) {
	list, _ := a.problems.List()
	for _, p := range list {
		all = append(all, fmt.Sprintf("%s %s", p.Subject.Name, p.Reason))
	}
	return all
}

func (a *testAgent) isSynced() bool {
	select {
	case <-a.Synced():
		return true
	default:
		return false
	}
}

// quiet waits until agents have nothing to do except to retry what is refused.
func quiet() {
	synctest.Wait()
	time.Sleep(2 * maxRetryDelay) // the bubble's clock
	synctest.Wait()
}

// Nodes join, leave, change, lie, and are created again; agents restart. At each quiet point all agents agree regardless of
// the history, are as if they had just started, and connect the correct Nodes as if there were no others.
func TestRandomNodes(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testRandomNodes(t, seed) })
		})
	}
}

func testRandomNodes(t *testing.T, seed uint64) {
	c := &testCluster{Rand: rand.New(rand.NewPCG(seed, 0)), client: fake.NewClientset(), nodes: map[string]*corev1.Node{}, liars: map[string]bool{}}
	agents := make([]*testAgent, testAgents)
	for i := range agents {
		agents[i] = startAgent(t, c.client, i)
	}
	defer func() {
		for _, a := range agents {
			a.stop()
		}
	}()
	for range 12 {
		for range 1 + c.IntN(6) {
			c.step(t)
			if c.IntN(10) == 0 {
				i := c.IntN(testAgents)
				agents[i].stop()
				agents[i] = startAgent(t, c.client, i)
			}
			if c.IntN(2) == 0 {
				synctest.Wait()
			}
		}
		quiet()
		for i, a := range agents {
			checkAgent(t, c, a, i)
		}
	}
}

func checkAgent(t *testing.T, c *testCluster, a *testAgent, index int) {
	t.Helper()
	require.True(t, a.isSynced())
	require.Empty(t, a.host.wrong)
	require.Equal(t, c.winners(), a.winners())

	fresh := startAgent(t, c.client, index)
	defer fresh.stop()
	quiet()
	require.True(t, fresh.isSynced())
	require.Equal(t, fresh.problemList(), a.problemList())
	// A Node whose addresses have become wrong keeps the last correct one, which a new agent does not know.
	kept := a.connections()
	maps.DeleteFunc(kept, func(text string, _ bool) bool { return fresh.connections()[text] })
	for text := range kept {
		name, _, _ := strings.Cut(text, " ")
		require.Contains(t, fresh.problemList(), name+" "+string(ReasonNodeAddressInvalid), "%s is connected", text)
	}
	for text := range fresh.connections() {
		require.Contains(t, a.connections(), text)
	}
	if len(kept) == 0 {
		require.Equal(t, fresh.host.sw.Flows(), a.host.sw.Flows())
		require.Equal(t, fresh.host.routes, a.host.routes)
		require.Equal(t, fresh.host.others(), a.host.others())
	}

	// The cluster without the Nodes that lie or overlap.
	others := fake.NewClientset()
	undisturbed := c.undisturbed()
	for name := range undisturbed {
		require.NoError(t, others.Tracker().Add(c.nodes[name].DeepCopy()))
	}
	alone := startAgent(t, others, index)
	defer alone.stop()
	quiet()
	want := alone.connections()
	got := a.connections()
	maps.DeleteFunc(got, func(text string, _ bool) bool {
		name, _, _ := strings.Cut(text, " ")
		return !undisturbed[name]
	})
	require.Equal(t, want, got, "what is right is connected as if there were nothing else")
}
