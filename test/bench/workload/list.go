// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

// Core are the workloads that every network is measured with.
func Core(m Machine) []Workload {
	return []Workload{
		requestResponse("tcp", 1),
		requestResponse("udp", 1),
		connectRequestResponse(m),
		bulk("tcp", 1, defaultWrite),
		bulk("udp", 1, datagram),
	}
}

// All are the workloads of the first network. Those that fill the caches come last.
func All(m Machine) []Workload {
	all := Core(m)
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
	return all
}

// Versions asks the tools of results for their versions.
func Versions(any) map[string]string { return nil }
