// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// Config says which Services are handled, and where this agent is.
type Config struct {
	NodeName string
	// IPv4 and IPv6 say of which IP versions the Node's Pods are.
	IPv4, IPv6 bool
	// PodNetworks are the Pod networks of this Node.
	PodNetworks []netip.Prefix
	// ServiceProxyName is the value that the label service.kubernetes.io/service-proxy-name must have; empty: Services with
	// the label are left alone.
	ServiceProxyName string
	// SkipServices are left alone: each is a Service's namespace/name or one of its cluster IPs.
	SkipServices []string
	// LoadBalancerIPs: addresses of load balancers are handled.
	LoadBalancerIPs bool
	// NodeHints: the Endpoints' hints for Nodes (trafficDistribution PreferSameNode) are followed.
	NodeHints bool
	// EndUDP: UDP connections to removed Endpoints and Services are ended.
	EndUDP bool
	// ProxyAll: connections from the Node and from outside are also handled. It needs a Host (SetHost).
	ProxyAll bool
	// NodeAddresses are the addresses of this Node, Gateways the sources that its connections to Services have instead.
	NodeAddresses, Gateways []netip.Addr
	// NeededServices are Services whose Endpoints this Node depends on, with a name such as "the Kubernetes API".
	NeededServices map[types.NamespacedName]string
	// Multicluster: Services that come from other clusters may have addresses of Services of this cluster as Endpoints.
	Multicluster bool
	// RewritePort is the port, of TCP and UDP, of packets that ONCache rewrites (oncache.rewritePort); 0 without ONCache.
	RewritePort uint16
	// Cache also holds connections that must end; nil without ONCache.
	Cache ConnectionCache
}

// key names a Service.
type key = types.NamespacedName

// family is an IP version.
type family uint8

const (
	ipv4 family = iota
	ipv6
)

var families = []family{ipv4, ipv6}

func (f family) String() string {
	if f == ipv6 {
		return "IPv6"
	}
	return "IPv4"
}

func familyOf(addr netip.Addr) family {
	if addr.Is6() {
		return ipv6
	}
	return ipv4
}

// enabled reports whether Pods of this Node have the IP version.
func (c *Config) enabled(f family) bool {
	if f == ipv6 {
		return c.IPv6
	}
	return c.IPv4
}

// skips reports whether the configuration excludes the Service.
func (c *Config) skips(k key, clusterIPs []string) bool {
	return slices.ContainsFunc(c.SkipServices, func(skip string) bool { return skip == k.String() || slices.Contains(clusterIPs, skip) })
}

// parseIngress is parseAddr for addresses of load balancers, which may be link-local for IPv4.
func parseIngress(text string) (netip.Addr, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Is4() && addr.IsLinkLocalUnicast() && !config.IsVirtual(addr) {
		return addr, nil
	}
	return parseAddr(text)
}

// parseAddr reads an address as the Kubernetes API has it in canonical form.
func parseAddr(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return addr, fmt.Errorf("%q is not an IP address", text)
	}
	what := config.NoHostAddress(addr)
	if addr.Is4In6() {
		what = "an IPv4 address written as an IPv6 one"
	}
	if what == "" {
		return addr, nil
	}
	return addr, fmt.Errorf("%s is %s", addr, what)
}

// parsePort checks the number of a port.
func parsePort(number int32) (uint16, error) {
	if number < 1 || number > 65535 {
		return 0, fmt.Errorf("port %d is out of range, want 1 to 65535", number)
	}
	return uint16(number), nil
}
