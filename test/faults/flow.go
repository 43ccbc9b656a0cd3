// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

// pattern is a kind of traffic.
type pattern string

const (
	// stream is one long TCP connection, whose contents are verified.
	stream pattern = "TCP stream"
	// ping is one UDP flow of numbered datagrams, each of which is answered.
	ping pattern = "UDP"
	// requests is one long TCP connection with one request at a time.
	requests pattern = "requests"
	// short makes a TCP connection for each request.
	short pattern = "short connections"
)

var patterns = []pattern{stream, ping, requests, short}

// flow is traffic of one pattern from the client to a server that flows all the time.
type flow struct {
	pattern pattern
	// within is set when both Pods are on the first Node. Otherwise the server is on the second one.
	within bool
	// service is set when the client connects to a Service whose only Endpoint is the server.
	service bool
}

func (f flow) String() string {
	name := string(f.pattern)
	if f.within {
		name += " within the Node"
	} else {
		name += " between Nodes"
	}
	if f.service {
		name += " through a Service"
	}
	return name
}

// established reports whether the flow is one connection that lasts.
func (f flow) established() bool { return f.pattern != short }

// counted reports whether each lost packet of the flow is known. TCP's repairs are known only roughly: after a
// standstill of the machine the kernel takes some segments for lost that were slow.
func (f flow) counted() bool { return f.pattern == ping || f.pattern == short }

// allFlows are all combinations.
func allFlows() (flows []flow) {
	for _, p := range patterns {
		for _, within := range []bool{false, true} {
			for _, service := range []bool{false, true} {
				flows = append(flows, flow{p, within, service})
			}
		}
	}
	return flows
}

// The flows that a kind of event concerns.
func none(flow) bool { return false }

func every(flow) bool { return true }

func between(f flow) bool { return !f.within }

func opening(f flow) bool { return !f.established() }
