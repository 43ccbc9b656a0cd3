// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// Foreign changes to the host side of a Pod are repaired by the next look, or are a problem of only that Pod.
func TestInterfacesOfPodsAreKept(t *testing.T) {
	h := newReadyHarness(t)
	problems := problem.NewRecorder()
	look := h.server.Upkeep(problems).Repair
	web, db := h.newPod("web"), h.newPod("db")
	h.mustAdd(web)
	h.mustAdd(db)
	name := web.hostInterface()
	flows := h.flows.all()
	state := func() podState {
		t.Helper()
		link, err := netlink.LinkByName(name)
		require.NoError(t, err)
		c, known := h.store.GetInterfaceByName(name)
		require.True(t, known)
		s, err := h.server.podState(c, link.Attrs())
		require.NoError(t, err)
		return s
	}
	for what, spoil := range map[string]func(){
		"nothing": func() {},
		"device is down": func() {
			link, err := netlink.LinkByName(name)
			require.NoError(t, err)
			require.NoError(t, netlink.LinkSetDown(link))
		},
		"port is deleted": func() { require.NoError(t, h.ports.DeletePort(name)) },
	} {
		spoil()
		require.NoError(t, look(t.Context()), what)
		require.Equal(t, nothingToRepair, state().repair(), what)
		list, _ := problems.List()
		require.Empty(t, list, what)
	}
	require.Len(t, h.flows.all(), len(flows))

	// A repair that fails half-way continues at the next look.
	require.NoError(t, h.ports.DeletePort(name))
	h.flows.set(func(f *fakeFlows) { f.installErr = errors.New("not connected") })
	require.ErrorContains(t, look(t.Context()), "not connected")
	require.Equal(t, renumber, state().repair())
	require.Error(t, look(t.Context()))
	halfway, _ := problems.List()
	require.Len(t, halfway, 1, "at the second failure")
	h.flows.set(func(f *fakeFlows) { f.installErr = nil })
	require.NoError(t, look(t.Context()))
	halfway, _ = problems.List()
	require.Empty(t, halfway)
	require.Equal(t, nothingToRepair, state().repair())
	c, known := h.store.GetInterfaceByName(name)
	require.True(t, known)
	require.Equal(t, h.flows.all()[name].OFPort, c.OFPort, "flows and store have the port's present number")

	require.NoError(t, deleteHostLink(name))
	for range 2 {
		require.NoError(t, look(t.Context()))
	}
	list, _ := problems.List()
	require.Len(t, list, 1)
	require.Equal(t, problem.Subject{Kind: "Pod", Namespace: "test", Name: "web"}, list[0].Subject)
	require.Equal(t, ReasonDisconnected, list[0].Reason)
	require.Contains(t, list[0].Message, "delete the Pod")
	h.mustDel(web)
	require.NoError(t, look(t.Context()))
	list, _ = problems.List()
	require.Empty(t, list, "the Pod is gone")
	h.mustDel(db)
	h.requireNothing(db)
}

func TestPodRepairs(t *testing.T) {
	fine := podState{device: true, up: true, attached: true, port: true, sameNumber: true}
	require.Equal(t, nothingToRepair, fine.repair())
	for want, change := range map[podRepair]func(*podState){
		setUp:      func(s *podState) { s.up = false },
		addPort:    func(s *podState) { s.port, s.sameNumber, s.attached = false, false, false },
		renumber:   func(s *podState) { s.sameNumber = false },
		attach:     func(s *podState) { s.attached = false },
		replacePod: func(s *podState) { *s = podState{port: true} },
	} {
		s := fine
		change(&s)
		require.Equal(t, want, s.repair())
	}
}
