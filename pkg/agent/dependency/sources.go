// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
)

const (
	// interval is the time between two reads of the sources, lookupTimeout limits the resolution of a host name.
	interval      = 30 * time.Second
	lookupTimeout = 5 * time.Second
	// maxPeers limits the latest addresses of a server that are remembered.
	maxPeers = 16
	dnsPort  = 53
)

// Metadata are the addresses at which clouds give a Node, and Pods, their identity and credentials. Alibaba's 100.100.100.200 is missing: Pods and
// Services may have the shared address space that it is in.
var Metadata = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("fd00:ec2::254"), // most clouds; Amazon EC2
	netip.MustParseAddr("169.254.170.23"), netip.MustParseAddr("fd00:ec2::23"), // Amazon EKS Pod Identity
	netip.MustParseAddr("169.254.170.2"),                                           // Amazon ECS
	netip.MustParseAddr("168.63.129.16"),                                           // Azure's WireServer
	netip.MustParseAddr("fd20:ce::254"), netip.MustParseAddr("fd00:c1::a9fe:a9fe"), // Google, Oracle
}

// NameServer is Address.What of the Node's name servers, API of the Kubernetes API.
const (
	NameServer = "a name server of the Node"
	API        = "the Kubernetes API"
)

// Endpoint is a server that the agent is configured with.
type Endpoint struct {
	// Host is a name or an address, Port the port. A server without Host is known by its connections only.
	Host string
	Port uint16
	// These have the meaning of Address's fields.
	What, Service string
}

// Sources find what the Node depends on. Of what cannot be read or resolved, they keep what they knew.
type Sources struct {
	Servers []Endpoint
	// OwnAddresses are addresses of the Node, OwnPorts the ports on it that no Service may have, with their use.
	OwnAddresses []netip.Addr
	OwnPorts     map[uint16]string
	// Gateway is the name of the agent's own device: next hops of routes there are other Nodes' gateways.
	Gateway string
	// ResolvConf is the file with the Node's name servers, see resolv.conf(5).
	ResolvConf string

	mu sync.Mutex
	// peers are the latest addresses of connections to a server, resolved the addresses of its name, each by
	// Endpoint.What. nameServers and nextHops are the last ones that could be read.
	peers                 map[string][]netip.AddrPort
	resolved              map[string][]netip.Addr
	nameServers, nextHops []netip.Addr
	wake                  chan struct{}
}

// NewSources returns Sources that use the Node's files.
func NewSources() *Sources {
	return &Sources{ResolvConf: "/etc/resolv.conf", peers: map[string][]netip.AddrPort{}, resolved: map[string][]netip.Addr{}, wake: make(chan struct{}, 1)}
}

// Wrap returns what makes a transport tell the addresses of the connections that it uses to the server.
func (s *Sources) Wrap(what string) func(http.RoundTripper) http.RoundTripper {
	return func(inner http.RoundTripper) http.RoundTripper { return &observed{inner, s, what} }
}

// observed is a transport whose connections are noted.
type observed struct {
	http.RoundTripper
	sources *Sources
	what    string
}

// WrappedRoundTripper is required by k8s.io/apimachinery's net package.
func (o *observed) WrappedRoundTripper() http.RoundTripper { return o.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (o *observed) RoundTrip(request *http.Request) (*http.Response, error) {
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if peer, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
			o.sources.note(o.what, netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port()))
		}
	}}
	return o.RoundTripper.RoundTrip(request.WithContext(httptrace.WithClientTrace(request.Context(), trace)))
}

func (s *Sources) note(what string, peer netip.AddrPort) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.peers[what], peer) {
		return
	}
	peers := append(s.peers[what], peer)
	s.peers[what] = slices.Clone(peers[max(0, len(peers)-maxPeers):])
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// Run reads the sources now and then, and after a connection to a new address, and gives the result to set, until ctx ends.
func (s *Sources) Run(ctx context.Context, set func([]Address)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		s.Read(ctx)
		set(s.Addresses())
		select {
		case <-ctx.Done():
		case <-ticker.C:
		case <-s.wake:
		}
	}
}

// Read reads the sources once. Errors are logged.
func (s *Sources) Read(ctx context.Context) {
	nameServers, err := readNameServers(s.ResolvConf)
	if err != nil {
		klog.ErrorS(err, "Could not read the Node's name servers")
	}
	nextHops, errHops := readNextHops(s.Gateway)
	if errHops != nil {
		klog.ErrorS(errHops, "Could not read the Node's next hops")
	}
	resolved := map[string][]netip.Addr{}
	for _, server := range s.Servers {
		if addrs, err := lookUp(ctx, server.Host); err == nil {
			resolved[server.What] = append(resolved[server.What], addrs...)
		} else {
			klog.V(2).InfoS("Could not resolve the name of a server", "host", server.Host, "reason", err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.nameServers = nameServers
	}
	if errHops == nil {
		s.nextHops = nextHops
	}
	for what, addrs := range resolved {
		s.resolved[what] = addrs
	}
}

func lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if host == "" {
		return nil, nil
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	for i := range addrs {
		addrs[i] = addrs[i].Unmap()
	}
	return addrs, err
}

// Addresses returns what the Node depends on, in order, as far as the last Read and the connections since have told.
func (s *Sources) Addresses() (all []Address) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range s.Servers {
		for _, addr := range s.resolved[server.What] {
			all = append(all, Address{addr, server.Port, Server, server.What, server.Service})
		}
		for _, peer := range s.peers[server.What] {
			all = append(all, Address{peer.Addr(), peer.Port(), Server, server.What, server.Service})
		}
	}
	for _, addr := range s.nameServers {
		all = append(all, Address{addr, dnsPort, Server, NameServer, ""})
	}
	for _, addr := range s.nextHops {
		all = append(all, Address{addr, 0, Host, "a next hop of the Node", ""})
	}
	for _, addr := range Metadata {
		all = append(all, Address{addr, 0, Server, "the metadata service of clouds", NoService})
	}
	for _, addr := range s.OwnAddresses {
		for port, what := range s.OwnPorts {
			all = append(all, Address{addr, port, Server, what, NoService})
		}
	}
	slices.SortFunc(all, func(a, b Address) int { return cmp.Or(a.Addr.Compare(b.Addr), compare(a, b)) })
	return slices.Compact(all)
}

// readNameServers reads the servers of resolv.conf(5). A file that does not exist names none.
func readNameServers(path string) (servers []netip.Addr, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 || fields[0] != "nameserver" {
			continue
		}
		if addr, err := netip.ParseAddr(fields[1]); err == nil {
			servers = append(servers, addr.Unmap().WithZone(""))
		}
	}
	return servers, lines.Err()
}

// readNextHops returns the gateways of all routes of the table main, except the routes of one device.
func readNextHops(except string) (hops []netip.Addr, err error) {
	own := -1
	if link, err := netlink.LinkByName(except); err == nil {
		own = link.Attrs().Index
	}
	for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
		routes, err := rtnl.Dump(func() ([]netlink.Route, error) { return netlink.RouteList(nil, family) })
		if err != nil {
			return nil, fmt.Errorf("list routes: %w", err)
		}
		for _, r := range routes {
			if r.LinkIndex == own {
				continue
			}
			gateways := []net.IP{r.Gw, viaAddress(r.Via)}
			for _, hop := range r.MultiPath {
				gateways = append(gateways, hop.Gw, viaAddress(hop.Via))
			}
			for _, gateway := range gateways {
				if addr, ok := netip.AddrFromSlice(gateway); ok && !slices.Contains(hops, addr.Unmap()) {
					hops = append(hops, addr.Unmap())
				}
			}
		}
	}
	return hops, nil
}

// viaAddress is the next hop of another IP version than the route (RTA_VIA), or nil.
func viaAddress(destination netlink.Destination) net.IP {
	if via, ok := destination.(*netlink.Via); ok {
		return via.Addr
	}
	return nil
}
