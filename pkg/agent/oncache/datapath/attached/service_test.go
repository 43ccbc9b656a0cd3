// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/env/nodepair"
	"github.com/antrea-oncache/antrea/test/tools/equality"
)

// TestSamePacketThroughService does the same as TestSamePacketAsTheKernel with packets to a Service's address, which the kernel's NAT
// translates on the sender's Node in the place of Open vSwitch. The answers, which are translated back, prove the flow.
func TestSamePacketThroughService(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) { newRouters(t, f).testService(t) })
	}
}

func (r *routers) testService(t *testing.T) {
	const port, endpointPort = 4704, 4804
	a := r.nodes[0]
	service := r.translate(t, a, r.nodes[1], port, endpointPort)
	// Open vSwitch computes the hash of a packet's flow when the packet enters it, before translation; the tunnel's source port depends on
	// it. Receive packet steering makes the kernel do the same.
	run(t, a.Host, `unshare -m sh -c 'mount -t sysfs sysfs /sys && echo 3 >/sys/class/net/h0/queues/rx-0/rps_cpus'`)
	b := r.newRig(t)
	b.World.Receiver = service
	b.ReplyTo = func(f equality.Flow) equality.Packet {
		p := b.World.Reply(f)
		p.Source, p.SourcePort = r.nodes[1].PodIP, endpointPort
		return p
	}
	flows := map[string]equality.Flow{
		"UDP": {Protocol: unix.IPPROTO_UDP, SourcePort: 4604, DestinationPort: port},
		"TCP": {Protocol: unix.IPPROTO_TCP, SourcePort: 4605, DestinationPort: port},
	}
	b.LearnOuter(t, flows["UDP"])
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) {
			// Frames that are sent on the wire have not been translated. Packets with a wrong checksum are invalid to conntrack, also here:
			// the kernel does not translate them.
			sent := slices.DeleteFunc(equality.Stream(b.World, flow), func(c equality.Case) bool { return c.From != equality.Sender || c.Unlike != nil })
			b.RequireSame(t, accelerated(t, sent), nil)
			f, err := a.Flow("egress", flow.Protocol, netip.AddrPortFrom(a.PodIP, flow.SourcePort), netip.AddrPortFrom(service, port))
			require.NoError(t, err)
			require.NotNil(t, f, "the flow is in the cache as one to the Service")
			require.Positive(t, f.Packets)
			require.Equal(t, netip.AddrPortFrom(r.nodes[1].PodIP, endpointPort), f.Translated)
		})
	}
}

// TestSamePacketFromService is the opposite of TestSamePacketThroughService: the receiving Pod has opened the connection, and its Node translates the answers of the
// Endpoint, the sending Pod.
func TestSamePacketFromService(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) { newRouters(t, f).testAnswers(t) })
	}
	t.Run("GRO at the uplink", func(t *testing.T) {
		r := newRouters(t, harness.Family{})
		for _, n := range r.nodes {
			run(t, n.Host, "ethtool -K up0 gro on")
		}
		r.testAnswers(t)
	})
}

func (r *routers) testAnswers(t *testing.T) {
	const port, servicePort = 4804, 4704
	client := r.nodes[1]
	service := r.translate(t, client, r.nodes[0], servicePort, port)
	b := r.newRig(t)
	b.ReceiverOpens = true
	b.ReplyTo = func(f equality.Flow) equality.Packet {
		p := b.World.Reply(f)
		p.Destination, p.DestinationPort = service, servicePort
		return p
	}
	flows := map[string]equality.Flow{
		"UDP": {Protocol: unix.IPPROTO_UDP, SourcePort: port, DestinationPort: 4604},
		"TCP": {Protocol: unix.IPPROTO_TCP, SourcePort: port, DestinationPort: 4605},
	}
	b.LearnOuter(t, flows["UDP"])
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) {
			sent := slices.DeleteFunc(equality.Stream(b.World, flow), func(c equality.Case) bool { return c.Unlike != nil })
			b.RequireSame(t, accelerated(t, sent), nil)
			f, err := client.Flow("ingress", flow.Protocol, netip.AddrPortFrom(r.nodes[0].PodIP, port), netip.AddrPortFrom(client.PodIP, flow.DestinationPort))
			require.NoError(t, err)
			require.NotNil(t, f)
			require.Positive(t, f.Packets)
			require.Equal(t, netip.AddrPortFrom(service, servicePort), f.Translated)
		})
	}
}

// translate makes the kernel's NAT on the client's Node translate a Service's port to the Endpoint's, the other Node's Pod, and
// announces the Service to the cache there. It returns the Service's address.
func (r *routers) translate(t *testing.T, client, server *routerNode, servicePort, endpointPort int) netip.Addr {
	t.Helper()
	service, endpoint := harness.ServiceIP, server.PodIP.String()
	if r.family.Inner6 {
		service, endpoint = harness.ServiceIP6, "["+endpoint+"]"
	}
	for _, protocol := range []string{"udp", "tcp"} {
		run(t, client.Host, fmt.Sprintf("%s -w -t nat -A PREROUTING -i h0 -d %v -p %s --dport %d -j DNAT --to-destination %s:%d",
			nodepair.Firewall(r.family.Inner6), service, protocol, servicePort, endpoint, endpointPort))
	}
	require.NoError(t, client.AddServiceAddress(service))
	return service
}
