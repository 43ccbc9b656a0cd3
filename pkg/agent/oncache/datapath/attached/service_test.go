// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"net/netip"
	"slices"
	"strings"
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
	service, endpoint := harness.ServiceIP, r.nodes[1].PodIP.String()
	if r.family.Inner6 {
		service, endpoint = harness.ServiceIP6, "["+endpoint+"]"
	}
	words := strings.NewReplacer("FIREWALL", nodepair.Firewall(r.family.Inner6), "SERVICE", service.String(), "ENDPOINT", endpoint)
	for _, protocol := range []string{"udp", "tcp"} {
		run(t, a.Host, words.Replace("FIREWALL -w -t nat -A PREROUTING -i h0 -d SERVICE -p "+protocol+" --dport 4704 -j DNAT --to-destination ENDPOINT:4804"))
	}
	// Open vSwitch computes the hash of a packet's flow when the packet enters it, before translation; the tunnel's source port depends on
	// it. Receive packet steering makes the kernel do the same.
	run(t, a.Host, `unshare -m sh -c 'mount -t sysfs sysfs /sys && echo 3 >/sys/class/net/h0/queues/rx-0/rps_cpus'`)
	require.NoError(t, a.AddServiceAddress(service))
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
