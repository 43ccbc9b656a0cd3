// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/oftest"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Which packets come to the audit log, and with what, with real packets.
func TestWirePolicyLog(t *testing.T) { eachDatapath(t, testPolicyLog) }

func testPolicyLog(t *testing.T, w *wire) {
	sw := of.NewSwitch(w.MgmtSocket(oftest.BridgeName))
	_, err := sw.Connect(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, sw.Close()) }()
	packets, err := sw.PacketIns(t.Context(), openflow.PolicyLogController, 100, nil)
	require.NoError(t, err)
	defer packets.Close()
	next := func() string {
		t.Helper()
		select {
		case <-packets.Ready():
			p := packets.Next()
			logged, err := w.C.ParsePolicyPacket(p)
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
		return segment{withPort(oftest.RemotePodIP, source), withPort(oftest.PodAIP, port), flags}
	}
	arrives := func(s segment) { w.pass(oftest.TunnelPort, s, oftest.PodAPort, s) }
	update := func(rules ...*policy.Rule) {
		require.NoError(t, w.C.UpdatePolicyRules(rules, nil))
		w.settle()
	}
	web := func() *policy.Rule {
		return oftest.Ingress(2, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(80))
	}
	update(oftest.Logged(web()), oftest.Logged(oftest.Egress(3, oftest.PolicyPodB, oftest.Prefixes("10.10.1.0/24"), oftest.Tcp(8080))))

	// Only the packet that opens the connection is logged, not even a repetition of it.
	syn := request(5001, 80, "S")
	arrives(syn)
	arrives(syn)
	answer := segment{syn.dst, syn.src, "SA"}
	w.pass(oftest.PodAPort, answer, oftest.TunnelPort, answer)
	arrives(request(5001, 80, "A"))
	require.Equal(t, fmt.Sprintf(allowed, 5001), next())

	// Every packet that is dropped is logged.
	w.send(oftest.TunnelPort, request(5002, 81, "S"))
	w.send(oftest.TunnelPort, request(5002, 81, "S"))
	require.Equal(t, fmt.Sprintf(refused, 5002), next())
	require.Equal(t, fmt.Sprintf(refused, 5002), next())
	w.send(oftest.TunnelPort, request(5003, 80, "")) // UDP
	require.Equal(t, "Ingress  IngressDefaultRule 0 10.10.1.20:5003-10.10.0.11:80 11", next())

	// Egress policies see the Endpoint of a Service, and so does the log.
	w.install(oftest.ClusterPort(oftest.ElsewhereEndpoint))
	w.pass(oftest.PodBPort, segment{"10.10.0.12:5004", "10.96.0.10:80", "S"}, oftest.TunnelPort, segment{"10.10.0.12:5004", "10.10.1.20:8080", "S"})
	require.Equal(t, "Egress K8sNetworkPolicy:shop/web EgressRule 190 10.10.0.12:5004-10.10.1.20:8080 12", next())
	w.send(oftest.PodBPort, segment{"10.10.0.12:5005", "10.10.9.9:80", "S"})
	require.Equal(t, "Egress  EgressDefaultRule 0 10.10.0.12:5005-10.10.9.9:80 12", next())

	// A limited log loses entries, but no packets of connections.
	began := time.Now()
	w.Ofctl("-O", "OpenFlow15", "mod-meter", oftest.BridgeName, "meter=256,pktps,burst,band=type=drop,rate=1,burst_size=1")
	arrives(request(5006, 80, "S"))
	require.Equal(t, fmt.Sprintf(allowed, 5006), next())
	for i := range 50 {
		arrives(request(5100+i, 80, "S"))
	}
	require.LessOrEqual(t, packets.Waiting(), 2+int(time.Since(began)/time.Second)) // one at once, and one a second

	// Another rule that is applied to the Pod is not logged by itself, but what none of them allows is.
	require.NoError(t, oftest.Replay(w.C))
	other := oftest.Ingress(4, oftest.PolicyPodA, oftest.Prefixes("10.10.1.20/32"), oftest.Tcp(82))
	update(web(), oftest.Logged(oftest.Ingress(3, oftest.PolicyPodA, nil)), other)
	for packets.Waiting() > 0 {
		packets.Next()
	}
	arrives(request(5007, 80, "S"))
	arrives(request(5008, 82, "S"))
	w.send(oftest.TunnelPort, request(5009, 81, "S"))
	require.Equal(t, fmt.Sprintf(refused, 5009), next())

	// Without logging there are the same verdicts.
	update(web(), oftest.Ingress(3, oftest.PolicyPodA, nil), other)
	arrives(request(5010, 80, "S"))
	w.send(oftest.TunnelPort, request(5011, 81, "S"))
	arrives(request(5012, 82, "S"))
	update(oftest.Logged(web()))
	arrives(request(5013, 80, "S"))
	require.Equal(t, fmt.Sprintf(allowed, 5013), next())
}

// ends returns source and destination of a frame with IPv4 and TCP or UDP.
func ends(frame []byte) string {
	packet := gopacket.NewPacket(frame, layers.LayerTypeEthernet, gopacket.Default)
	ip, transport := packet.NetworkLayer().NetworkFlow(), packet.TransportLayer().TransportFlow()
	return fmt.Sprintf("%v:%v-%v:%v", ip.Src(), transport.Src(), ip.Dst(), transport.Dst())
}
