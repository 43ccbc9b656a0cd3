// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/controller/noderoute"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// minServiceBits is the shortest prefix that kube-apiserver accepts for Services of IPv4.
const minServiceBits = 12

// input is all that a decision depends on.
type input struct {
	// node is this Node.
	node     string
	gateways []*v1alpha1.Gateway
	imports  []*v1alpha1.ClusterInfoImport
	// nodes are the Pod networks and addresses of this cluster's Nodes.
	nodes map[string]noderoute.Accepted
	// needed are addresses that this Node depends on.
	needed []dependency.Address
	// podToPod is set if Pods of other clusters are connected as well as Services.
	podToPod bool
	// port is the UDP port at which gateway Nodes receive encrypted packets; 0 if what crosses clusters is not encrypted.
	port uint16
}

// object identifies an object of the Namespace.
type object struct{ kind, name string }

// decision says which way leads to which cluster.
type decision struct {
	// gateway is the gateway Node, empty for none, and source its address in other clusters if it is this Node.
	gateway string
	source  netip.Addr
	// clusters are in the order of their names.
	clusters []openflow.Cluster
	// addresses are gateway Nodes of all clusters, to which others may send tunnel packets, in order.
	addresses []netip.Addr
	// refused are the objects that cannot be used, or whose Pod networks cannot, and why.
	refused map[object]error
	// secret is set with encryption only.
	secret *secret
	// published is the public key in the Gateway of this Node, if that is the gateway Node.
	published string
}

// sameWays reports whether both lead to the same clusters in the same way.
func (d *decision) sameWays(e *decision) bool {
	return d.source == e.source && slices.EqualFunc(d.clusters, e.clusters, func(a, b openflow.Cluster) bool {
		return a.Name == b.Name && a.Gateway == b.Gateway && a.Peer == b.Peer && slices.Equal(a.Networks, b.Networks)
	})
}

// gateway is a Gateway that can be used.
type gateway struct {
	node               string
	external, internal netip.Addr
	services           netip.Prefix
	// key is the public key, as it is written.
	key string
}

// decide returns clusters to which no way leads if there is no gateway: what is for them must not leave by another way.
func decide(in input) *decision {
	d := &decision{refused: map[object]error{}}
	own := in.gateway(d.refused)
	if own == nil {
		own = &gateway{}
	} else {
		d.gateway, d.addresses = own.node, []netip.Addr{own.external, own.internal}
		if own.node == in.node {
			d.source, d.published = own.external, own.key
		}
	}
	var connected []*v1alpha1.ClusterInfoImport
	imports := slices.Clone(in.imports)
	sortByAge(imports)
	for _, i := range imports {
		c, err := readCluster(i)
		if err == nil {
			err = in.refuses(c, own, d.clusters)
		}
		if err != nil {
			d.refused[object{v1alpha1.ClusterInfoImportKind, i.Name}] = withoutEffect(err)
			continue
		}
		if c.Peer = own.internal; d.source.IsValid() {
			c.Peer = c.Gateway
		}
		d.clusters, connected = append(d.clusters, c), append(connected, i)
		if c.Peer.IsValid() {
			d.addresses = append(d.addresses, c.Gateway)
		}
	}
	if in.podToPod {
		d.connectPods(in, imports, own)
	}
	if in.port != 0 {
		d.encrypt(in.port, own, connected)
	}
	slices.SortFunc(d.clusters, func(a, b openflow.Cluster) int { return cmp.Compare(a.Name, b.Name) })
	d.addresses = union(d.addresses, nil)
	return d
}

func withoutEffect(err error) error { return fmt.Errorf("it has no effect: %w", err) }

func sortByAge(imports []*v1alpha1.ClusterInfoImport) {
	slices.SortFunc(imports, func(a, b *v1alpha1.ClusterInfoImport) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// gateway returns the cluster's gateway, nil if there is none: of several, the oldest that can be used. All Nodes choose the same one.
func (in *input) gateway(refused map[object]error) (chosen *gateway) {
	gateways := slices.Clone(in.gateways)
	slices.SortFunc(gateways, func(a, b *v1alpha1.Gateway) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	for _, g := range gateways {
		read, err := readGateway(g)
		if err == nil {
			err = in.refusesGateway(read)
		}
		if err == nil && chosen != nil {
			err = fmt.Errorf("%s is the gateway Node: a cluster has one", chosen.node)
		}
		if err != nil {
			refused[object{v1alpha1.GatewayKind, g.Name}] = withoutEffect(err)
		} else {
			chosen = read
		}
	}
	return chosen
}

// refusesGateway returns why a gateway has addresses that are not its Node's; nil if it may have them. The address for other clusters may be
// outside this one.
func (in *input) refusesGateway(g *gateway) error {
	if !slices.Contains(in.nodes[g.node].Addresses, g.internal) {
		return fmt.Errorf("internalIP %v is not an address of Node %s, which has %v", g.internal, g.node, in.nodes[g.node].Addresses)
	}
	if slices.Contains(in.nodes[g.node].Addresses, g.external) {
		return nil
	}
	var errs []error
	taken := func(what string) {
		errs = append(errs, fmt.Errorf("gatewayIP %v is %s of this cluster", g.external, what))
	}
	if g.services.Contains(g.external) {
		taken("in the Service network")
	}
	for _, node := range in.nodes {
		if slices.ContainsFunc(node.Networks, func(n netip.Prefix) bool { return n.Contains(g.external) }) {
			taken("in a Pod network")
		}
		if slices.Contains(node.Addresses, g.external) {
			taken("an address of another Node")
		}
	}
	for _, a := range in.needed {
		if a.Addr == g.external {
			taken(a.What)
		}
	}
	return first(errs)
}

func readGateway(g *v1alpha1.Gateway) (*gateway, error) {
	external, err := nodeAddress("gatewayIP", g.GatewayIP)
	if err != nil {
		return nil, err
	}
	internal, err := nodeAddress("internalIP", g.InternalIP)
	if err != nil {
		return nil, err
	}
	services, err := serviceNetwork("serviceCIDR", g.ServiceCIDR)
	if err != nil {
		return nil, err
	}
	read := &gateway{node: g.Name, external: external, internal: internal, services: services}
	if g.WireGuard != nil {
		read.key = g.WireGuard.PublicKey
	}
	return read, nil
}

// readCluster returns the cluster without the way to it.
func readCluster(i *v1alpha1.ClusterInfoImport) (c openflow.Cluster, err error) {
	if c.Name = i.Spec.ClusterID; c.Name == "" {
		return c, fmt.Errorf("spec.clusterID is empty")
	}
	if len(i.Spec.GatewayInfos) != 1 {
		return c, fmt.Errorf("spec.gatewayInfos has %d items, want 1: the cluster has no gateway Node, or more than this version knows", len(i.Spec.GatewayInfos))
	}
	if c.Gateway, err = nodeAddress("spec.gatewayInfos[0].gatewayIP", i.Spec.GatewayInfos[0].GatewayIP); err != nil {
		return c, err
	}
	network, err := serviceNetwork("spec.serviceCIDR", i.Spec.ServiceCIDR)
	c.Networks = []netip.Prefix{network}
	return c, err
}

func nodeAddress(field, text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is4() {
		return addr, fmt.Errorf("%s is %q, want an IPv4 address", field, shorten(text))
	}
	if err := config.CheckNodeAddress(addr); err != nil {
		return addr, fmt.Errorf("%s: %w", field, err)
	}
	return addr, nil
}

func serviceNetwork(field, text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	if err != nil || !network.Addr().Is4() {
		return network, fmt.Errorf("%s is %q, want an IPv4 network such as 10.96.0.0/12", field, shorten(text))
	}
	if err := config.CheckPodCIDR(network); err != nil {
		return network, fmt.Errorf("%s: %w", field, err)
	}
	if network.Bits() < minServiceBits {
		return network, fmt.Errorf("%s is %s, want a prefix of at least %d bits, as Kubernetes does", field, text, minServiceBits)
	}
	return network.Masked(), nil
}

// refuses returns why the cluster must not be connected beside what this one has and the clusters that are; nil if it may.
func (in *input) refuses(c openflow.Cluster, own *gateway, clusters []openflow.Cluster) error {
	network := c.Networks[0]
	takes := func(addr netip.Addr, what string) error {
		switch {
		case addr == c.Gateway:
			return fmt.Errorf("its gateway address %v is %s of this cluster", addr, what)
		case network.Contains(addr):
			return fmt.Errorf("its Service network %v contains %v, %s of this cluster", network, addr, what)
		}
		return nil
	}
	overlaps := func(other netip.Prefix, what string) error {
		switch {
		case other.Overlaps(network):
			return fmt.Errorf("its Service network %v overlaps %v, %s", network, other, what)
		case other.Contains(c.Gateway):
			return fmt.Errorf("its gateway address %v is in %v, %s", c.Gateway, other, what)
		}
		return nil
	}
	var errs []error
	if own.node != "" {
		errs = append(errs, overlaps(own.services, "the Service network of this cluster"), takes(own.external, "the gateway"), takes(own.internal, "the gateway"))
	}
	if network.Contains(c.Gateway) {
		errs = append(errs, fmt.Errorf("its gateway address %v is in its Service network %v", c.Gateway, network))
	}
	for _, node := range in.nodes {
		for _, n := range node.Networks {
			errs = append(errs, overlaps(n, "a Pod network of this cluster"))
		}
		for _, addr := range node.Addresses {
			errs = append(errs, takes(addr, "an address of a Node"))
		}
	}
	for _, a := range in.needed {
		errs = append(errs, takes(a.Addr, a.What))
	}
	for _, other := range clusters {
		if other.Name == c.Name {
			errs = append(errs, fmt.Errorf("another ClusterInfoImport is about cluster %s", c.Name))
		}
		errs = append(errs, overlaps(other.Networks[0], "the Service network of cluster "+other.Name))
		if other.Gateway == c.Gateway || network.Contains(other.Gateway) {
			errs = append(errs, fmt.Errorf("its addresses include %v, the gateway of cluster %s", other.Gateway, other.Name))
		}
	}
	return first(errs)
}

// first returns the least of the errors by their text, which does not depend on the order of maps; nil if there is none.
func first(errs []error) (least error) {
	for _, err := range errs {
		if err != nil && (least == nil || err.Error() < least.Error()) {
			least = err
		}
	}
	return least
}

// shorten bounds what others have written, for messages.
func shorten(text string) string {
	const longest = 64
	if len(text) <= longest {
		return text
	}
	return text[:longest] + "..."
}
