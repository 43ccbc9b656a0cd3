// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// Marks of connections: bits 5 and 4 of Antrea's.
const (
	snatMark    = 1 << 5
	serviceMark = 1 << 4
)

// connectionOf is a connection of UDP from a client to a server, which sees the address seen.
func connectionOf(client, server, seen string, mark uint32) *conntrack.Connection {
	original := conntrack.Tuple{Source: addr(client), Destination: addr(server), Protocol: unix.IPPROTO_UDP, SourcePort: 5000, DestinationPort: 53}
	reply := original.Reversed()
	reply.Destination = addr(seen)
	return &conntrack.Connection{Original: original, Reply: reply, Mark: mark}
}

// TestRestartInAnotherRole: the first decision of an agent ends the connections that a former one translated in another role, or with another
// address, and no others.
func TestRestartInAnotherRole(t *testing.T) {
	const ownPod, otherPod, host, west, here = "10.244.0.5", "10.244.1.5", "10.244.0.1", "10.112.0.9", "10.96.0.9"
	// The local Pod is tracked as the gateway Node does it, as others do it, and as the gateway Node for the Pod of another Node.
	tracked := map[string]*conntrack.Connection{
		"marked": connectionOf(ownPod, west, ownPod, snatMark), "unmarked": connectionOf(otherPod, west, otherPod, 0),
		"local": connectionOf(ownPod, here, ownPod, 0), "host": connectionOf(host, west, host, snatMark|serviceMark),
	}
	for name, tc := range map[string]struct {
		gateway string
		// seen is the address that west saw.
		seen string
		ends []string
	}{
		"the same gateway Node":   {"n1", "192.0.2.1", []string{"unmarked"}},
		"another address":         {"n1", "192.0.2.7", []string{"marked", "translated", "unmarked"}},
		"gateway Node no more":    {"n2", "192.0.2.1", []string{"translated"}},
		"without gateway Node":    {"", "192.0.2.1", []string{"translated"}},
		"the same role, no flows": {"n2", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := &recorder{tracked: map[uint16][]*conntrack.Connection{openflow.ConntrackZoneIPv4: slices.Collect(maps.Values(tracked))}}
			names := map[*conntrack.Connection]string{}
			for name, entry := range tracked {
				names[entry] = name
			}
			translate := func(name string, entry *conntrack.Connection) {
				names[entry] = name
				r.tracked[openflow.ConntrackZoneSNAT] = append(r.tracked[openflow.ConntrackZoneSNAT], entry)
			}
			translate("the host's", connectionOf(host, west, host, snatMark|serviceMark))
			translate("the Service's", connectionOf(ownPod, here, host, snatMark))
			if tc.seen != "" {
				translate("translated", connectionOf(ownPod, west, tc.seen, snatMark))
			}
			objects := []runtime.Object{encode(t, v1alpha1.ClusterInfoImportKind, importOf("west", "10.112.0.0/12", "172.19.0.2", 1))}
			if tc.gateway != "" {
				internal := map[string]string{"n1": "172.18.0.2", "n2": "172.18.0.3"}[tc.gateway]
				objects = append(objects, encode(t, v1alpha1.GatewayKind, gatewayOf(tc.gateway, "192.0.2.1", internal)))
			}
			b := newBenchWith(t, r, func() error { return nil }, objects...)
			<-b.Synced()
			b.recorder.mu.Lock()
			defer b.recorder.mu.Unlock()
			var ends []string
			for _, entry := range b.recorder.ended {
				ends = append(ends, names[entry])
			}
			slices.Sort(ends)
			require.Equal(t, tc.ends, ends)
		})
	}
}
