// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/reach"
)

func (op operation) String() string {
	switch op.kind {
	case installFlows:
		ips := map[netip.Addr]bool{}
		text := "install flows " + op.peer.Name
		for _, n := range op.peer.Networks {
			if !ips[n.Reach.Address] {
				text += " " + n.Reach.Address.String()
			}
			ips[n.Reach.Address] = true
		}
		return fmt.Sprintf("%s %v", text, op.peer.cidrs())
	case uninstallFlows:
		return "uninstall flows " + op.peer.Name
	case addRoute:
		return fmt.Sprintf("add route %s %s", op.peer.Name, op.network.CIDR)
	}
	return fmt.Sprintf("delete route %s %s", op.peer.Name, op.network.CIDR)
}

func texts(ops []operation) []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.String())
	}
	return all
}

func peer(name, ip string, cidrs ...string) *Peer {
	p := &Peer{Name: name}
	for _, cidr := range prefixes(cidrs...) {
		p.Networks = append(p.Networks, Network{CIDR: cidr, Reach: reach.ThroughTunnel(netip.MustParseAddr(ip))})
	}
	return p
}

func TestPlan(t *testing.T) {
	ip1, ip2 := reach.ThroughTunnel(netip.MustParseAddr("192.168.0.1")), reach.ThroughTunnel(netip.MustParseAddr("192.168.0.2"))
	a, b := netip.MustParsePrefix("10.0.1.0/24"), netip.MustParsePrefix("10.0.2.0/24")
	direct, other := reach.Reach{Kind: reach.Direct, Address: ip1.Address}, reach.Reach{Kind: 77, Address: ip1.Address}
	all := installed{flows: &flows{peer: *peer("n", "192.168.0.1", "10.0.1.0/24"), known: true}, routes: map[netip.Prefix]routeTo{a: {ip1, true}}}
	c, ip6 := netip.MustParsePrefix("fd00:a::/64"), reach.ThroughTunnel(netip.MustParseAddr("fd00::1"))
	dualPeer := Peer{Name: "n", Networks: []Network{{a, ip1}, {c, ip6}}}
	dual := installed{flows: &flows{peer: dualPeer, known: true}, routes: map[netip.Prefix]routeTo{a: {ip1, true}, c: {ip6, true}}}
	dualMoved := &Peer{Name: "n", Networks: []Network{{a, ip2}, {c, ip6}}}
	for name, tc := range map[string]struct {
		have installed
		want *Peer
		ops  []string
	}{
		"nothing to nothing": {},
		"add: flows before routes": {want: peer("n", "192.168.0.1", "10.0.1.0/24", "10.0.2.0/24"), ops: []string{
			"install flows n 192.168.0.1 [10.0.1.0/24 10.0.2.0/24]", "add route n 10.0.1.0/24", "add route n 10.0.2.0/24"}},
		"unchanged":                    {have: all, want: peer("n", "192.168.0.1", "10.0.1.0/24")},
		"delete: routes before flows":  {have: all, ops: []string{"delete route n 10.0.1.0/24", "uninstall flows n"}},
		"address changed":              {have: all, want: peer("n", "192.168.0.2", "10.0.1.0/24"), ops: []string{"install flows n 192.168.0.2 [10.0.1.0/24]", "add route n 10.0.1.0/24"}},
		"CIDR changed: delete and add": {have: all, want: peer("n", "192.168.0.1", "10.0.2.0/24"), ops: []string{"delete route n 10.0.1.0/24", "uninstall flows n", "install flows n 192.168.0.1 [10.0.2.0/24]", "add route n 10.0.2.0/24"}},
		"CIDR added: its route only": {have: all, want: peer("n", "192.168.0.1", "10.0.1.0/24", "10.0.2.0/24"), ops: []string{
			"uninstall flows n", "install flows n 192.168.0.1 [10.0.1.0/24 10.0.2.0/24]", "add route n 10.0.2.0/24"}},
		"flows failed before": {have: installed{flows: &flows{peer: *peer("n", "192.168.0.1", "10.0.1.0/24")}}, want: peer("n", "192.168.0.1", "10.0.1.0/24"), ops: []string{"install flows n 192.168.0.1 [10.0.1.0/24]", "add route n 10.0.1.0/24"}},
		"route failed before": {have: installed{flows: all.flows, routes: map[netip.Prefix]routeTo{a: {reach: ip1}}}, want: peer("n", "192.168.0.1", "10.0.1.0/24"), ops: []string{"add route n 10.0.1.0/24"}},
		"delete what may be":  {have: installed{flows: &flows{peer: *peer("n", "192.168.0.1", "10.0.1.0/24")}, routes: map[netip.Prefix]routeTo{a: {reach: ip1}}}, ops: []string{"delete route n 10.0.1.0/24", "uninstall flows n"}},
		"leftover route":      {have: installed{routes: map[netip.Prefix]routeTo{b: {ip2, true}}}, ops: []string{"delete route n 10.0.2.0/24"}},
		"one of two addresses changed": {have: dual, want: dualMoved, ops: []string{
			"install flows n 192.168.0.2 fd00::1 [10.0.1.0/24 fd00:a::/64]", "add route n 10.0.1.0/24"}},
		"half of a change": {have: installed{flows: all.flows}, want: peer("n", "192.168.0.1", "10.0.2.0/24"), ops: []string{"uninstall flows n", "install flows n 192.168.0.1 [10.0.2.0/24]", "add route n 10.0.2.0/24"}},
		"moved to another subnet: replace": {have: all, want: &Peer{Name: "n", Networks: []Network{{a, direct}}}, ops: []string{
			"install flows n 192.168.0.1 [10.0.1.0/24]", "add route n 10.0.1.0/24"}},
		"kind of Reach changed: delete and add": {have: all, want: &Peer{Name: "n", Networks: []Network{{a, other}}}, ops: []string{
			"delete route n 10.0.1.0/24", "uninstall flows n", "install flows n 192.168.0.1 [10.0.1.0/24]", "add route n 10.0.1.0/24"}},
		"kind of Reach was refused": {have: installed{flows: &flows{peer: Peer{Name: "n", Networks: []Network{{a, other}}}}}, want: peer("n", "192.168.0.1", "10.0.1.0/24"), ops: []string{
			"uninstall flows n", "install flows n 192.168.0.1 [10.0.1.0/24]", "add route n 10.0.1.0/24"}},
		"route of old address": {have: installed{flows: &flows{peer: *peer("n", "192.168.0.2", "10.0.1.0/24"), known: true}, routes: all.routes}, want: peer("n", "192.168.0.2", "10.0.1.0/24"), ops: []string{"add route n 10.0.1.0/24"}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Empty(t, cmp.Diff(tc.ops, texts(plan("n", tc.have, tc.want))))
		})
	}
}

// do plans, and lets every operation succeed.
func do(t *testing.T, s *state, name string, want *Peer) (ops []string, woken []string) {
	t.Helper()
	want, planned, _ := s.plan(name, want)
	for _, op := range planned {
		s.begin(op)
		s.succeed(op)
	}
	return texts(planned), s.settle(name, want)
}

func TestCIDRIsHeldUntilItsFlowsAreGone(t *testing.T) {
	for name, cidr := range map[string]string{"the same": "10.0.1.0/24", "a part": "10.0.1.128/25", "more": "10.0.0.0/16"} {
		t.Run(name, func(t *testing.T) {
			s := newState()
			do(t, s, "old", peer("old", "192.168.0.1", "10.0.1.0/24"))
			want := peer("new", "192.168.0.2", cidr, "fd00::/64")

			possible, ops, err := s.plan("new", want)
			require.Equal(t, peer("new", "192.168.0.2", "fd00::/64"), possible, "the other network need not wait")
			require.Equal(t, []string{"install flows new 192.168.0.2 [fd00::/64]", "add route new fd00::/64"}, texts(ops))
			require.Equal(t, conflictError{node: "new", holder: "old", cidr: prefixes(cidr)[0], held: prefixes("10.0.1.0/24")[0]}, err)
			for _, op := range ops {
				s.begin(op)
				s.succeed(op)
			}
			require.Empty(t, s.settle("new", possible))

			_, planned, err := s.plan("old", nil)
			require.NoError(t, err)
			s.begin(planned[0])
			s.succeed(planned[0])
			s.begin(planned[1])
			require.Empty(t, s.settle("old", nil), "the flows may still exist: the CIDR is not free")
			_, _, err = s.plan("new", want)
			require.Error(t, err)
			s.succeed(planned[1])
			require.Equal(t, []string{"new"}, s.settle("old", nil), "who waited is told")

			ops2, woken := do(t, s, "new", want)
			require.Equal(t, []string{"uninstall flows new", fmt.Sprintf("install flows new 192.168.0.2 [%s fd00::/64]", cidr), "add route new " + cidr}, ops2)
			require.Empty(t, woken)
			require.Equal(t, []Peer{*want}, s.peers())
			require.ElementsMatch(t, want.cidrs(), s.cidrs())
		})
	}
}

func TestTwoNodesSwapCIDRs(t *testing.T) {
	s := newState()
	do(t, s, "a", peer("a", "192.168.0.1", "10.0.1.0/24"))
	do(t, s, "b", peer("b", "192.168.0.2", "10.0.2.0/24"))
	wantA, wantB := peer("a", "192.168.0.1", "10.0.2.0/24"), peer("b", "192.168.0.2", "10.0.1.0/24")

	ops, woken := do(t, s, "a", wantA)
	require.Equal(t, []string{"delete route a 10.0.1.0/24", "uninstall flows a"}, ops, "what a had goes, although its new CIDR is taken")
	require.Empty(t, woken)
	_, woken = do(t, s, "b", wantB)
	require.Equal(t, []string{"a"}, woken)
	do(t, s, "a", wantA)
	require.Equal(t, []Peer{*wantA, *wantB}, s.peers())
}

func TestStateForgetsGoneNodes(t *testing.T) {
	s := newState()
	do(t, s, "a", peer("a", "192.168.0.1", "10.0.1.0/24"))
	do(t, s, "a", nil)
	do(t, s, "never seen", nil)
	require.Empty(t, s.nodes)
	require.Zero(t, s.holders.Len())
	require.Empty(t, s.peers())
}
