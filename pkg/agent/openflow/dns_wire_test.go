// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// holder receives held answers.
type holder struct {
	*wire
	sw      of.Switch
	packets *of.PacketIns
}

func newHolder(t *testing.T, w *wire) *holder {
	t.Helper()
	sw := of.NewSwitch(w.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, sw.Close()) })
	packets, err := sw.PacketIns(t.Context(), openflow.DNSController, 1000, nil)
	require.NoError(t, err)
	t.Cleanup(packets.Close)
	return &holder{w, sw, packets}
}

func (h *holder) hold(ports map[string]uint32) {
	h.T.Helper()
	require.NoError(h.T, h.C.HoldDNS(ports))
	h.settle()
}

// held waits for an answer to a Pod.
func (h *holder) held(port uint32) *of.PacketIn {
	h.T.Helper()
	select {
	case <-h.packets.Ready():
		p := h.packets.Next()
		require.True(h.T, p.Paused())
		require.Equal(h.T, []byte{openflow.DNSCategory}, p.UserData)
		require.Equal(h.T, port, p.Reg(1))
		return p
	case <-time.After(20 * time.Second):
		require.Fail(h.T, "no answer was held")
		return nil
	}
}

// answers opens a connection from a Pod with a question, and lets the tunnel receive the answer.
func (h *holder) answers(pod uint32, question, answer segment) {
	h.T.Helper()
	h.pass(pod, question, oftest.TunnelPort, question)
	h.send(oftest.TunnelPort, answer)
}

// within sends a segment between two ports of the Node, with the MAC addresses of both.
func (h *holder) within(from, to uint32, s segment) {
	h.T.Helper()
	network, transport := s.headers(h.T)
	eth := &layers.Ethernet{SrcMAC: macs[from][0], DstMAC: macs[to][0], EthernetType: layers.EthernetTypeIPv4}
	h.links[from].inject(serialize(h.T, eth, network.(gopacket.SerializableLayer), transport))
}

func reversed(s segment, flags string) segment { return segment{s.dst, s.src, flags} }

// Answers of DNS to a Pod wait for the agent, and pass no rule that is made for them. All other packets pass as before.
func TestWireHeldAnswers(t *testing.T) { eachDatapath(t, testHeldAnswers) }

func testHeldAnswers(t *testing.T, w *wire) {
	h := newHolder(t, w)
	podA, podB := map[string]uint32{"pod-a": oftest.PodAPort}, map[string]uint32{"pod-b": oftest.PodBPort}
	question := segment{"10.10.0.11:4000", "10.10.1.20:53", ""}
	h.pass(oftest.PodAPort, question, oftest.TunnelPort, question)
	h.pass(oftest.TunnelPort, reversed(question, ""), oftest.PodAPort, reversed(question, ""))

	h.hold(podA)
	h.send(oftest.TunnelPort, reversed(question, ""))
	p := h.held(oftest.PodAPort)
	h.nothingElse(oftest.PodBPort)
	// The rules for the answer are installed while it waits.
	require.NoError(t, h.C.UpdatePolicyRules([]*policy.Rule{oftest.Egress(3, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32", "10.10.9.9/32"))}, nil))
	require.NoError(t, h.sw.Resume(t.Context(), p))
	require.Equal(t, reversed(question, ""), h.next(oftest.PodAPort).segment)
	require.NoError(t, h.C.UpdatePolicyRules(nil, []uint32{3}))
	require.Equal(t, 1, h.packetsPastMarks())

	for _, c := range []struct {
		question segment
		flags    string
	}{
		{segment{"10.10.0.11:4001", "10.10.1.20:53", "S"}, "SA"},
		{segment{"[fd00:10:0:a::11]:4002", "[fd00:10:0:b::20]:53", ""}, ""},
		{segment{"[fd00:10:0:a::11]:4003", "[fd00:10:0:b::20]:53", "S"}, "SA"},
	} {
		h.answers(oftest.PodAPort, c.question, reversed(c.question, c.flags))
		require.NoError(t, h.sw.Resume(t.Context(), h.held(oftest.PodAPort)))
		require.Equal(t, reversed(c.question, c.flags), h.next(oftest.PodAPort).segment)
	}
	// An answer that is not resumed is lost.
	h.answers(oftest.PodAPort, segment{"10.10.0.11:4004", "10.10.1.20:53", ""}, segment{"10.10.1.20:53", "10.10.0.11:4004", ""})
	h.held(oftest.PodAPort)

	// Neither another Pod's answers, nor answers of other ports, nor what the Pod sends as a server.
	for _, s := range []segment{{"10.10.0.12:4000", "10.10.1.20:53", ""}, {"10.10.0.11:4000", "10.10.1.20:5353", ""}, {"10.10.0.11:53", "10.10.1.20:53000", ""}} {
		pod := map[bool]uint32{true: oftest.PodAPort, false: oftest.PodBPort}[strings.HasPrefix(s.src, "10.10.0.11")]
		h.pass(pod, s, oftest.TunnelPort, s)
		h.pass(oftest.TunnelPort, reversed(s, ""), pod, reversed(s, ""))
	}
	server := segment{"10.10.1.20:4000", "10.10.0.11:53", ""}
	h.pass(oftest.TunnelPort, server, oftest.PodAPort, server)
	h.pass(oftest.PodAPort, reversed(server, ""), oftest.TunnelPort, reversed(server, ""))
	// Nor a question with the source port 53: it opens a connection.
	server = segment{"10.10.1.20:53", "10.10.0.11:53", ""}
	h.pass(oftest.TunnelPort, server, oftest.PodAPort, server)
	// The host asks a Pod of its own, from which others would be held.
	host := segment{"10.10.0.1:4000", "10.10.0.11:53", ""}
	h.within(oftest.GWPort, oftest.PodAPort, host)
	require.Equal(t, host, h.next(oftest.PodAPort).segment)
	h.within(oftest.PodAPort, oftest.GWPort, reversed(host, ""))
	require.Equal(t, reversed(host, ""), h.next(oftest.GWPort).segment)

	// A server in a Pod of the Node, and one on the host.
	for port, local := range map[uint32]segment{oftest.PodBPort: {"10.10.0.11:4005", "10.10.0.12:53", ""}, oftest.GWPort: {"10.10.0.11:4006", "10.10.0.1:53", ""}} {
		h.within(oftest.PodAPort, port, local)
		require.Equal(t, local, h.next(port).segment)
		h.within(port, oftest.PodAPort, reversed(local, ""))
		require.NoError(t, h.sw.Resume(t.Context(), h.held(oftest.PodAPort)))
		require.Equal(t, reversed(local, ""), h.next(oftest.PodAPort).segment)
	}

	// Another Pod takes the place of the first.
	h.hold(podB)
	h.pass(oftest.TunnelPort, reversed(question, ""), oftest.PodAPort, reversed(question, ""))
	h.answers(oftest.PodBPort, segment{"10.10.0.12:4001", "10.10.1.20:53", ""}, segment{"10.10.1.20:53", "10.10.0.12:4001", ""})
	h.held(oftest.PodBPort)
	h.hold(nil)
	h.pass(oftest.TunnelPort, segment{"10.10.1.20:53", "10.10.0.12:4001", ""}, oftest.PodBPort, segment{"10.10.1.20:53", "10.10.0.12:4001", ""})
	require.Zero(t, h.packets.Waiting())
}

var pastMarks = regexp.MustCompile(`n_packets=(\d+),.*reg10=0x10000/0x10000`)

// packetsPastMarks returns the number of resumed packets that ONCache's mark flows have not seen.
func (h *holder) packetsPastMarks() (n int) {
	h.T.Helper()
	await(h.T, func() bool {
		h.settle()
		m := pastMarks.FindStringSubmatch(h.Ofctl("dump-flows", oftest.BridgeName))
		require.NotNil(h.T, m)
		_, err := fmt.Sscan(m[1], &n)
		return err == nil && n > 0
	}, "a resumed packet past the marks")
	return n
}

// The port of a Service counts, not the port of its Endpoint.
func TestWireHeldAnswersOfServices(t *testing.T) { eachDatapath(t, testHeldAnswersOfServices) }

func testHeldAnswersOfServices(t *testing.T, w *wire) {
	h := newHolder(t, w)
	h.install(oftest.ClusterPort(oftest.ElsewhereEndpoint)) // 10.96.0.10:80 to 10.10.1.20:8080
	h.hold(map[string]uint32{"pod-a": oftest.PodAPort})
	c := translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:4000", "10.96.0.10:80", "10.10.0.11:4000", "10.10.1.20:8080"}
	h.open(c)
	require.Zero(t, h.packets.Waiting())
}

// A Pod that floods itself with answers uses up its own part of the rate.
func TestWireFloodOfAnswers(t *testing.T) { eachDatapath(t, testFloodOfAnswers) }

func testFloodOfAnswers(t *testing.T, w *wire) {
	h := newHolder(t, w)
	h.hold(map[string]uint32{"pod-a": oftest.PodAPort, "pod-b": oftest.PodBPort})
	meters, err := h.sw.DumpMeters(t.Context())
	require.NoError(t, err)
	require.Contains(t, meters, of.MeterEntry{ID: 258, Rate: 5000, Burst: 10000})
	require.Contains(t, meters, of.MeterEntry{ID: 1024, Rate: 500, Burst: 1000})
	require.Contains(t, meters, of.MeterEntry{ID: 1025, Rate: 500, Burst: 1000})
	began := time.Now()
	for _, meter := range []string{"1024", "1025"} {
		h.Ofctl("-O", "OpenFlow15", "mod-meter", oftest.BridgeName, "meter="+meter+",pktps,burst,band=type=drop,rate=1,burst_size=1")
	}
	for i := range 50 {
		s := segment{fmt.Sprintf("10.10.0.11:%d", 4000+i), "10.10.1.20:53", ""}
		h.answers(oftest.PodAPort, s, reversed(s, ""))
	}
	h.answers(oftest.PodBPort, segment{"10.10.0.12:4001", "10.10.1.20:53", ""}, segment{"10.10.1.20:53", "10.10.0.12:4001", ""})
	byPort := map[uint32]int{}
	for byPort[oftest.PodBPort] == 0 {
		select {
		case <-h.packets.Ready():
			p := h.packets.Next()
			byPort[p.Reg(1)]++
		case <-time.After(20 * time.Second):
			require.Fail(t, "the other Pod's answer is lost", "%v", byPort)
		}
	}
	// One at once, and one a second.
	require.LessOrEqual(t, byPort[oftest.PodAPort], 2+int(time.Since(began)/time.Second))
}

func TestHoldDNSNeedsTheFeatureGate(t *testing.T) {
	c, _ := oftest.NewTestClient(t, oftest.MinimalFeatures)
	require.ErrorContains(t, c.HoldDNS(map[string]uint32{"pod-a": oftest.PodAPort}), "AntreaPolicy, which is off")
	c, _ = oftest.NewTestClient(t, oftest.DefaultFeatures)
	require.ErrorContains(t, c.HoldDNS(map[string]uint32{"pod-a": 0}), "interface pod-a")
	require.ErrorContains(t, c.SendDNSFragment(t.Context(), oftest.TunnelPort, 0, nil), "fragment of an answer")
}
