// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/coherency"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
)

// conversation is a connection with a handshake, a request and an answer. masks and lookups bound the number of different masks that the datapath's flows
// have for it, and of the lookups of its packets.
type conversation struct {
	name string
	translated
	endpoints      []openflow.Endpoint
	rules          []*policy.Rule
	masks, lookups int
	// withGate are masks that the gate adds.
	withGate int
}

var (
	podToRemote = translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:3001", "10.10.1.20:8080", "10.10.0.11:3001", "10.10.1.20:8080"}
	remoteToPod = translated{oftest.TunnelPort, oftest.PodAPort, "10.10.1.20:3001", "10.10.0.11:8080", "10.10.1.20:3001", "10.10.0.11:8080"}
	podToPod    = translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.10.0.12:8080", "10.10.0.11:3001", "10.10.0.12:8080"}
	nodeToPod   = translated{oftest.GWPort, oftest.PodAPort, "10.10.0.1:3001", "10.10.0.11:8080", "10.10.0.1:3001", "10.10.0.11:8080"}
	toService   = translated{oftest.PodAPort, oftest.TunnelPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.1.20:8080"}
	toServiceB  = translated{oftest.PodAPort, oftest.PodBPort, "10.10.0.11:3001", "10.96.0.10:80", "10.10.0.11:3001", "10.10.0.12:8080"}

	// rulesOfPodA let it open and accept connections of the port with the remote Node.
	rulesOfPodA = []*policy.Rule{
		oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.0/24"), oftest.Tcp(8080)),
		oftest.Egress(3, oftest.PolicyPodA, oftest.Prefixes("10.10.1.0/24"), oftest.Tcp(8080)),
	}
)

// conversations need two lookups for each packet, and two masks in each direction: before conntrack and behind it. A policy adds a mask to the direction
// in which the connection is opened, for the addresses and ports that its rules compare then. A Service adds a lookup and a mask for the choice of an
// Endpoint, and both once more if there are several. Packets to the Node's address pass a second zone, as answers to translated sources do. Between Pods
// of the Node, the cache's marks are written with a priority, which only packets of open connections have.
var conversations = []conversation{
	{"Pod to remote Pod", podToRemote, nil, nil, 4, 8, 0},
	{"remote Pod to Pod", remoteToPod, nil, nil, 4, 8, 0},
	{"Pod to remote Pod, policies", podToRemote, nil, rulesOfPodA, 5, 8, 0},
	{"remote Pod to Pod, policies", remoteToPod, nil, rulesOfPodA, 5, 8, 0},
	{"remote Pod to Endpoint", remoteToPod, []openflow.Endpoint{oftest.LocalEndpoint}, nil, 4, 8, 0},
	{"Pod to Pod", podToPod, nil, nil, 2, 8, 1},
	{"Pod to Pod, both Endpoints", podToPod, []openflow.Endpoint{oftest.LocalEndpoint, oftest.LocalEndpointB}, nil, 2, 8, 1},
	{"Node to Pod", nodeToPod, nil, nil, 5, 10, 0},
	{"Service, remote Endpoint", toService, []openflow.Endpoint{oftest.ElsewhereEndpoint}, nil, 5, 9, 0},
	{"Service, remote Endpoint, policies", toService, []openflow.Endpoint{oftest.ElsewhereEndpoint}, rulesOfPodA, 6, 9, 0},
	{"Service, remote Endpoints", toService, []openflow.Endpoint{oftest.ElsewhereEndpoint, oftest.ElsewhereEndpoint}, nil, 6, 10, 0},
	{"Service, local Endpoint", toServiceB, []openflow.Endpoint{oftest.LocalEndpointB}, nil, 5, 9, 0},
}

// leastLookups are two for each of the four packets.
const leastLookups = 8

// TestWireMasks: each mask of the datapath's flows costs every packet that finds no flow by an earlier one, each lookup every packet of a conversation.
// TestConnectionsNeedFewMasks says which packets share a mask, also with openings.
func TestWireMasks(t *testing.T) {
	for name, features := range map[string]openflow.Features{"gate off": oftest.DefaultFeatures, "gate on": oftest.ONCacheFeatures} {
		w := newWireOf(t, false, false, features)
		if features.ONCache {
			require.NoError(t, w.C.InstallMarkFlows([]coherency.Mark{oftest.MarkOf("pod-a", oftest.PodAPort, 7), oftest.MarkOf("pod-b", oftest.PodBPort, 8)}))
		}
		for _, c := range conversations {
			t.Run(name+", "+c.name, func(t *testing.T) {
				w.T = t
				w.prepare(c)
				w.converse(c.translated)
				flows := w.datapathFlows()
				lookups, masks := 0, map[string]bool{}
				for _, f := range flows {
					lookups += f.lookups
					masks[f.mask] = true
				}
				t.Logf("%d masks, %d lookups", len(masks), lookups)
				allowed := c.masks
				if features.ONCache {
					allowed += c.withGate
				}
				require.GreaterOrEqual(t, lookups, leastLookups, "%v", flows)
				require.LessOrEqual(t, len(masks), allowed, "%v", flows)
				require.LessOrEqual(t, lookups, c.lookups, "%v", flows)
			})
		}
	}
}

// prepare installs what the conversation needs until its test ends, and empties the datapath.
func (w *wire) prepare(c conversation) {
	w.T.Helper()
	if len(c.endpoints) > 0 {
		port := oftest.ClusterPort(c.endpoints...)
		w.install(port)
		w.T.Cleanup(func() { require.NoError(w.T, w.C.UninstallService(port.Name)) })
	}
	for _, r := range c.rules {
		require.NoError(w.T, w.C.UpdatePolicyRules([]*policy.Rule{r}, nil))
		w.T.Cleanup(func() { require.NoError(w.T, w.C.UpdatePolicyRules(nil, []uint32{r.FlowID})) })
	}
	w.settle()
	w.Appctl("dpctl/flush-conntrack")
	w.Appctl("revalidator/purge")
}

// converse sends the packets. Pods and the Node address each other's packets directly, unless a Service is between them.
func (w *wire) converse(c translated) {
	w.T.Helper()
	if c.isSwitched() {
		defer addressDirectly(c.clientPort, c.serverPort)()
	}
	w.open(c)
	w.pass(c.serverPort, segment{c.endpoint, c.source, "A"}, c.clientPort, segment{c.frontend, c.client, "A"})
}

// isSwitched reports whether both ends are on this Node, without a Service between them.
func (c translated) isSwitched() bool {
	return c.frontend == c.endpoint && c.clientPort != oftest.TunnelPort && c.serverPort != oftest.TunnelPort
}

// addressDirectly changes macs so that packets at the two ports have the other port's MAC address, not the gateway's, until the returned function is called.
func addressDirectly(client, server uint32) (end func()) {
	before := [][2]net.HardwareAddr{macs[client], macs[server]}
	macs[client], macs[server] = [2]net.HardwareAddr{before[0][0], before[1][0]}, [2]net.HardwareAddr{before[1][0], before[0][0]}
	return func() { macs[client], macs[server] = before[0], before[1] }
}

// datapathFlow is a flow of the datapath: the fields that it compares, and the packets that have met it.
type datapathFlow struct {
	text, mask string
	lookups    int
}

func (f datapathFlow) String() string { return "\n" + f.text + "\n\t" + f.mask }

var (
	datapathLine  = regexp.MustCompile(`(?m)^(?:ufid:\S+ )?(.*), packets:(\d+), .*$`)
	datapathField = regexp.MustCompile(`([a-z_0-9]+)\(([^()]*)\)`)
)

// datapathFlows returns all of them. The packet for which a flow was made has looked for it, and is not among the packets that it counts.
func (w *wire) datapathFlows() (flows []datapathFlow) {
	w.T.Helper()
	for _, line := range datapathLine.FindAllStringSubmatch(w.Appctl("dpctl/dump-flows", "-m"), -1) {
		packets, err := strconv.Atoi(line[2])
		require.NoError(w.T, err)
		flows = append(flows, datapathFlow{line[0], maskOf(line[1]), packets + 1})
	}
	return flows
}

// maskOf reduces "field(part=value/mask,…),field(value)" to the fields that are compared and their masks. A value without mask is compared completely.
func maskOf(match string) string {
	var fields []string
	for _, field := range datapathField.FindAllStringSubmatch(match, -1) {
		for part := range strings.SplitSeq(field[2], ",") {
			name, value, named := strings.Cut(part, "=")
			if !named {
				name, value = "", part
			}
			_, mask, masked := strings.Cut(value, "/")
			if !masked || strings.Trim(mask, "0x:.") != "" {
				fields = append(fields, fmt.Sprintf("%s.%s/%s", field[1], name, mask))
			}
		}
	}
	slices.Sort(fields)
	return strings.Join(fields, " ")
}
