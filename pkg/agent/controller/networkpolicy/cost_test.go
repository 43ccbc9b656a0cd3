// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/tools/cost"
)

// The limits for the cost of a changed member of a group of cost.Members, from the event to the flows.
const (
	maxChangeCost      = 10 * time.Millisecond
	maxChangeAllocated = 1 << 20
)

// countingSwitch counts the changes of flows instead of making them, so that only their computation is measured.
type countingSwitch struct {
	*of.Fake
	mods int
}

func (s *countingSwitch) Commit(_ context.Context, mods []of.FlowMod) error {
	s.mods += len(mods)
	return nil
}

func costGroup(name string) *v1beta2.AddressGroup {
	g := addressGroup(name)
	for i := range cost.Members {
		g.GroupMembers = append(g.GroupMembers, memberOf(fmt.Sprint("p", i), fmt.Sprintf("10.%d.%d.%d", 1+i>>16, i>>8&255, i&255), "http:TCP:8080"))
	}
	return g
}

// The cost of a change depends on the change, not on the number of members in the groups.
func TestCostOfOneMember(t *testing.T) {
	sw := &countingSwitch{Fake: of.NewFake()}
	b := newSwitchBench(t, sw)
	b.store.AddInterface(iface("a1", "a1", 21, localPod.String()))
	b.set(costGroup("peers"), addressGroup("others", memberOf("o", "10.0.2.1")), appliedToGroup("applied", memberOf("a1"), memberOf("a2")))
	peers := groups("peers")
	more := v1beta2.NetworkPolicyPeer{AddressGroups: []string{"peers", "others"}, IPBlocks: block("192.0.2.0/24").IPBlocks}
	many := []any{
		networkPolicy("groups", "applied", in(more)),
		networkPolicy("named", "applied", out(peers, service(v1beta2.ProtocolTCP, "http"))),
	}
	for i := range 10 {
		many = append(many, networkPolicy(fmt.Sprint("many", i), "applied", in(peers, service(v1beta2.ProtocolTCP, i))))
	}
	for _, tc := range []struct {
		name     string
		policies []any
		// flows is the number of flows for a member.
		flows int
	}{
		{"one policy", []any{networkPolicy("one", "applied", in(peers))}, 1},
		{"twelve more, with other groups and blocks, and of egress to a named port", many, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b.set(tc.policies...)
			require.NoError(t, b.realize())
			before := sw.mods
			requireCheap(t, 6, func(i int) {
				b.patch(oneMember(i))
				require.NoError(t, b.realize())
			})
			require.Equal(t, before+6*tc.flows, sw.mods)
		})
	}
	t.Run("a Pod that they are applied to comes", func(t *testing.T) {
		arriving := iface("a2", "a2", 22, "10.0.0.2")
		requireCheap(t, 6, func(i int) {
			if i%2 == 0 {
				require.NoError(t, b.PodArrives(arriving))
				return
			}
			b.PodLeaves(arriving)
			require.NoError(t, b.realize())
		})
	})
	t.Run("connections are compared with them", func(t *testing.T) {
		table := &connectionTable{}
		for i := range 100 {
			source := netip.AddrFrom4([4]byte{10, byte(1 + 100*(i%2)), 0, byte(i)})
			table.connections = append(table.connections, connection(source, uint16(i), localPod, fromTunnel))
		}
		cutter := NewCutter(table, nil, b.Rules, onNode())
		require.NoError(t, cutter.sweep())
		require.Len(t, table.cut(), 50)
		requireCheap(t, 6, func(int) { require.NoError(t, cutter.sweep()) })
	})
}

// oneMember adds a member to the group of peers, or removes it.
func oneMember(i int) *v1beta2.AddressGroupPatch { return changeOf("peers", i) }

func changeOf(group string, i int) *v1beta2.AddressGroupPatch {
	changed := []v1beta2.GroupMember{memberOf("changed", "10.9.9.9", "http:TCP:8080")}
	if i%2 == 0 {
		return addressGroupPatch(group, changed, nil)
	}
	return addressGroupPatch(group, nil, changed)
}

func requireCheap(t *testing.T, calls int, change func(i int)) {
	t.Helper()
	cpu, allocated := cost.Cheapest(t, calls, change)
	t.Logf("%d members: %v of processor time, %d bytes allocated", cost.Members, cpu, allocated)
	require.Less(t, cpu, cost.Factor*maxChangeCost)
	require.Less(t, allocated, uint64(maxChangeAllocated))
}
