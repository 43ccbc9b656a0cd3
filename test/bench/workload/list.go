// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"time"

	"github.com/antrea-oncache/antrea/test/bench/result"
)

// All are the workloads of the first network. Those that fill the caches come last.
func All(m Machine) []Workload {
	all := []Workload{
		requestResponse("tcp", 1),
		requestResponse("udp", 1),
		connectRequestResponse(m),
		fewLong(m),
		bulk("tcp", 1, defaultWrite),
		bulk("udp", 1, datagram),
	}
	for flows := 2; flows <= MaxFlows(m.CPUs); flows *= 2 {
		all = append(all, requestResponse("tcp", flows), requestResponse("udp", flows), bulk("tcp", flows, defaultWrite), bulk("udp", flows, datagram))
	}
	for _, bytes := range []int{1, 1 << 10, 8 << 10, 64 << 10} {
		all = append(all, messageSize("tcp", bytes))
	}
	for _, bytes := range []int{1, 1 << 10} {
		all = append(all, messageSize("udp", bytes))
	}
	for _, bytes := range []int{1 << 10, 8 << 10} {
		all = append(all, bulk("tcp", 1, bytes))
	}
	for _, rate := range LoadRates {
		all = append(all, atRate(m, "tcp", rate), atRate(m, "udp", rate))
	}
	all = append(all, memcached(), pgbench(m, "pgbench"), pgbench(m, "pgbench_select", "--select-only"), webKeepAlive(m), webConnections(m, 1), webConnections(m, clients),
		http3Bulk(m), http3Order(m), http3Requests(m))
	all = append(all, missesOnly(requestResponse("tcp", 1)), missesOnly(requestResponse("udp", 1)), missesOnly(connectRequestResponse(m)), missesOnly(bulk("tcp", 1, defaultWrite)))
	for _, flows := range []int{1e4, 1e6} {
		all = append(all, cached(flows, requestResponse("tcp", 1)), cached(flows, bulk("tcp", 1, defaultWrite)))
	}
	const policyChanges = time.Second / 100
	return append(all, cached(1e6, connectRequestResponse(m)), evicted(1e6, 100*time.Millisecond, bulk("tcp", 1, defaultWrite)),
		churned(policyChanges, requestResponse("tcp", 1)), churned(policyChanges, bulk("tcp", 1, defaultWrite)))
}

// Other are the workloads of other networks. sockperf does not support IPv6.
func Other(m Machine) []Workload {
	return []Workload{
		messageSize("tcp", 1),
		messageSize("udp", 1),
		connectRequestResponse(m),
		bulk("tcp", 1, defaultWrite),
		bulk("udp", 1, datagram),
	}
}

// Service are the workloads that are measured through a Service.
func Service(Machine) []Workload {
	return []Workload{requestResponse("tcp", 1), requestResponse("udp", 1), bulk("tcp", 1, defaultWrite)}
}

// Direct are the workloads that are also measured without a tunnel.
func Direct(m Machine) []Workload {
	return []Workload{
		requestResponse("tcp", 1),
		requestResponse("udp", 1),
		connectRequestResponse(m),
		bulk("tcp", 1, defaultWrite),
		bulk("udp", 1, datagram),
	}
}

// Peers are the workloads that are also measured with another network plugin.
func Peers(m Machine) []Workload {
	return []Workload{
		requestResponse("tcp", 1),
		requestResponse("udp", 1),
		bulk("tcp", 1, defaultWrite),
		connectRequestResponse(m),
		fewLong(m),
	}
}

// Cluster are the workloads of the bed ovs: the most significant ones for a machine that may be emulated.
func Cluster() []Workload {
	return []Workload{requestResponse("tcp", 1), requestResponse("udp", 1), bulk("tcp", 1, defaultWrite), bulk("udp", 1, datagram)}
}

// Connections is the workload that opens a connection for each request.
func Connections(m Machine) Workload { return connectRequestResponse(m) }

// ClusterNetwork is the network of the testbed's cluster. cpus says what the Nodes share.
func ClusterNetwork(podDevice, cpus string) result.Network {
	return result.Network{
		Families: "IPv4 in IPv4", Tunnel: "geneve", PodDevice: podDevice, WireDevice: "veth", PodMTU: 1450, WireMTU: 1500,
		SlowPath: "Open vSwitch, the kernel's datapath", CPUs: cpus,
	}
}

// Smoke are the workloads of the guard: one for each path through the cache. Datagrams in one direction take another path
// than request/response: iperf3's are answered once, too early to be learned from.
func Smoke(m Machine) []Workload {
	return []Workload{
		requestResponse("tcp", 1),
		requestResponse("udp", 1),
		bulk("tcp", 1, defaultWrite),
		bulk("udp", 1, datagram),
		connectRequestResponse(m),
		missesOnly(requestResponse("tcp", 1)),
	}
}
