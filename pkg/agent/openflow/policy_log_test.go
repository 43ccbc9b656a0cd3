// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

func TestParseLoggedPacket(t *testing.T) {
	for _, userData := range [][]byte{nil, {1}, {4, 1}, {1, 0}, {1, 3, 'x'}} {
		_, err := ParseLoggedPacket(&of.PacketIn{UserData: userData})
		require.ErrorContains(t, err, "packet-in with the user data", userData)
	}
}

// Which packets come to the audit log, and with what, with real packets.
func TestWirePolicyLog(t *testing.T) { eachDatapath(t, testPolicyLog) }

func testPolicyLog(t *testing.T, w *wire) {
	sw := of.NewSwitch(w.MgmtSocket(bridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, sw.Close()) }()
	packets, err := sw.PacketIns(t.Context(), PolicyLogController, 100)
	require.NoError(t, err)
	defer packets.Close()
	next := func() string {
		t.Helper()
		select {
		case p := <-packets.Packets():
			logged, err := ParseLoggedPacket(p)
			require.NoError(t, err)
			return fmt.Sprintf("%v %s %s %d %s %d", logged.Direction, logged.Reference, logged.Table, logged.Priority, ends(p.Data), logged.PodPort)
		case <-time.After(20 * time.Second):
			require.Fail(t, "nothing was sent to the log")
			return ""
		}
	}
	const (
		allowed = "Ingress K8sNetworkPolicy:shop/web IngressRule 190 10.10.1.20:%d-10.10.0.11:80 11"
		refused = "Ingress  IngressDefaultRule 0 10.10.1.20:%d-10.10.0.11:81 11"
	)
	request := func(source, port int, flags string) segment {
		return segment{withPort(remotePodIP, source), withPort(podAIP, port), flags}
	}
	arrives := func(s segment) { w.pass(tunnelPort, s, podAPort, s) }
	update := func(rules ...*policy.Rule) {
		require.NoError(t, w.c.UpdatePolicyRules(rules, nil))
		w.settle()
	}
	web := func() *policy.Rule { return ingress(2, policyPodA, prefixes("10.10.1.20/32"), tcp(80)) }
	update(logged(web()), logged(egress(3, policyPodB, prefixes("10.10.1.0/24"), tcp(8080))))

	// Only the packet that opens the connection is logged, not even a repetition of it.
	syn := request(5001, 80, "S")
	arrives(syn)
	arrives(syn)
	answer := segment{syn.dst, syn.src, "SA"}
	w.pass(podAPort, answer, tunnelPort, answer)
	arrives(request(5001, 80, "A"))
	require.Equal(t, fmt.Sprintf(allowed, 5001), next())

	// Every packet that is dropped is logged.
	w.send(tunnelPort, request(5002, 81, "S"))
	w.send(tunnelPort, request(5002, 81, "S"))
	require.Equal(t, fmt.Sprintf(refused, 5002), next())
	require.Equal(t, fmt.Sprintf(refused, 5002), next())
	w.send(tunnelPort, request(5003, 80, "")) // UDP
	require.Equal(t, "Ingress  IngressDefaultRule 0 10.10.1.20:5003-10.10.0.11:80 11", next())

	// Egress policies see the Endpoint of a Service, and so does the log.
	w.install(clusterPort(elsewhereEndpoint))
	w.pass(podBPort, segment{"10.10.0.12:5004", "10.96.0.10:80", "S"}, tunnelPort, segment{"10.10.0.12:5004", "10.10.1.20:8080", "S"})
	require.Equal(t, "Egress K8sNetworkPolicy:shop/web EgressRule 190 10.10.0.12:5004-10.10.1.20:8080 12", next())
	w.send(podBPort, segment{"10.10.0.12:5005", "10.10.9.9:80", "S"})
	require.Equal(t, "Egress  EgressDefaultRule 0 10.10.0.12:5005-10.10.9.9:80 12", next())

	// A limited log loses entries, but no packets of connections.
	w.Ofctl("-O", "OpenFlow15", "mod-meter", bridgeName, "meter=256,pktps,burst,band=type=drop,rate=1,burst_size=1")
	arrives(request(5006, 80, "S"))
	require.Equal(t, fmt.Sprintf(allowed, 5006), next())
	for i := range 50 {
		arrives(request(5100+i, 80, "S"))
	}
	require.Less(t, len(packets.Packets()), 50)

	// Another rule that is applied to the Pod is not logged by itself, but what none of them allows is.
	require.NoError(t, replay(w.c))
	other := ingress(4, policyPodA, prefixes("10.10.1.20/32"), tcp(82))
	update(web(), logged(ingress(3, policyPodA, nil)), other)
	for len(packets.Packets()) > 0 {
		<-packets.Packets()
	}
	arrives(request(5007, 80, "S"))
	arrives(request(5008, 82, "S"))
	w.send(tunnelPort, request(5009, 81, "S"))
	require.Equal(t, fmt.Sprintf(refused, 5009), next())

	// Without logging there are the same verdicts.
	update(web(), ingress(3, policyPodA, nil), other)
	arrives(request(5010, 80, "S"))
	w.send(tunnelPort, request(5011, 81, "S"))
	arrives(request(5012, 82, "S"))
	update(logged(web()))
	arrives(request(5013, 80, "S"))
	require.Equal(t, fmt.Sprintf(allowed, 5013), next())
}

// ends returns source and destination of a frame with IPv4 and TCP or UDP.
func ends(frame []byte) string {
	packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	ip, transport := packet.NetworkLayer().NetworkFlow(), packet.TransportLayer().TransportFlow()
	return fmt.Sprintf("%v:%v-%v:%v", ip.Src(), transport.Src(), ip.Dst(), transport.Dst())
}
