// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// path is a way from the client to the server: where the server is, and which address the client connects to. An area runs on the path
// of its suite: s.server is the server there, and s.flow and s.address have the addresses.
type path struct {
	// name is part of the names of areas and Services.
	name string
	// sameNode is set when the server is on the client's Node.
	sameNode bool
	// service is set when the client connects to a cluster IP whose only Endpoint is the server.
	service bool
	// shift is added to the client's ports: conntrack remembers a connection to a Service for two minutes, and drops one to its Endpoint
	// with the same ports.
	shift uint16
}

var (
	direct                 = &path{"Direct", false, false, 0}
	throughService         = &path{"ThroughService", false, true, 5000}
	sameNode               = &path{"SameNode", true, false, 10000}
	sameNodeThroughService = &path{"SameNodeThroughService", true, true, 15000}

	everyPath  = []*path{direct, throughService, sameNode, sameNodeThroughService}
	otherPaths = everyPath[1:]
)

// streamPaths are the paths of connections that continue while Nodes change. Each costs half a minute or more, in all
// such areas together several minutes.
func streamPaths() []*path {
	if all {
		return everyPath
	}
	return []*path{direct, sameNodeThroughService}
}

// isWithin reports whether both ends of a flow are on one Node.
func (s *suite) isWithin(f flow) bool { return s.nodeOf(f.client.Addr()) == s.nodeOf(f.server.Addr()) }

// nodeOf returns the Node that has a Pod's address.
func (s *suite) nodeOf(ip netip.Addr) *cluster.Node {
	for _, n := range s.Nodes {
		if slices.ContainsFunc(n.PodCIDRs, func(cidr netip.Prefix) bool { return cidr.Contains(ip) }) {
			return n
		}
	}
	panic(fmt.Sprintf("%s is in no Node's Pod network", ip))
}

// nodesOf returns the Nodes of both ends of a flow: the client's and the server's, or one if they are the same.
func (s *suite) nodesOf(f flow) []*cluster.Node {
	return slices.Compact([]*cluster.Node{s.nodeOf(f.client.Addr()), s.nodeOf(f.server.Addr())})
}

// pathPort is a port on which servers of areas listen.
type pathPort struct {
	protocol corev1.Protocol
	port     uint16
}

// pathPorts are the ports of the Services of paths.
var pathPorts = []pathPort{
	{corev1.ProtocolTCP, sinkPort}, {corev1.ProtocolTCP, closedPort}, {corev1.ProtocolTCP, idlePort}, {corev1.ProtocolTCP, streamSinkPort},
	{corev1.ProtocolUDP, udpEchoPort},
}

// clusterPort is the port of a Service for a server's port. They differ, so that ports are also translated.
func clusterPort(port uint16) uint16 { return port + 1000 }

// over tests areas on other paths than the direct one.
func (s *suite) over(t *testing.T, paths []*path, areas ...area) {
	defer s.use(s.path)
	for _, p := range paths {
		s.use(p)
		for _, a := range areas {
			s.run(t, area{a.name + p.name, a.test})
		}
	}
}

// use makes areas use a path from here on.
func (s *suite) use(p *path) { s.path, s.server = p, s.serverOn(p) }

func (s *suite) serverOn(p *path) *cluster.Pod {
	if p.sameNode {
		return s.near
	}
	return s.far
}

// flow is a connection from the client to the server, on the suite's path.
func (s *suite) flow(proto string, clientPort, serverPort uint16) flow {
	return s.flowOn(s.path, proto, clientPort, serverPort)
}

func (s *suite) flowOn(p *path, proto string, clientPort, serverPort uint16) flow {
	f := flow{
		proto: proto, client: netip.AddrPortFrom(s.client.IP, clientPort+p.shift), server: netip.AddrPortFrom(s.serverOn(p).IP, serverPort),
	}
	if p.service {
		f.service = netip.AddrPortFrom(s.clusterIP(p), clusterPort(serverPort))
	}
	return f
}

// address is the address to which Pods on the client's Node connect for a port of the server.
func (s *suite) address(port uint16) netip.AddrPort { return s.flow("", 0, port).dialed() }

func (s *suite) clusterIP(p *path) netip.Addr {
	for _, ip := range s.clusterIPs[p] {
		if ip.Is6() == s.ipv6 {
			return ip
		}
	}
	panic(fmt.Sprintf("the Service of path %s has no such address: %v", p.name, s.clusterIPs[p]))
}

// makePaths makes the server on the client's Node, and the Services. They last as long as the cluster.
func (s *suite) makePaths(t *testing.T) {
	t.Helper()
	s.near = s.createPod(t, s.node1, "near")
	s.clusterIPs = map[*path][]netip.Addr{}
	for _, p := range everyPath {
		if p.service {
			s.makePathService(t, p)
		}
	}
	s.use(direct)
}

func (s *suite) makePathService(t *testing.T, p *path) {
	t.Helper()
	server, name := s.serverOn(p), p.serviceName()
	var ports []servicePort
	for _, port := range pathPorts {
		ports = append(ports, servicePort{port.protocol, clusterPort(port.port), port.port})
	}
	ips := s.makeService(t, name, server.IPs, ports)
	s.clusterIPs[p] = ips
	var endpoints []endpoint
	var wanted []translation
	for i, ip := range server.IPs {
		endpoints = append(endpoints, endpoint{ip, server.Node})
		for _, p := range ports {
			wanted = append(wanted, translation{p.protocol, netip.AddrPortFrom(ips[i], p.port), netip.AddrPortFrom(ip, p.target)})
		}
	}
	s.publish(t, name, ports, endpoints...)
	s.waitTranslated(t, s.node1, wanted)
}

// serviceName is the name of the path's Service.
func (p *path) serviceName() string {
	if p.sameNode {
		return "path-within"
	}
	return "path-across"
}

// hops is the number of times that a packet from client to server is routed: by Open vSwitch of each of two Nodes; without the tunnel by Open vSwitch
// of the client's and by both hosts; or once where only the address differs.
func (s *suite) hops(p *path) int {
	switch {
	case !p.sameNode && s.mode == "":
		return 2
	case !p.sameNode:
		return 3
	case p.service:
		return 1
	}
	return 0
}
