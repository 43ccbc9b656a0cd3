// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// waitTime bounds what a test waits for; it is never reached unless the test fails.
const waitTime = 30 * time.Second

func numbered(table uint8, cookie uint64, n int) []Flow {
	flows := make([]Flow, n)
	for i := range flows {
		flows[i] = Flow{Table: table, Priority: 100, Cookie: cookie, Match: []Match{Reg(0, all, uint32(i))}, Actions: []Action{Normal{}}}
	}
	return flows
}

func TestCommitIsAtomicOnOVS(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	old := Flow{Table: 1, Priority: 1, Cookie: 1, Actions: []Action{Output{1}}}
	require.NoError(t, s.Commit(t.Context(), adds(old)))
	// Table 9 has room for one flow only.
	ovs.Vsctl("--id=@t", "create", "Flow_Table", "flow_limit=1", "overflow_policy=refuse", "--", "set", "bridge", testBridge, "flow_tables:9=@t")

	for _, tc := range []struct {
		name string
		bad  []Flow
		code *Error
		text string
	}{
		{"refused when added to the bundle", []Flow{{Table: 2, Priority: 9, Match: []Match{IPProto(IPProtoTCP)}}},
			&Error{Type: 4, Code: 9}, "OFPBMC_BAD_PREREQ"},
		{"bad action", []Flow{{Table: 2, Priority: 9, Actions: []Action{LoadField{FieldConjID, all, 1}}}},
			&Error{Type: 2, Code: 15}, "OFPBAC_BAD_SET_ARGUMENT"},
		{"refused when committed", []Flow{{Table: 9, Priority: 1}, {Table: 9, Priority: 9}},
			&Error{Type: 5, Code: 1}, "OFPFMFC_TABLE_FULL"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			replaced := old
			replaced.Actions = []Action{Output{2}}
			mods := append(adds(numbered(3, 3, 50)...), FlowMod{Command: DeleteStrict, Flow: old}, FlowMod{Flow: replaced})
			mods = append(mods, adds(tc.bad...)...)
			mods = append(mods, adds(numbered(4, 4, 50)...)...)
			err := s.Commit(t.Context(), mods)
			var fe *FlowError
			require.ErrorAs(t, err, &fe)
			require.Equal(t, tc.bad[len(tc.bad)-1].String(), fe.Flow)
			var oe *Error
			require.ErrorAs(t, err, &oe)
			require.Equal(t, tc.code, oe)
			require.ErrorContains(t, err, tc.text)
			require.Equal(t, []string{old.String()}, ovs.DumpFlows(testBridge), "nothing changed")
			require.NoError(t, s.Commit(t.Context(), adds(old)), "the connection is still usable")
		})
	}
}

func TestModsApplyInOrderOnOVS(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	f := Flow{Table: 1, Priority: 1, Cookie: 1}
	g := f
	g.Cookie, g.Actions = 2, []Action{Normal{}}
	require.NoError(t, s.Commit(t.Context(), nil))
	require.NoError(t, s.Commit(t.Context(), []FlowMod{{Flow: f}, {Command: DeleteStrict, Flow: f}, {Flow: g}}))
	require.Equal(t, []string{g.String()}, ovs.DumpFlows(testBridge))
	require.NoError(t, s.Commit(t.Context(), adds(f)))
	require.Equal(t, []string{f.String()}, ovs.DumpFlows(testBridge), "an addition replaces actions and cookie")
	require.NoError(t, s.Barrier(t.Context()))
}

func TestDeletionsOnOVS(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	m := Reg(0, Range{0, 3}, 1)
	narrow := Flow{Table: 1, Priority: 10, Cookie: 0x0001_0100_0000_0001, Match: []Match{m, ip4}, Actions: []Action{Output{1}}}
	wide := Flow{Table: 1, Priority: 10, Cookie: 0x0001_0100_0000_0002, Match: []Match{m}, Actions: []Action{Output{1}}}
	higher := Flow{Table: 1, Priority: 11, Cookie: 0x0002_0100_0000_0001, Match: []Match{m}, Actions: []Action{Output{1}}}
	other := Flow{Table: 5, Priority: 10, Cookie: 0x0001_0200_0000_0001, Match: []Match{m}, Actions: []Action{Output{1}}}
	everything := []Flow{narrow, wide, higher, other}
	left := func(flows ...Flow) {
		t.Helper()
		var want []string
		for _, f := range flows {
			want = append(want, f.String())
		}
		require.ElementsMatch(t, want, ovs.DumpFlows(testBridge))
	}
	for _, tc := range []struct {
		name string
		mod  FlowMod
		left []Flow
	}{
		{"strict: the same match and priority only, regardless of cookie and actions", FlowMod{Command: DeleteStrict,
			Flow: Flow{Table: 1, Priority: 10, Cookie: 99, Match: []Match{m}}}, []Flow{narrow, higher, other}},
		{"strict: a missing flow is not an error", FlowMod{Command: DeleteStrict, Flow: Flow{Table: 1, Priority: 12, Match: []Match{m}}}, everything},
		{"strict: no match at all", FlowMod{Command: DeleteStrict, Flow: Flow{Table: 1, Priority: 10}}, everything},
		{"by cookie: one round in every table", FlowMod{Command: DeleteByCookie, Flow: Flow{Cookie: 1 << 48}, CookieMask: 0xffff << 48},
			[]Flow{higher}},
		{"by cookie: the rest of the flow does not count", FlowMod{Command: DeleteByCookie, Flow: Flow{Table: 77, Priority: 7,
			Match: []Match{InPort(5)}, Cookie: 0x0001_0100_0000_0002}, CookieMask: 0xffff_ffff_ffff_ffff}, []Flow{narrow, higher, other}},
		{"by cookie: none", FlowMod{Command: DeleteByCookie, Flow: Flow{Cookie: 3 << 48}, CookieMask: 0xffff << 48}, everything},
	} {
		t.Run(tc.name, func(t *testing.T) {
			require.NoError(t, s.Commit(t.Context(), adds(everything...)))
			require.NoError(t, s.Commit(t.Context(), []FlowMod{tc.mod}))
			left(tc.left...)

			fake := NewFake()
			_, err := fake.Connect(t.Context())
			require.NoError(t, err)
			require.NoError(t, fake.Commit(t.Context(), append(adds(everything...), tc.mod)))
			require.ElementsMatch(t, keys(tc.left), keys(fake.Flows()), "the fake agrees with OVS")
		})
	}
}

func TestConcurrentCommitsOnOVS(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	const workers, rounds = 8, 20
	var g errgroup.Group
	for w := range workers {
		g.Go(func() error {
			for r := range rounds {
				flows := numbered(uint8(w+1), uint64(r+1), 20)
				if err := s.Commit(t.Context(), adds(flows...)); err != nil {
					return err
				}
				bad := Flow{Table: uint8(w + 1), Priority: uint16(r), Match: []Match{IPProto(6)}}
				err := s.Commit(t.Context(), append(adds(Flow{Table: 100, Priority: 1}), FlowMod{Flow: bad}))
				var fe *FlowError
				if !errors.As(err, &fe) || fe.Flow != bad.String() {
					return fmt.Errorf("want the refusal of %v, got %w", bad, err)
				}
				if err := s.Barrier(t.Context()); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	counts, err := s.TableFlowCounts(t.Context())
	require.NoError(t, err)
	require.Len(t, counts, workers, "no flow of a refused bundle is left")
	for w := range workers {
		require.Equal(t, 20, counts[uint8(w+1)])
	}
	require.Len(t, ovs.DumpFlows(testBridge), workers*20)
}

func TestReconnectOnOVS(t *testing.T) {
	ovs, s, reconnected := connectOVS(t)
	flows := numbered(1, 1, 3)
	require.NoError(t, s.Commit(t.Context(), adds(flows...)))

	ovs.KillVswitchd()
	require.Eventually(t, func() bool { return !s.IsConnected() }, waitTime, time.Millisecond)
	require.ErrorIs(t, s.Commit(t.Context(), adds(flows...)), ErrDisconnected)
	require.ErrorIs(t, s.Barrier(t.Context()), ErrDisconnected)
	_, err := s.TableFlowCounts(t.Context())
	require.ErrorIs(t, err, ErrDisconnected)

	ovs.StartVswitchd()
	select {
	case <-reconnected:
	case <-time.After(waitTime):
		t.Fatal("no reconnection was reported")
	}
	require.True(t, s.IsConnected())
	counts, err := s.TableFlowCounts(t.Context())
	require.NoError(t, err)
	require.Empty(t, counts, "flows do not outlive vswitchd")
	require.NoError(t, s.Commit(t.Context(), adds(flows...)))
	require.Len(t, ovs.DumpFlows(testBridge), 3)

	require.NoError(t, s.Close())
	require.NoError(t, s.Close())
	require.False(t, s.IsConnected())
	require.ErrorIs(t, s.Commit(t.Context(), adds(flows...)), ErrDisconnected)
	_, err = s.Connect(t.Context())
	require.Error(t, err)
}

// TestKilledInTheMiddleOnOVS kills vswitchd while bundles are on the way: every caller gets its answer.
func TestKilledInTheMiddleOnOVS(t *testing.T) {
	ovs, s, _ := connectOVS(t)
	mods := adds(numbered(1, 1, 2000)...)
	committed := make(chan struct{}, 4)
	var g errgroup.Group
	for range 4 {
		g.Go(func() error {
			for {
				if err := s.Commit(t.Context(), mods); err != nil {
					return err
				}
				select {
				case committed <- struct{}{}:
				default:
				}
			}
		})
	}
	<-committed
	ovs.KillVswitchd()
	require.ErrorIs(t, g.Wait(), ErrDisconnected)
}

func TestConnectWaitsForTheSwitch(t *testing.T) {
	ovs, _, _ := connectOVS(t)
	late := NewSwitch(filepath.Join(ovs.RunDir, "br-late.mgmt"))
	t.Cleanup(func() { require.NoError(t, late.Close()) })
	require.ErrorIs(t, late.Commit(t.Context(), adds(Flow{})), ErrDisconnected)

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := late.Connect(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorContains(t, err, "br-late.mgmt")

	done := make(chan error, 1)
	go func() {
		_, err := late.Connect(t.Context())
		done <- err
	}()
	ovs.AddBridge("br-late", "OpenFlow13")
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(waitTime):
		t.Fatal("the bridge exists but Connect does not return")
	}
	require.NoError(t, late.Commit(t.Context(), adds(Flow{Table: 1})))
	_, err = late.Connect(t.Context())
	require.ErrorContains(t, err, "already")
}

func TestConnectToABridgeWithoutOpenFlow13(t *testing.T) {
	ovs, _, _ := connectOVS(t)
	socket := ovs.AddBridge("br-old", "OpenFlow10", "OpenFlow15")
	_, err := testDial(t.Context(), openUnix(socket))
	require.ErrorContains(t, err, "add OpenFlow13 to the bridge's protocols")
}
