// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// askAgent reads a path of the agent's API (see pkg/antctl for the paths and queries) and decodes its JSON.
func askAgent[Answer any](t *testing.T, n *cluster.Node, path string) Answer {
	t.Helper()
	answer, err := tryAskAgent[Answer](t, n, path)
	require.NoError(t, err)
	return answer
}

func tryAskAgent[Answer any](t *testing.T, n *cluster.Node, path string) (answer Answer, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	body, err := n.AskAgent(ctx, path)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal(body, &answer)
}

// antctl runs antctl as in the agent's Pod and decodes its JSON.
func antctl[Answer any](t *testing.T, n *cluster.Node, args ...string) Answer {
	t.Helper()
	answer, err := tryAntctl[Answer](t, n, args...)
	require.NoError(t, err)
	return answer
}

func tryAntctl[Answer any](t *testing.T, n *cluster.Node, args ...string) (answer Answer, err error) {
	ctx, cancel := context.WithTimeout(t.Context(), execTimeout)
	defer cancel()
	out, err := n.Exec(ctx, append(append([]string{"antctl"}, args...), "-o", "json")...)
	if err != nil {
		return answer, err
	}
	return answer, json.Unmarshal([]byte(out), &answer)
}

func oncacheStatus(t *testing.T, n *cluster.Node) api.Status {
	t.Helper()
	return askAgent[api.Status](t, n, "/oncache")
}

// flow is a connection as its client sees it.
type flow struct {
	proto          string // TCP, UDP
	client, server netip.AddrPort
	// service is the address that the client connects to, if it is not the server's own.
	service netip.AddrPort
}

// dialed is the address that the client connects to.
func (f flow) dialed() netip.AddrPort {
	if f.service.IsValid() {
		return f.service
	}
	return f.server
}

// from and to are the options of traffic for the client's port, and for the address that it connects to.
func (f flow) from() string { return fmt.Sprintf("--from=:%d", f.client.Port()) }

func (f flow) to() string { return to(f.dialed().Addr(), f.dialed().Port()) }

func (f flow) String() string {
	if f.service.IsValid() {
		return fmt.Sprintf("%s %s -> %s -> %s", f.proto, f.client, f.service, f.server)
	}
	return fmt.Sprintf("%s %s -> %s", f.proto, f.client, f.server)
}

// entries are the cache's entries of a connection on one Node: what the local Pod sends, and what it receives. An entry that
// does not exist has State "".
type entries struct{ egress, ingress api.FlowInfo }

func (e entries) active() bool { return e.egress.State == "active" && e.ingress.State == "active" }

// end is one of the two ends of a flow.
type end struct {
	flow
	onClient bool
}

// local is the Pod at this end, and its Node.
func (s *suite) local(e end) (*cluster.Node, netip.AddrPort) {
	if e.onClient {
		return s.nodeOf(e.client.Addr()), e.client
	}
	return s.nodeOf(e.server.Addr()), e.server
}

// entriesOf reads the entries of a flow; onClient selects the client's end.
func (s *suite) entriesOf(t *testing.T, f flow, onClient bool) (entries, error) {
	at := end{f, onClient}
	node, local := s.local(at)
	infos, err := entriesOfPod(t, node, local.Addr())
	return s.entriesAmong(infos, at), err
}

func entriesOfPod(t *testing.T, n *cluster.Node, pod netip.Addr) ([]api.FlowInfo, error) {
	return tryAskAgent[[]api.FlowInfo](t, n, "/oncache?view=flows&ip="+pod.String())
}

// entriesAmong picks the entries of a flow's end from its Pod's entries.
func (s *suite) entriesAmong(infos []api.FlowInfo, at end) entries {
	f := at.flow
	node, _ := s.local(at)
	// Requests and answers, as the Node's programs see them before Open vSwitch. Only the client's Node knows of a Service.
	request := api.FlowInfo{Protocol: f.proto, Direction: "egress", Source: f.client.String(), Destination: f.server.String()}
	answer := api.FlowInfo{Protocol: f.proto, Direction: "ingress", Source: f.server.String(), Destination: f.client.String()}
	if f.service.IsValid() && node == s.nodeOf(f.client.Addr()) {
		request.Destination, request.Translated, answer.Translated = f.service.String(), f.server.String(), f.service.String()
	}
	switch {
	case s.isWithin(f): // both come from a Pod of this Node
		answer.Direction = "egress"
	case !at.onClient:
		request.Direction, answer.Direction = "ingress", "egress"
	}
	var e entries
	for _, info := range infos {
		switch (api.FlowInfo{
			Protocol: info.Protocol, Direction: info.Direction, Source: info.Source, Destination: info.Destination, Translated: info.Translated,
		}) {
		case request:
			e.egress = info
		case answer:
			e.ingress = info
		}
	}
	if !at.onClient {
		e.egress, e.ingress = e.ingress, e.egress
	}
	return e
}

// waitFast waits until both directions of each flow are active on both Nodes and have carried more packets than before.
func (s *suite) waitFast(t *testing.T, flows ...flow) {
	t.Helper()
	before := map[end]*entries{} // nil before the end was seen for the first time
	var what []string
	for _, f := range flows {
		before[end{f, true}], before[end{f, false}] = nil, nil
		what = append(what, f.String())
	}
	eventually(t, strings.Join(what, ", ")+" to take the fast path", func() (err error) {
		pods := map[netip.Addr][]api.FlowInfo{} // each read once
		for at, first := range before {
			node, local := s.local(at)
			infos, ok := pods[local.Addr()]
			if !ok {
				if infos, err = entriesOfPod(t, node, local.Addr()); err != nil {
					return err
				}
				pods[local.Addr()] = infos
			}
			e := s.entriesAmong(infos, at)
			switch {
			case first == nil, e.egress.Packets < first.egress.Packets, e.ingress.Packets < first.ingress.Packets: // or they were replaced
				before[at] = &e
			case e.active() && e.egress.Packets > first.egress.Packets && e.ingress.Packets > first.ingress.Packets:
				delete(before, at)
			}
		}
		for at, e := range before {
			return fmt.Errorf("%d ends do not yet; %s: egress %+v, ingress %+v", len(before), at.flow, e.egress, e.ingress)
		}
		return nil
	})
}

// isCached reports whether the cache carries a flow once it knows it.
func (s *suite) isCached(f flow) bool { return s.carries(s.isWithin(f)) }

// carries reports whether the cache carries flows within a Node, or between Nodes.
func (s *suite) carries(within bool) bool {
	return s.oncache && (s.mode == "" || s.directHits || within)
}

// waitFastIfGate waits for the fast path where there is one.
func (s *suite) waitFastIfGate(t *testing.T, f flow) {
	t.Helper()
	if s.isCached(f) {
		s.waitFast(t, f)
	}
}

// tunnelDevice is the device through which Open vSwitch sends and receives tunnel packets.
func (s *suite) tunnelDevice() string {
	if s.tunnel == "vxlan" {
		return "vxlan_sys_4789"
	}
	return "genev_sys_6081"
}

// hostGateway is the interface between Open vSwitch and the host.
const hostGateway = "antrea-gw0"

// slowDevice is the device that packets between Nodes pass, except hits. Without the tunnel, packets between the host and Pods pass it as well.
func (s *suite) slowDevice() string {
	switch s.mode {
	case "":
		return s.tunnelDevice()
	case wireGuardMode:
		return config.WireGuardDevice
	}
	return hostGateway
}

// slowPackets returns the packets between Nodes that Open vSwitch of a Node has sent and received, and the cache has not.
func (s *suite) slowPackets(t *testing.T, n *cluster.Node) (sent, received uint64) {
	t.Helper()
	sent, received = devicePackets(t, n, s.slowDevice())
	if s.slowDevice() == hostGateway { // as the host counts, which forwards them
		return received, sent
	}
	return sent, received
}

// devicePackets returns the packets that a device of a Node has sent and received.
func devicePackets(t *testing.T, n *cluster.Node, device string) (sent, received uint64) {
	t.Helper()
	read := func(name string) uint64 {
		text, err := n.ReadFile("/sys/class/net/" + device + "/statistics/" + name)
		require.NoError(t, err)
		value, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		require.NoError(t, err)
		return value
	}
	return read("tx_packets"), read("rx_packets")
}
