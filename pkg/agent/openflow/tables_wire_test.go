// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
)

// Flows that the datapath has from before a change of the pipeline send packets through conntrack to the number of a table. Until the revalidators have
// seen them, a packet for which the datapath has no flow behind conntrack continues in the table that has this number now. With another one there, it
// would pass tables twice, or miss some of them, such as the tables of policies.
func TestWireTablesKeepTheirNumbers(t *testing.T) {
	for name, change := range map[string]struct{ former, next openflow.Features }{
		"with a table more": {openflow.Features{AntreaPolicy: true}, oftest.ProxyAllFeatures},
		"with a table less": {oftest.ProxyAllFeatures, openflow.Features{AntreaPolicy: true}},
	} {
		t.Run(name, func(t *testing.T) {
			eachDatapath(t, func(t *testing.T, w *wire) { testTablesKeepTheirNumbers(t, w, change.former, change.next) })
		})
	}
}

func testTablesKeepTheirNumbers(t *testing.T, w *wire, former, next openflow.Features) {
	c := translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
	w.install(oftest.ClusterPort(oftest.LocalEndpointB))
	w.open(c)
	if !former.AntreaProxy {
		w.successor(former)
	}
	// Only packets that open connections make flows of the datapath, so that the connection's next one is the first of its kind.
	w.Appctl("dpctl/del-flows")
	opening := segment{"10.10.0.11:3002", c.frontend, "S"}
	if former.AntreaProxy {
		w.pass(c.clientPort, opening, c.serverPort, segment{opening.src, c.endpoint, "S"})
	} else {
		w.pass(c.clientPort, opening, oftest.GWPort, opening)
	}
	w.Appctl("revalidator/pause")
	paused := true
	resume := func() {
		if paused {
			w.Appctl("revalidator/resume")
			paused = false
		}
	}
	t.Cleanup(resume)
	w.takeOver(next)
	sent := recirculations(w)
	w.send(c.clientPort, segment{c.client, c.frontend, "A"})
	require.Equal(t, segment{c.source, c.endpoint, "A"}, w.next(c.serverPort).segment)
	require.Equal(t, sent, recirculations(w), "the connection's packet has not used the former flow to conntrack")
	resume()
	w.settle()
	w.use(c)
	w.pass(c.serverPort, segment{c.endpoint, c.source, "A"}, c.clientPort, segment{c.frontend, c.client, "A"})
}

// Packets of connections pass while an agent with more or fewer tables, of another mode of traffic or another version, starts.
func TestWireConnectionsPassWhileTablesChange(t *testing.T) {
	eachDatapath(t, func(t *testing.T, w *wire) {
		local := translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}
		direct := translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:3002", "10.10.1.20:8080", "10.10.0.11:3002", "10.10.1.20:8080"}
		w.install(oftest.ClusterPort(oftest.LocalEndpointB))
		w.open(local)
		w.open(direct)
		routed := oftest.ProxyAllFeatures
		routed.Egress, routed.AntreaPolicy = false, false
		for _, features := range []openflow.Features{routed, oftest.ProxyAllFeatures} {
			w.begin(features, oftest.TestNetwork)
			w.settle()
			for _, c := range []translated{local, direct} {
				w.use(c)
				w.pass(c.serverPort, segment{c.endpoint, c.source, "A"}, c.clientPort, segment{c.frontend, c.client, "A"})
			}
			w.connect()
			require.NoError(t, w.C.DeleteStaleFlows())
			w.settle()
		}
	})
}

// An agent that encrypts deletes flows that send packets to other Nodes in the tunnel. Others keep them until they have their own.
func TestEncryptionDeletesTunnels(t *testing.T) {
	for _, port := range []uint16{0, 51820} {
		w := newWire(t, false)
		network := *oftest.TestNetwork
		network.WireGuardPort = port
		w.begin(oftest.ProxyAllFeatures, &network)
		require.Equal(t, port == 0, strings.Contains(w.Ofctl("dump-flows", oftest.BridgeName), "->tun_dst"))
	}
}

var toConntrack = regexp.MustCompile(`(?m)^.*recirc_id\(0\),in_port\((?:pod-a|\d+)\).*eth_type\(0x0800\).*recirc\((0x[0-9a-f]+)\)$`)

// recirculations returns the ids to which the datapath sends a Pod's packets behind conntrack.
func recirculations(w *wire) (ids []string) {
	for _, m := range toConntrack.FindAllStringSubmatch(w.Appctl("dpctl/dump-flows"), -1) {
		ids = append(ids, m[1])
	}
	require.NotEmpty(w.T, ids)
	return ids
}
