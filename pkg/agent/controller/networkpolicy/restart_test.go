// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// choosySwitch refuses flows whose text has a certain part, and records its content after each bundle.
type choosySwitch struct {
	*of.Fake
	refused string
	after   func(flows []of.Flow)
}

func (s *choosySwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	for _, mod := range mods {
		if text := mod.Flow.String(); mod.Command == of.Add && s.refused != "" && strings.Contains(text, s.refused) {
			return &of.FlowError{Flow: text, Err: errors.New("OFPBAC_TOO_MANY")}
		}
	}
	if err := s.Fake.Commit(ctx, mods); err != nil {
		return err
	}
	if s.after != nil {
		s.after(s.Flows())
	}
	return nil
}

// An agent starts on a switch with another agent's policies, some of which are now refused or invalid. No Pod is open at
// any time that was not, and others' policies remain.
func TestRestartWithBadPolicies(t *testing.T) {
	sw := &choosySwitch{Fake: of.NewFake()}
	start := func(round openflow.RoundInfo, changed ...any) *Controller {
		flows := openflow.NewClient(sw, func(map[uint8]string) error { return nil }, openflow.Features{ONCache: true})
		_, err := flows.Initialize(t.Context(), round, &config.NodeConfig{
			Name: "n", OVSBridge: "br-int", PodIPv4CIDR: netip.MustParsePrefix("10.0.0.0/24"), TunnelOFPort: config.TunnelOFPort,
			Gateway: config.GatewayConfig{Name: "antrea-gw0", MAC: net.HardwareAddr{2, 0, 0, 0, 0, 1}, IPv4: netip.MustParseAddr("10.0.0.254"), OFPort: config.GatewayOFPort},
		}, &config.NetworkConfig{TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, IPv4Enabled: true})
		require.NoError(t, err)
		store := interfacestore.NewInterfaceStore()
		for i, pod := range []string{"a1", "b1", "c1"} {
			store.AddInterface(iface(pod, pod, uint32(21+i), fmt.Sprint("10.0.0.", 21+i)))
		}
		c := New(nil, flows, &fakeDatapath{}, store, t.TempDir(), problem.NewRecorder())
		c.unsynced.Clear()
		b := &bench{t: t, Controller: c}
		b.set(appliedToGroup("a", memberOf("a1")), appliedToGroup("b", memberOf("b1")), appliedToGroup("c", memberOf("c1")),
			networkPolicy("refused", "a", bad(in)), networkPolicy("senseless", "b", in(block(everything))), networkPolicy("good", "c", in(block("192.0.2.0/24"))))
		b.set(changed...)
		require.NoError(t, c.realize())
		require.True(t, isClosed(c.Synced()))
		return c
	}
	has := func(flows []of.Flow, parts ...string) bool {
		return slices.ContainsFunc(flows, func(f of.Flow) bool {
			return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(f.String(), part) })
		})
	}
	isolated := func(flows []of.Flow, port int) bool { return has(flows, fmt.Sprintf("reg1=%#x actions=drop", port)) }

	start(openflow.RoundInfo{RoundNum: 5})
	previous := uint16(5)
	sw.refused = "tp_dst=666"
	sw.after = func(flows []of.Flow) {
		for port := 21; port < 24; port++ {
			require.True(t, isolated(flows, port), "Pod at port %d is open", port)
		}
		require.True(t, has(flows, "nw_src=192.0.2.0/24", "conjunction"), "others are refused nothing")
	}
	up := in(block(everything), service("ICMP", 1))
	c := start(openflow.RoundInfo{RoundNum: 6, PrevRoundNum: &previous}, networkPolicy("senseless", "b", up))
	require.Len(t, c.refusals, 2)
	require.False(t, has(sw.Flows(), "cookie=0x5"), "nothing of the former round is left: %v", sw.Flows())
}
