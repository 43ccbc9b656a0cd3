// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// fakePolicies has an egress rule 3 of Kubernetes for the client, and for the server an ingress rule 2 of Kubernetes, and rules of tiers: 4 drops, 5
// rejects, 6 of the baseline tier allows, and 7 allows.
type fakePolicies struct{}

func (fakePolicies) Rules() []*policy.Rule {
	tiers := func(id uint32, direction policy.Direction, stage policy.Stage, action policy.Action) *policy.Rule {
		return &policy.Rule{FlowID: id, Direction: direction, Name: fmt.Sprint("rule", id), Effect: policy.Effect{Order: policy.Order{Stage: stage}, Action: action}}
	}
	return []*policy.Rule{
		tiers(4, policy.Ingress, policy.StageTiers, policy.Drop), tiers(5, policy.Egress, policy.StageTiers, policy.Reject),
		tiers(6, policy.Ingress, policy.StageBaseline, policy.Allow), tiers(7, policy.Egress, policy.StageTiers, policy.Allow),
		{Effect: policy.Kubernetes, FlowID: 2, Direction: policy.Ingress, AppliedTo: []policy.Pod{{OFPort: 20, IPs: []netip.Addr{serverIP}}}},
		{Effect: policy.Kubernetes, FlowID: 3, Direction: policy.Egress, AppliedTo: []policy.Pod{{OFPort: 11, IPs: []netip.Addr{clientIP}}}},
	}
}

func (fakePolicies) RuleOwner(id uint32) (v1beta2.NetworkPolicyReference, bool) {
	ref := v1beta2.NetworkPolicyReference{Type: v1beta2.K8sNetworkPolicy, Namespace: "ns", Name: fmt.Sprint("policy", id)}
	if id >= 4 && id <= 7 {
		ref = v1beta2.NetworkPolicyReference{Type: v1beta2.AntreaClusterNetworkPolicy, Name: fmt.Sprint("acnp", id)}
	}
	return ref, id >= 2 && id <= 7
}

func interfaces() interfacestore.InterfaceStore {
	store := interfacestore.NewInterfaceStore()
	for _, p := range []*pod{client, server} {
		namespace, name, _ := strings.Cut(p.name, "/")
		store.AddInterface(&interfacestore.InterfaceConfig{
			Type: interfacestore.ContainerInterface, InterfaceName: p.interfaceName, IPs: p.ips, MAC: p.mac,
			OVSPortConfig:            &interfacestore.OVSPortConfig{OFPort: p.ofPort},
			ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodName: name, PodNamespace: namespace, ContainerID: name},
		})
	}
	return store
}

var worldIP, egressIP = netip.MustParseAddr("203.0.113.9"), netip.MustParseAddr("192.168.77.50")

// fakeEgressOf has the Egress e1 of the client, whose address node n2 has.
func fakeEgressOf(pod netip.Addr) (Egress, bool) {
	return Egress{Name: "e1", Addr: egressIP, Node: "n2"}, pod == clientIP
}

// peerNetwork is the Pod network of another Node.
var peerNetwork = netip.MustParsePrefix("10.10.2.0/24")

func TestObservations(t *testing.T) {
	o := observer{policies: fakePolicies{}, gateway: []netip.Addr{netip.MustParseAddr("10.10.0.1")}, isPeer: peerNetwork.Contains, node: "n1", egressOf: fakeEgressOf}
	for name, test := range map[string]struct {
		role     string
		original netip.Addr
		dst      string
		report   openflow.TraceReport
		want     string
	}{
		"to another Node, by a rule": {
			v1beta1.RoleSender, serverIP, "10.10.1.20",
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, ToTunnel: true, TunnelDst: netip.MustParseAddr("192.168.77.102"), EgressFlowID: 3},
			"SpoofGuard::Forwarded<10.10.0.11 NetworkPolicy:EgressRule:Forwarded:K8sNetworkPolicy:ns/policy3 Forwarding:Output:Forwarded>192.168.77.102",
		},
		"from another Node, by a rule": {
			v1beta1.RoleReceiver, netip.Addr{}, "10.10.1.20",
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, OutPort: 20, IngressFlowID: 2},
			"Forwarding::Received NetworkPolicy:IngressRule:Forwarded:K8sNetworkPolicy:ns/policy2 Forwarding:Output:Delivered",
		},
		"to a Service": {
			v1beta1.RoleSender, serviceIP, "10.10.1.20",
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, OutPort: 20},
			"SpoofGuard::Forwarded<10.10.0.11 LB::Forwarded=10.10.1.20 Forwarding:Output:Delivered",
		},
		"to itself through a Service": {
			v1beta1.RoleSender, serviceIP, "10.10.0.11",
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, OutPort: 11},
			"SpoofGuard::Forwarded<10.10.0.11 LB::Forwarded^10.10.0.1=10.10.0.11 Forwarding:Output:Delivered",
		},
		"to a Service without Endpoints": {
			v1beta1.RoleSender, serviceIP, "10.96.0.10", openflow.TraceReport{Table: "EndpointDNAT", Outcome: openflow.TraceRejected},
			"SpoofGuard::Forwarded<10.10.0.11 LB::Rejected",
		},
		"to a Service with Endpoints on other Nodes only": {
			v1beta1.RoleSender, serviceIP, "10.96.0.10", openflow.TraceReport{Table: "EndpointDNAT", Outcome: openflow.TraceUnserved},
			"SpoofGuard::Forwarded<10.10.0.11 LB::Dropped",
		},
		"dropped at egress": {
			v1beta1.RoleSender, serverIP, "10.10.1.20", openflow.TraceReport{Table: "EgressDefaultRule", Outcome: openflow.TraceDropped},
			"SpoofGuard::Forwarded<10.10.0.11 NetworkPolicy:EgressDefaultRule:Dropped!K8sNetworkPolicy:ns/policy3",
		},
		"dropped at ingress": {
			v1beta1.RoleSender, serverIP, "10.10.1.20", openflow.TraceReport{Table: "IngressDefaultRule", Outcome: openflow.TraceDropped, OutPort: 20, EgressFlowID: 3},
			"SpoofGuard::Forwarded<10.10.0.11 NetworkPolicy:EgressRule:Forwarded:K8sNetworkPolicy:ns/policy3 NetworkPolicy:IngressDefaultRule:Dropped!K8sNetworkPolicy:ns/policy2",
		},
		"dropped by a rule": {
			v1beta1.RoleReceiver, netip.Addr{}, "10.10.1.20", openflow.TraceReport{Table: "IngressMetric", Outcome: openflow.TraceDropped, OutPort: 20, DeniedBy: 4},
			"Forwarding::Received NetworkPolicy:IngressMetric:Dropped:AntreaClusterNetworkPolicy:acnp4/rule4",
		},
		"rejected by a rule, and sent to the agent": {
			v1beta1.RoleSender, serverIP, "10.10.1.20", openflow.TraceReport{Table: "AntreaPolicyEgressRule", Outcome: openflow.TraceDropped, DeniedBy: 5},
			"SpoofGuard::Forwarded<10.10.0.11 NetworkPolicy:EgressMetric:Rejected:AntreaClusterNetworkPolicy:acnp5/rule5",
		},
		"dropped by a rule that is gone": {
			v1beta1.RoleSender, serverIP, "10.10.1.20", openflow.TraceReport{Table: "EgressMetric", Outcome: openflow.TraceDropped, DeniedBy: 99},
			"SpoofGuard::Forwarded<10.10.0.11 NetworkPolicy:EgressMetric:Dropped",
		},
		"allowed by rules of tiers": {
			v1beta1.RoleSender, serverIP, "10.10.1.20", openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, OutPort: 20, EgressFlowID: 7, IngressFlowID: 6},
			"SpoofGuard::Forwarded<10.10.0.11 NetworkPolicy:AntreaPolicyEgressRule:Forwarded:AntreaClusterNetworkPolicy:acnp7/rule7 " +
				"NetworkPolicy:IngressDefaultRule:Forwarded:AntreaClusterNetworkPolicy:acnp6/rule6 Forwarding:Output:Delivered",
		},
		"to the world": {
			v1beta1.RoleSender, netip.MustParseAddr("203.0.113.9"), "203.0.113.9",
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, ToGateway: true},
			"SpoofGuard::Forwarded<10.10.0.11 Forwarding:Output:ForwardedOutOfNetwork",
		},
		"with a source of this Node": {
			v1beta1.RoleSender, worldIP, worldIP.String(), openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, FromPod: true, ToGateway: true, Marked: true},
			"SpoofGuard::Forwarded<10.10.0.11 Egress::MarkedForSNAT~192.168.77.50,e1,n1 Forwarding:Output:ForwardedOutOfNetwork",
		},
		"with a source of another Node": {
			v1beta1.RoleSender, worldIP, worldIP.String(),
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, FromPod: true, ToTunnel: true, TunnelDst: egressIP},
			"SpoofGuard::Forwarded<10.10.0.11 Egress::ForwardedToEgressNode~192.168.77.50,e1,n2 Forwarding:Output:Forwarded>192.168.77.50",
		},
		"on the Node with the source": {
			v1beta1.RoleReceiver, netip.Addr{}, worldIP.String(),
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, FromTunnel: true, ToGateway: true, TunnelDst: egressIP, Marked: true},
			"Forwarding::Received Egress::MarkedForSNAT~192.168.77.50,, Forwarding:Output:ForwardedOutOfNetwork",
		},
		"with an Egress, to a Pod of another Node": {
			v1beta1.RoleSender, serverIP, "10.10.1.20",
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, FromPod: true, ToTunnel: true, TunnelDst: netip.MustParseAddr("192.168.77.102")},
			"SpoofGuard::Forwarded<10.10.0.11 Forwarding:Output:Forwarded>192.168.77.102",
		},
		"to another Node, without the tunnel": {
			v1beta1.RoleSender, netip.MustParseAddr("10.10.2.5"), "10.10.2.5",
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, ToGateway: true},
			"SpoofGuard::Forwarded<10.10.0.11 Forwarding:Output:Forwarded",
		},
		"to the gateway": {
			v1beta1.RoleSender, netip.MustParseAddr("10.10.0.1"), "10.10.0.1",
			openflow.TraceReport{Table: "Output", Outcome: openflow.TraceLeft, ToGateway: true},
			"SpoofGuard::Forwarded<10.10.0.11 Forwarding:Output:Delivered",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sent := outline(netip.MustParseAddr(test.dst), 80)
			if test.dst == clientIP.String() {
				sent.Src = o.gateway[0]
			}
			p, err := ippacket.Parse(frame(t, sent))
			require.NoError(t, err)
			var texts []string
			for _, observation := range o.observe(&finding{role: test.role, source: clientIP, original: test.original, report: test.report, packet: p}) {
				texts = append(texts, describe(observation))
			}
			require.Equal(t, test.want, strings.Join(texts, " "))
		})
	}
}

func describe(o v1beta1.Observation) string {
	text := fmt.Sprintf("%s:%s:%s", o.Component, o.ComponentInfo, o.Action)
	for _, field := range [][2]string{
		{":", o.NetworkPolicy}, {"/", o.NetworkPolicyRule}, {"!", strings.Join(o.IsolatedBy, ",")}, {"<", o.SrcPodIP}, {">", o.TunnelDstIP},
		{"^", o.TranslatedSrcIP}, {"=", o.TranslatedDstIP}, {"@", o.Pod},
	} {
		if field[1] != "" {
			text += field[0] + field[1]
		}
	}
	if o.Component == v1beta1.ComponentEgress {
		text += fmt.Sprintf("~%s,%s,%s", o.EgressIP, o.Egress, o.EgressNode)
	}
	return text
}

func TestFastPath(t *testing.T) {
	for want, test := range map[string]struct {
		answer   api.Treatment
		err      error
		protocol uint8
		outcome  openflow.TraceOutcome
	}{
		"Accelerated active":                                     {answer: api.Treatment{Path: api.PathFast, Reason: "active"}, protocol: ippacket.TCP, outcome: openflow.TraceLeft},
		"Accelerated no_entry":                                   {answer: api.Treatment{Path: api.PathSlow, Reason: "no_entry"}, protocol: ippacket.TCP, outcome: openflow.TraceLeft},
		"NotAccelerated not_remote (words)":                      {answer: api.Treatment{Path: api.PathSlow, Reason: "not_remote", Detail: "words"}, protocol: ippacket.UDP, outcome: openflow.TraceLeft},
		"NotAccelerated policy":                                  {protocol: ippacket.TCP, outcome: openflow.TraceDropped},
		"NotAccelerated rejected":                                {protocol: ippacket.TCP, outcome: openflow.TraceRejected},
		"NotAccelerated a failure":                               {err: errors.New("a failure"), protocol: ippacket.TCP, outcome: openflow.TraceLeft},
		"NotAccelerated protocol (the cache is for TCP and UDP)": {protocol: ippacket.ICMP, outcome: openflow.TraceLeft},
	} {
		o := outline(serverIP, 80)
		o.Protocol = test.protocol
		p, err := ippacket.Parse(frame(t, o))
		require.NoError(t, err)
		c := &Controller{Config: Config{Explain: func(_ context.Context, q explain.Question) (*api.Explanation, error) {
			require.Equal(t, []any{clientIP.String(), serverIP.String(), uint16(80)}, []any{q.From, q.To, q.Port})
			return &api.Explanation{Treatment: test.answer}, test.err
		}}}
		got := c.fastPath(t.Context(), &finding{report: openflow.TraceReport{Outcome: test.outcome}, packet: p})
		require.Equal(t, want, fmt.Sprint(got.Action, " ", got.Reason))
	}
	require.Nil(t, (&Controller{}).fastPath(t.Context(), nil), "without ONCache")
}

func TestPlan(t *testing.T) {
	p := planner{
		interfaces: interfaces(), gatewayMAC: gatewayMAC, isPeer: peerNetwork.Contains,
		objects: Objects{
			Pod: func(_ context.Context, _, name string) (*corev1.Pod, error) {
				if name != "elsewhere" {
					return nil, errors.New("no such Pod")
				}
				return &corev1.Pod{Status: corev1.PodStatus{PodIP: "10.10.2.5", PodIPs: []corev1.PodIP{{IP: "fd00::5"}}}}, nil
			},
			Service: func(_, name string) (*corev1.Service, error) {
				return &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: serviceIP.String()}}, nil
			},
		},
	}
	source, tcp := v1beta1.Source{Namespace: "ns", Pod: "client"}, v1beta1.Packet{TransportHeader: v1beta1.TransportHeader{TCP: &v1beta1.TCPHeader{DstPort: 80}}}
	plan := func(spec v1beta1.TraceflowSpec) (*plan, error) {
		return p.plan(t.Context(), &v1beta1.Traceflow{
			ObjectMeta: metav1.ObjectMeta{Name: "tf"}, Spec: spec, Status: v1beta1.TraceflowStatus{DataplaneTag: 5},
		})
	}
	neighbor, err := plan(v1beta1.TraceflowSpec{Source: source, Destination: v1beta1.Destination{Namespace: "ns", Pod: "server"}, Packet: tcp})
	require.NoError(t, err)
	require.Equal(t, []any{server.mac, serverIP, clientIP, uint8(6), uint16(80), uint8(2), uint8(64)}, []any{
		neighbor.packet.DstMAC, neighbor.packet.Dst, neighbor.packet.Src, neighbor.packet.Protocol, neighbor.packet.DstPort, neighbor.packet.TCPFlags, neighbor.packet.TTL,
	})
	require.GreaterOrEqual(t, neighbor.packet.SrcPort, uint16(32768))
	remote, err := plan(v1beta1.TraceflowSpec{Source: source, Destination: v1beta1.Destination{Namespace: "ns", Pod: "elsewhere"}})
	require.NoError(t, err)
	require.Equal(t, []any{gatewayMAC, "10.10.2.5", uint8(1)}, []any{remote.packet.DstMAC, remote.packet.Dst.String(), remote.packet.Protocol})
	require.NotZero(t, remote.packet.ICMPID)
	require.Equal(t, []netip.Addr{remote.packet.Dst, {}}, []netip.Addr{remote.peer, neighbor.peer})
	service, err := plan(v1beta1.TraceflowSpec{Source: source, Destination: v1beta1.Destination{Namespace: "ns", Service: "web"}, Packet: tcp})
	require.NoError(t, err)
	require.Equal(t, serviceIP, service.packet.Dst)
	away, err := plan(v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: "ns", Pod: "elsewhere"}, Destination: v1beta1.Destination{Namespace: "ns", Pod: "server"}, Packet: tcp})
	require.NoError(t, err)
	require.Equal(t, []any{"elsewhere", (*pod)(nil), "ns/server"}, []any{away.sourceName, away.sender, away.receiver.name})

	live, err := plan(v1beta1.TraceflowSpec{Source: source, LiveTraffic: true, DroppedOnly: true, Timeout: 60})
	require.NoError(t, err)
	require.Equal(t, &openflow.TraceflowFilter{}, live.filter)
	require.True(t, live.droppedOnly)
	incoming, err := plan(v1beta1.TraceflowSpec{
		Source: v1beta1.Source{IP: "203.0.113.9"}, Destination: v1beta1.Destination{Namespace: "ns", Pod: "server"}, Packet: tcp, LiveTraffic: true,
	})
	require.NoError(t, err)
	require.Equal(t, &openflow.TraceflowFilter{
		DestinationMAC: server.mac, Source: netip.MustParseAddr("203.0.113.9"), Destination: serverIP, Protocol: 6, DestinationPort: 80,
	}, incoming.filter)
	nothing, err := plan(v1beta1.TraceflowSpec{Destination: v1beta1.Destination{Namespace: "ns", Pod: "elsewhere"}, LiveTraffic: true})
	require.NoError(t, err)
	require.Nil(t, nothing, "the Node of the destination does it")

	for want, spec := range map[string]v1beta1.TraceflowSpec{
		"no destination port":          {Source: source, Destination: v1beta1.Destination{IP: "203.0.113.9"}, Packet: v1beta1.Packet{IPHeader: &v1beta1.IPHeader{Protocol: 17}}},
		"no destination: a packet":     {Source: source},
		"IP protocol 132":              {Source: source, Packet: v1beta1.Packet{IPHeader: &v1beta1.IPHeader{Protocol: 132}}},
		"no such Pod":                  {Source: source, Destination: v1beta1.Destination{Namespace: "ns", Pod: "gone"}},
		"want one of the trace's IP v": {Source: source, Destination: v1beta1.Destination{IP: "fd00::1"}},
		"source Pod ns/client has the": {
			Source: source, Destination: v1beta1.Destination{IP: "fd00::1"}, Packet: v1beta1.Packet{IPv6Header: &v1beta1.IPv6Header{NextHeader: ptr.To(int32(58))}},
		},
	} {
		_, err := plan(spec)
		require.ErrorContains(t, err, want)
	}
	p.objects.Service = nil
	_, err = plan(v1beta1.TraceflowSpec{Source: source, Destination: v1beta1.Destination{Namespace: "ns", Service: "web"}})
	require.ErrorContains(t, err, "AntreaProxy is off")
}
