// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// shapingFeatures are the features with bandwidths of Egresses.
func shapingFeatures() openflow.Features {
	features := oftest.ProxyAllFeatures
	features.EgressShaping = true
	return features
}

const (
	// shapedPayload makes frames of 10,000 bits.
	shapedPayload = 1250 - 14 - 20 - 8
	frameKilobits = 10
	// atOnce frames are sent before one of the other Pod.
	atOnce = 50
)

// shaped sends datagrams of a Pod to outside the cluster, n at a time.
type shaped struct {
	*wire
	port uint32
	src  netip.Addr
}

func (s shaped) send(n int) {
	s.T.Helper()
	network := networkHeader(s.src, netip.MustParseAddr("203.0.113.9"), layers.IPProtocolUDP)
	udp := &layers.UDP{SrcPort: 4000, DstPort: 80}
	require.NoError(s.T, udp.SetNetworkLayerForChecksum(network))
	eth := &layers.Ethernet{SrcMAC: macs[s.port][0], DstMAC: macs[s.port][1], EthernetType: layers.EthernetTypeIPv4}
	frame := serialize(s.T, eth, network.(gopacket.SerializableLayer), udp, gopacket.Payload(make([]byte, shapedPayload)))
	if s.kernel {
		for range n {
			s.links[s.port].inject(frame)
		}
		return
	}
	// One call for all: each starts a program. vswitchd takes one frame of a port at a time: a frame of another port would overtake the rest.
	want := s.received() + n
	s.Appctl(append([]string{"netdev-dummy/receive", portNames[s.port]}, slices.Repeat([]string{hex.EncodeToString(frame)}, n)...)...)
	await(s.T, func() bool { return s.received() == want }, "%d frames received", want)
}

// received returns the number of frames of the port that vswitchd has taken. The port is of type dummy.
func (s shaped) received() (n int) {
	s.T.Helper()
	counters := s.Ofctl("dump-ports", oftest.BridgeName, portNames[s.port])
	_, rx, _ := strings.Cut(counters, "rx pkts=")
	_, err := fmt.Sscanf(rx, "%d", &n)
	require.NoError(s.T, err, counters)
	return n
}

// passed sends n datagrams of limited, then one of free, which must come. It returns how many of limited have come before.
func passed(t *testing.T, limited, free shaped, n int) (came int) {
	t.Helper()
	limited.send(n)
	free.send(1)
	for {
		got := free.next(oftest.GWPort)
		addr := netip.MustParseAddrPort(got.src).Addr()
		if addr == free.src {
			return came
		}
		require.Equal(t, limited.src, addr)
		came++
	}
}

// interval is the time that something took.
type interval struct{ began, ended time.Time }

func during(do func()) (i interval) {
	i.began = time.Now()
	do()
	i.ended = time.Now()
	return i
}

// TestWireEgressBandwidth: what leaves with an address has its rate, after a burst, and each packet with another address passes. The limit changes and ends
// while packets come.
func TestWireEgressBandwidth(t *testing.T) {
	eachDatapathWith(t, shapingFeatures(), testEgressBandwidth)
}

func testEgressBandwidth(t *testing.T, w *wire) {
	a, b := netip.MustParseAddr("192.168.77.200"), netip.MustParseAddr("192.168.77.201")
	limited, free := shaped{w, oftest.PodAPort, oftest.PodAIP}, shaped{w, oftest.PodBPort, oftest.PodBIP}
	// The other address has a limit of its own, which it does not reach.
	require.NoError(t, w.C.InstallEgressQoS(8, openflow.EgressBandwidth{Rate: 1_000_000, Burst: 1_000_000}))
	require.NoError(t, w.C.InstallPodSNATFlows("pod-a", oftest.PodAPort, []openflow.EgressSource{{Addr: a, Mark: 7}}))
	require.NoError(t, w.C.InstallPodSNATFlows("pod-b", oftest.PodBPort, []openflow.EgressSource{{Addr: b, Mark: 8}}))
	w.settle()
	require.Equal(t, atOnce, passed(t, limited, free, atOnce), "without a limit")

	for i, rate := range []uint32{100, 200} {
		// The bucket loses nothing while the test waits for its turn.
		burst := 5 * rate
		require.NoError(t, w.C.InstallEgressQoS(7, openflow.EgressBandwidth{Rate: rate, Burst: burst}))
		w.settle()
		for range burst / frameKilobits / atOnce {
			if i > 0 {
				break // Open vSwitch in user space keeps the state of a bucket.
			}
			require.Equal(t, atOnce, passed(t, limited, free, atOnce), "a burst passes")
		}
		// Empty the bucket.
		var emptied interval
		for range 2 * (rate + burst) / frameKilobits / atOnce {
			emptied = during(func() { passed(t, limited, free, atOnce) })
		}
		var last interval
		kilobits := 0
		for kilobits < 400 {
			last = during(func() { kilobits += frameKilobits * passed(t, limited, free, atOnce) })
		}
		// The meter saw its packets at any time within these intervals, which are long on a busy machine.
		atLeast, atMost := last.began.Sub(emptied.ended).Seconds(), last.ended.Sub(emptied.began).Seconds()
		t.Logf("%d kbit in %.2f to %.2f s, of %d kbit/s", kilobits, atLeast, atMost, rate)
		require.Greater(t, float64(kilobits), 0.8*atLeast*float64(rate))
		require.Less(t, float64(kilobits), 1.2*atMost*float64(rate))
	}
	require.NoError(t, w.C.UninstallEgressQoS(7))
	w.settle()
	require.Equal(t, atOnce, passed(t, limited, free, atOnce), "without a limit any more")
}

// TestWireEgressBandwidthOfTunnel: packets that come from other Nodes to an address have its limit too, for both IP versions.
func TestWireEgressBandwidthOfTunnel(t *testing.T) {
	w := newWireOf(t, false, false, shapingFeatures())
	mark := uint8(254)
	for _, tc := range egressCases {
		require.NoError(t, w.C.InstallSNATMarkFlows(netip.MustParseAddr(tc.egress), mark))
		require.NotContains(t, w.arrives(tc, tc.egress), "meter")
		require.NoError(t, w.C.InstallEgressQoS(mark, openflow.EgressBandwidth{Rate: 1000, Burst: 2000}))
		require.Regexp(t, fmt.Sprintf(`meter:%d`, mark), w.arrives(tc, tc.egress))
		require.Contains(t, w.Ofctl("-O", "OpenFlow15", "dump-meters", oftest.BridgeName), fmt.Sprintf("meter=%d kbps burst stats bands=\ntype=drop rate=1000 burst_size=2000", mark))
		table := w.Ofctl("--no-names", "dump-flows", oftest.BridgeName, fmt.Sprintf("table=%d", tableID(w.C, pipeline.TableEgressQoS)))
		require.Regexp(t, fmt.Sprintf(`priority=200,pkt_mark=%#x/0xff actions=meter:%d`, mark, mark), table)
		mark--
	}
}

// TestEgressBandwidthAfterReconnection: another vswitchd gets the limits again, and a meter that it refuses hinders no other change.
func TestEgressBandwidthAfterReconnection(t *testing.T) {
	features := oftest.DefaultFeatures
	features.EgressShaping = true
	c, fake := oftest.NewTestClientOf(t, features, oftest.TestNode)
	limit := openflow.EgressBandwidth{Rate: 1000, Burst: 2000}
	require.NoError(t, c.InstallEgressQoS(1, limit))
	want := fake.Flows()
	for _, refused := range []openflow.EgressBandwidth{{}, limit} {
		fake.Disconnect()
		require.ErrorIs(t, c.InstallEgressQoS(2, refused), of.ErrDisconnected)
		fake.Reconnect(true)
		if refused.Rate == 0 {
			require.ErrorIs(t, c.InstallEgressQoS(2, refused), openflow.ErrNoBandwidth)
		} else {
			require.NoError(t, c.ReplayFlows(func() {}))
		}
		require.ElementsMatch(t, want, fake.Flows())
		meters, err := fake.DumpMeters(t.Context())
		require.NoError(t, err)
		require.Equal(t, []of.MeterEntry{{ID: 1, KBPS: true, Rate: 1000, Burst: 2000}}, meters)
		require.NoError(t, c.InstallPodSNATFlows("pod-a", oftest.PodAPort, []openflow.EgressSource{{Addr: netip.MustParseAddr("192.168.77.200"), Mark: 1}}))
		require.NoError(t, c.UninstallPodSNATFlows("pod-a"))
	}
}

// TestEgressBandwidthRefused: a limit needs its gate, meters and a mark of an Egress.
func TestEgressBandwidthRefused(t *testing.T) {
	limit := openflow.EgressBandwidth{Rate: 1000}
	features := oftest.DefaultFeatures
	off, _ := oftest.NewTestClientOf(t, features, oftest.TestNode)
	require.ErrorContains(t, off.InstallEgressQoS(1, limit), "feature gate EgressTrafficShaping")
	features.EgressShaping = true
	c, fake := oftest.NewTestClientOf(t, features, oftest.TestNode)
	require.ErrorContains(t, c.InstallEgressQoS(255, limit), "must be 1 to 254")
	require.ErrorIs(t, c.InstallEgressQoS(1, openflow.EgressBandwidth{}), openflow.ErrNoBandwidth)
	require.NoError(t, c.InstallEgressQoS(1, limit))
	before := fake.Flows()
	require.NoError(t, c.UninstallEgressQoS(1))
	require.Len(t, fake.Flows(), len(before)-1)
	require.NoError(t, c.UninstallEgressQoS(1))
}
