// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestPolicyWalks(t *testing.T) {
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	require.NoError(t, oftest.Install(
		oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80)),
		oftest.Egress(3, oftest.PolicyPodB, oftest.Prefixes("10.10.1.0/24"), policy.PortRange(of.IPProtoUDP, 5000, 5003)...),
	)(b.C))
	remote := oftest.RemotePodIP.String()
	for _, test := range []struct {
		name, packet string
		ct           []string
		dropped      bool
		label        string
		passes       []string
		avoids       []string
	}{
		{name: "allowed ingress", packet: oftest.RemoteToPodA + ",tp_dst=80", ct: []string{oftest.CTNew, oftest.CTNew}, label: "label=0x2"},
		{name: "other port", packet: oftest.RemoteToPodA + ",tp_dst=81", ct: []string{oftest.CTNew}, dropped: true},
		{name: "other peer", packet: strings.ReplaceAll(oftest.RemoteToPodA, remote, "10.10.1.21") + ",tp_dst=80", ct: []string{oftest.CTNew}, dropped: true},
		{name: "other direction", packet: oftest.PodAToRemote + ",tp_dst=1", ct: []string{oftest.CTNew, oftest.CTNew}},
		{
			name: "established, forbidden since", packet: oftest.RemoteToPodA + ",tp_dst=81,ct_mark=1", ct: []string{oftest.CTEstablished},
			passes: []string{"IngressMetric", "ONCacheMark"}, avoids: []string{"IngressRule", "IngressDefaultRule"},
		},
		{name: "related, forbidden since", packet: oftest.RemoteToPodA + ",tp_dst=81,ct_mark=1", ct: []string{"trk,rel"}, avoids: []string{"IngressRule"}},
		{name: "from the Node itself", packet: oftest.GWToPodA + ",tp_dst=81,pkt_mark=0x80000000", ct: []string{oftest.CTNew, oftest.CTNew}, avoids: []string{"IngressRule"}},
		{name: "forwarded by the Node", packet: oftest.WorldToPodA + ",tp_dst=81", ct: []string{oftest.CTNew}, dropped: true},
		{
			name: "allowed egress", packet: oftest.Opening(policy.Connection{Source: oftest.PodBIP, Destination: oftest.RemotePodIP, Protocol: of.IPProtoUDP, DestinationPort: 5002}), ct: []string{oftest.CTNew, oftest.CTNew},
			label: "label=0x300000000",
		},
		{name: "egress to another port", packet: oftest.Opening(policy.Connection{Source: oftest.PodBIP, Destination: oftest.RemotePodIP, Protocol: of.IPProtoUDP, DestinationPort: 5004}), ct: []string{oftest.CTNew}, dropped: true},
		{name: "egress between local Pods", packet: oftest.Opening(policy.Connection{Source: oftest.PodBIP, Destination: oftest.PodAIP, Protocol: of.IPProtoTCP, DestinationPort: 80}), ct: []string{oftest.CTNew}, dropped: true},
		{name: "ingress between local Pods", packet: oftest.Opening(policy.Connection{Source: oftest.PodAIP, Destination: oftest.PodBIP, Protocol: of.IPProtoTCP, DestinationPort: 81}), ct: []string{oftest.CTNew, oftest.CTNew}},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct...)
			require.Equal(t, test.dropped, len(w.Outputs) == 0, w.Text)
			for _, table := range test.passes {
				require.Contains(t, w.Tables, table, w.Text)
			}
			for _, table := range test.avoids {
				require.NotContains(t, w.Tables, table, w.Text)
			}
			if test.dropped {
				require.Equal(t, 1, w.Recirculations, "a refused packet must leave nothing in conntrack: %s", w.Text)
			}
			if test.label != "" {
				require.Contains(t, w.Text, test.label+"/", "the connection is labeled with its rule")
			}
		})
	}
	t.Run("counters", func(t *testing.T) {
		w := b.Trace(oftest.RemoteToPodA+",tp_dst=80,ct_mark=1,ct_label=0x2", oftest.CTEstablished)
		require.Regexp(t, regexp.MustCompile(`ct_state=-new,ct_label=0x2/0xffffffff,ip`), strings.ReplaceAll(w.Text, " ", ""))
	})
}

func TestPolicyWalksIPv6(t *testing.T) {
	b := oftest.NewBridge6(t, oftest.DualStackNode)
	pod := policy.Pod{InterfaceName: "pod-a", OFPort: oftest.PodAPort, IPs: []netip.Addr{oftest.PodAIP, oftest.PodA6IP}}
	require.NoError(t, oftest.Install(
		oftest.Ingress(2, pod, []netip.Prefix{netip.PrefixFrom(oftest.RemotePod6, 128)}, oftest.Tcp(80)),
		oftest.Egress(3, pod, oftest.Prefixes("0.0.0.0/0")),
	)(b.C))
	for _, test := range []struct {
		name, packet string
		ct           []string
		dropped      bool
	}{
		{"allowed ingress", oftest.RemoteToPodA6 + ",tcp_dst=80", []string{oftest.CTNew, oftest.CTNew}, false},
		{"other port", oftest.RemoteToPodA6 + ",tcp_dst=81", []string{oftest.CTNew}, true},
		{"established, forbidden since", oftest.RemoteToPodA6 + ",tcp_dst=81,ct_mark=1", []string{oftest.CTEstablished}, false},
		{"egress, allowed by IPv4 only", oftest.PodAToRemote6 + ",tcp_dst=80", []string{oftest.CTNew}, true},
		{"egress by IPv4", oftest.PodAToRemote + ",tcp_dst=80", []string{oftest.CTNew, oftest.CTNew}, false},
		{"ingress by IPv4, allowed by IPv6 only", oftest.RemoteToPodA + ",tcp_dst=80", []string{oftest.CTNew}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct...)
			require.Equal(t, test.dropped, len(w.Outputs) == 0, w.Text)
		})
	}
}

func TestCutConnections(t *testing.T) {
	features := oftest.ONCacheFeatures
	features.CutConnections = true
	b := oftest.NewBridge(t, features)
	b.InstallAll()
	for _, test := range []struct {
		name, packet, ct string
		dropped          bool
	}{
		{"established, out", oftest.PodAToRemote + ",ct_mark=3", oftest.CTEstablished, false},
		{"cut, out", oftest.PodAToRemote + ",ct_mark=0x103", oftest.CTEstablished, true},
		{"cut, in", oftest.RemoteToPodA + ",ct_mark=0x103", oftest.CTReply, true},
		{"cut, related", oftest.RemoteToPodA + ",ct_mark=0x103", "trk,rel,rpl", true},
		{"cut before a reply was seen", oftest.PodAToRemote + ",ct_mark=0x103", oftest.CTNew, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := b.Trace(test.packet, test.ct, test.ct)
			require.Equal(t, test.dropped, len(w.Outputs) == 0, w.Text)
			if test.dropped {
				require.Zero(t, w.Epoch(), w.Text)
				require.NotContains(t, w.Tables, "ONCacheMark", w.Text)
			}
		})
	}
}

// For random rules, the switch does what policy.Evaluate says.
func TestPolicyOnOVSAgreesWithEvaluation(t *testing.T) {
	for _, maxUsers := range []int{networkpolicy.MaxConjunctions, 2, 1} {
		t.Run(fmt.Sprintf("%d rules share a flow", maxUsers), func(t *testing.T) { testPolicyAgrees(t, maxUsers) })
	}
}

func testPolicyAgrees(t *testing.T, maxUsers int) {
	const rounds, probes = 6, 20
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := newPolicySource(rand.New(rand.NewPCG(seed, 0)))
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	b.InstallAll()
	networkpolicy.SetMaxUsers(b.C, maxUsers)
	var installed []*policy.Rule
	for range rounds {
		rules := s.rules()
		var removed []uint32
		for _, old := range installed {
			if s.rng.IntN(2) == 0 {
				removed = append(removed, old.FlowID)
				rules = slices.DeleteFunc(rules, func(r *policy.Rule) bool { return r.FlowID == old.FlowID })
			}
		}
		require.NoError(t, b.C.UpdatePolicyRules(rules, removed))
		oftest.RequireNoneMissing(t, b.C)
		installed = rules
		for range probes {
			c := s.connection()
			local := func(a netip.Addr) bool { return a == oftest.PodAIP || a == oftest.PodBIP }
			if c.Source == c.Destination || !local(c.Source) && !local(c.Destination) {
				continue
			}
			egress, ingress := policy.Evaluate(rules, policy.Egress, c), policy.Evaluate(rules, policy.Ingress, c)
			w := b.Trace(oftest.Opening(c), oftest.CTNew, oftest.CTNew)
			require.Equal(t, egress.Allowed() && ingress.Allowed(), len(w.Outputs) > 0, "%+v\negress %+v\ningress %+v\n%s", c, egress, ingress, w.Text)
			if len(w.Outputs) > 0 {
				requireAllowedBy(t, rules, policy.Egress, c, w.Register("reg5"))
				requireAllowedBy(t, rules, policy.Ingress, c, w.Register("reg6"))
			}
		}
	}
}

// policySource makes random rules, and connections that they may concern.
type policySource struct {
	rng       *rand.Rand
	addresses []netip.Addr
	peers     []netip.Prefix
	services  []policy.Service
	protocols []uint8
}

func newPolicySource(rng *rand.Rand) *policySource {
	s := &policySource{
		rng:       rng,
		addresses: []netip.Addr{oftest.PodAIP, oftest.PodBIP, oftest.RemotePodIP, netip.MustParseAddr("10.10.1.21"), netip.MustParseAddr("10.10.1.130")},
		peers: oftest.Prefixes("10.10.1.20/32", "10.10.1.21/32", "10.10.1.128/25", "10.10.0.0/24", "10.10.0.11/32", "0.0.0.0/0", "::/0",
			"192.0.2.0/24"),
		protocols: []uint8{of.IPProtoTCP, of.IPProtoUDP, of.IPProtoSCTP, of.IPProtoICMP},
	}
	for protocol := range oftest.ProtocolNames {
		if protocol != of.IPProtoICMP {
			s.services = append(s.services, policy.Service{Protocol: protocol}, policy.Service{Protocol: protocol, Port: 80, Mask: 0xffff})
			s.services = append(s.services, policy.PortRange(protocol, 79, 90)...)
		}
	}
	return s
}

// some returns up to three of n indices.
func (s *policySource) some(n int) []int { return s.rng.Perm(n)[:s.rng.IntN(min(n, 3)+1)] }

func (s *policySource) rules() []*policy.Rule {
	var rules []*policy.Rule
	for id := uint32(2); id < 8; id++ {
		r := &policy.Rule{Effect: policy.Kubernetes, FlowID: id, Direction: policy.Direction(1 + s.rng.IntN(2)), LogReference: []string{"", "K8sNetworkPolicy:shop/web"}[s.rng.IntN(2)]}
		for _, i := range s.some(2) {
			r.AppliedTo = append(r.AppliedTo, []policy.Pod{oftest.PolicyPodA, oftest.PolicyPodB}[i])
		}
		for _, i := range s.some(len(s.peers)) {
			r.Peers = append(r.Peers, s.peers[i])
		}
		for _, i := range s.some(len(s.services)) {
			r.Services = append(r.Services, s.services[i])
		}
		rules = append(rules, r)
	}
	return rules
}

func (s *policySource) connection() policy.Connection {
	c := policy.Connection{
		Source: s.addresses[s.rng.IntN(len(s.addresses))], Destination: s.addresses[s.rng.IntN(len(s.addresses))],
		Protocol: s.protocols[s.rng.IntN(len(s.protocols))],
	}
	if c.Protocol != of.IPProtoICMP {
		c.SourcePort = 33333
		c.DestinationPort = uint16([]int{78, 79, 80, 85, 90, 91}[s.rng.IntN(6)])
	}
	return c
}

// requireAllowedBy checks that the rule for which the packet was counted allows the packet on its own.
func requireAllowedBy(t *testing.T, rules []*policy.Rule, direction policy.Direction, c policy.Connection, id uint32) {
	t.Helper()
	if id == 0 {
		require.False(t, policy.Evaluate(rules, direction, c).Isolated)
		return
	}
	i := slices.IndexFunc(rules, func(r *policy.Rule) bool { return r.FlowID == id })
	require.GreaterOrEqual(t, i, 0, "rule %d is not installed", id)
	require.Equal(t, policy.Verdict{Action: policy.Allow, Isolated: true, FlowID: id}, policy.Evaluate(rules[i:i+1], direction, c))
}

// Changes of single peers out of many lead to the same flows as installing the final peers.
func TestChangedPeersOnOVS(t *testing.T) {
	const members = 1000
	b := oftest.NewBridge(t, oftest.ONCacheFeatures)
	edit := policy.AddressSet{}.Edit()
	for i := range members {
		edit.Add(netip.AddrFrom4([4]byte{10, byte(20 + i>>16), byte(i >> 8), byte(i)}))
	}
	withPeers := func() []*policy.Rule {
		var rules []*policy.Rule
		for id := range uint32(10) {
			r := oftest.Ingress(2+id, oftest.PolicyPodA, oftest.Prefixes("10.20.0.0/32"), oftest.Tcp(80+uint16(id)))
			r.PeerAddresses = []policy.AddressSet{edit.Set()}
			rules = append(rules, r)
		}
		return rules
	}
	began := time.Now()
	require.NoError(t, b.C.UpdatePolicyRules(withPeers(), nil))
	t.Logf("%d peers of ten rules: %v", members, time.Since(began))
	longest := time.Duration(0)
	for i := range 10 {
		edit.Remove(netip.AddrFrom4([4]byte{10, 20, 0, byte(i)}))
		edit.Add(netip.AddrFrom4([4]byte{10, 99, 0, byte(i)}))
		began = time.Now()
		require.NoError(t, b.C.UpdatePolicyRules(withPeers(), nil))
		longest = max(longest, time.Since(began))
	}
	t.Logf("one of them changes: at most %v", longest)
	fresh, fake := oftest.NewTestClient(t, oftest.ONCacheFeatures)
	require.NoError(t, fresh.UpdatePolicyRules(withPeers(), nil))
	want := oftest.FlowStrings(fake.Flows())
	slices.Sort(want)
	require.Equal(t, want, oftest.DumpFlows(b.OVS))
	oftest.RequireNoneMissing(t, b.C)
}
