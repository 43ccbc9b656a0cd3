// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/tools/traffic/report"
)

// watchPatience is the time in which agents and controller must notice the CRD: they ask ever more slowly.
const watchPatience = 2 * time.Minute

// traced is the output of antctl traceflow.
type traced struct {
	Name    string
	Phase   v1beta1.TraceflowPhase
	Reason  string
	Results []v1beta1.NodeResult
}

// testTraceflow checks that traces are true, that their Pods are on Open vSwitch while they run, and that the tag stays
// invisible.
func testTraceflow(t *testing.T, s *suite) {
	traceflows := s.installTraceflows(t)
	startSink(t, s.server.Space)
	startEcho(t, s.server.Space, s.server.IP)
	web := fmt.Sprintf("%s/%s", namespace, s.server.PodName)

	t.Run("Allowed", func(t *testing.T) {
		const port = 4991
		result := s.trace(t, web, fmt.Sprintf("tcp,tcp_src=%d,tcp_dst=%d", port, sinkPort))
		sender, receiver := s.resultsOf(t, result)
		require.Equal(t, "SpoofGuard/Forwarded Forwarding/Output/Forwarded"+s.saidOfFastPath(direct), observed(sender))
		require.Equal(t, "Forwarding/Received Forwarding/Output/Delivered", observed(receiver))
		require.Equal(t, s.client.IP.String(), sender.Observations[0].SrcPodIP)
		s.requireOtherPorts(t, port, "a traced packet is in the cache")
	})
	t.Run("WithinTheNode", func(t *testing.T) {
		startSink(t, s.near.Space)
		result := s.trace(t, fmt.Sprintf("%s/%s", namespace, s.near.PodName), fmt.Sprintf("tcp,tcp_dst=%d", sinkPort))
		require.Len(t, result.Results, 1, "%+v", result)
		require.Equal(t, "SpoofGuard/Forwarded Forwarding/Output/Delivered"+s.saidOfFastPath(sameNode), observed(result.Results[0]))
	})
	t.Run("DroppedByPolicy", func(t *testing.T) {
		s.label(t, s.server, map[string]string{"app": "server"})
		defer s.label(t, s.server, nil)
		remove := s.applyPolicy(t, ingressTo("traced", "server", networkingv1.NetworkPolicyIngressRule{
			From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("neighbor")}},
		}))
		defer remove()
		_, receiver := s.resultsOf(t, s.trace(t, web, fmt.Sprintf("tcp,tcp_dst=%d", sinkPort)))
		require.Equal(t, "Forwarding/Received NetworkPolicy/IngressDefaultRule/Dropped", observed(receiver))
		require.Equal(t, []string{"K8sNetworkPolicy:" + namespace + "/traced"}, receiver.Observations[1].IsolatedBy)
	})
	t.Run("Service", func(t *testing.T) {
		s.createClusterIP(t, "traced", corev1.ProtocolTCP)
		s.setEndpoint(t, "traced", corev1.ProtocolTCP, s.server.Node, netip.AddrPortFrom(s.server.IP, sinkPort))
		sender, _ := s.resultsOf(t, s.trace(t, namespace+"/traced", fmt.Sprintf("tcp,tcp_dst=%d", onlyPort)))
		require.Equal(t, "SpoofGuard/Forwarded LB/Forwarded Forwarding/Output/Forwarded"+s.saidOfFastPath(throughService), observed(sender))
		require.Equal(t, []string{s.server.IP.String(), web}, []string{sender.Observations[1].TranslatedDstIP, sender.Observations[1].Pod})

		held := s.startTrace(t, namespace+"/traced", "tcp,tcp_dst=9", "--live-traffic", "-t", "120s")
		if s.oncache {
			s.waitOnOVS(t, s.server, "Traceflow")
		}
		require.NoError(t, traceflows.Delete(t.Context(), held, metav1.DeleteOptions{}))
	})
	if s.mode == "" {
		t.Run("Egress", func(t *testing.T) { testTracedEgress(t, s) })
	}
	t.Run("LiveTraffic", func(t *testing.T) { s.testLiveTrace(t, traceflows, web) })
	t.Run("Timeout", func(t *testing.T) {
		for flow, want := range map[string]string{
			"icmp": "the packet was lost in Open vSwitch behind the table", // with the TTL of this object
			"tcp":  "the Traceflow has no destination port",
		} {
			name := "fails-" + flow
			spec := map[string]any{
				"source": map[string]any{"namespace": namespace, "pod": s.client.PodName}, "timeout": int64(12),
				"destination": map[string]any{"namespace": namespace, "pod": s.server.PodName},
				"packet":      map[string]any{"ipHeader": map[string]any{"ttl": int64(1), "protocol": map[string]int64{"icmp": 1, "tcp": 6}[flow]}},
			}
			object := crd.New(v1beta1.TraceflowKind, name)
			object.Object["spec"] = spec
			_, err := traceflows.Create(t.Context(), object, metav1.CreateOptions{})
			require.NoError(t, err)
			s.waitTrace(t, traceflows, name, v1beta1.TraceflowFailed, want)
			require.NoError(t, traceflows.Delete(t.Context(), name, metav1.DeleteOptions{}))
		}
	})
}

// testLiveTrace has a trace run that tags each connection that is opened to the echo, because none of them is dropped.
func (s *suite) testLiveTrace(t *testing.T, traceflows dynamic.ResourceInterface, web string) {
	open := s.flow("UDP", 4992, udpEchoPort)
	ping := start(t, s.client.Space, "udp-ping", open.from(), open.to(), "--rate=100", "--progress=100ms")
	s.waitFastIfGate(t, open)
	arrivals := startServer(t, s.server.Space, "capture", "--proto=udp", fmt.Sprint("--port=", udpEchoPort), "--source-port=4993")
	between := s.captureBetweenNodes(t, "--proto=udp", "--source-port=4993")
	name := s.startTrace(t, web, fmt.Sprintf("udp,udp_dst=%d", udpEchoPort), "--live-traffic", "--dropped-only", "-t", "120s")
	tag := s.waitTrace(t, traceflows, name, v1beta1.TraceflowRunning, "").Status.DataplaneTag
	if s.oncache {
		s.waitOnOVS(t, s.client, "Traceflow")
		s.waitOnOVS(t, s.server, "Traceflow")
	}
	eventually(t, "packets to get the tag", func() error {
		flows, err := s.node1.AskAgent(t.Context(), "/ovsflows?table=ConntrackState")
		if err == nil && !strings.Contains(string(flows), "nw_tos=0,") {
			err = notYet(flows)
		}
		return err
	})
	traced := s.flow("UDP", 4993, udpEchoPort)
	second := start(t, s.client.Space, "udp-ping", traced.from(), traced.to(), "--rate=100", "--progress=100ms")
	waitReceived(t, second, 50, time.Minute)
	s.requireOtherPorts(t, 4993, "the Pods are on Open vSwitch")
	require.NoError(t, traceflows.Delete(t.Context(), name, metav1.DeleteOptions{}))
	s.waitFastIfGate(t, open)
	s.waitFastIfGate(t, traced)
	requireNoLoss(t, stop[report.Ping](t, ping))
	requireNoLoss(t, stop[report.Ping](t, second))
	if captured := tagsOf(stop[report.Capture](t, between)); s.mode != wireGuardMode { // which encrypts the tag
		require.Equal(t, []uint8{uint8(tag)}, captured, "between Nodes, the packet that opens the connection has the tag")
	}
	require.Empty(t, tagsOf(stop[report.Capture](t, arrivals)), "no Pod gets the tag")
}

// captureBetweenNodes captures packets that the first Node sends to others, where they are in clear. It keeps none on Open vSwitch.
func (s *suite) captureBetweenNodes(t *testing.T, what ...string) *cluster.Process {
	t.Helper()
	if device := s.slowDevice(); device != hostGateway {
		return startServer(t, s.node1.Space, append([]string{"capture", "--device=" + device, "--outgoing"}, what...)...)
	}
	return startServer(t, s.Fabric, append([]string{"capture", "--device=" + s.node1.Name}, what...)...)
}

// saidOfFastPath is the part of observed about the fast path, for a connection on the path that is not open.
func (s *suite) saidOfFastPath(p *path) string {
	switch {
	case !s.oncache:
		return ""
	case s.isCached(s.flowOn(p, "TCP", 0, 0)):
		return " ONCache/no_entry/Accelerated"
	}
	return " ONCache/not_remote (its Node is reached without the tunnel (" + s.mode + "))/NotAccelerated"
}

// tagsOf returns the DSCPs that are not 0.
func tagsOf(c report.Capture) (tags []uint8) {
	for _, p := range c.Packets {
		if tag := p.TOS >> 2; tag != 0 {
			tags = append(tags, tag)
		}
	}
	return slices.Compact(tags)
}

// startTrace makes a trace that lasts until it is deleted.
func (s *suite) startTrace(t *testing.T, destination, flow string, more ...string) (name string) {
	t.Helper()
	return antctl[traced](t, s.node1, s.traceArgs(destination, flow, append(more, "--no-wait")...)...).Name
}

// waitTrace waits until a trace is in the phase, for a reason with these words.
func (s *suite) waitTrace(t *testing.T, traceflows dynamic.ResourceInterface, name string, phase v1beta1.TraceflowPhase, reason string) (trace *v1beta1.Traceflow) {
	t.Helper()
	eventually(t, fmt.Sprintf("Traceflow %s to be %s", name, phase), func() error {
		object, err := traceflows.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if trace, err = crd.Read[v1beta1.Traceflow](object); err == nil && (trace.Status.Phase != phase || !strings.Contains(trace.Status.Reason, reason)) {
			err = fmt.Errorf("its status is %+v", trace.Status)
		}
		return err
	})
	return trace
}

// installTraceflows installs the CRD for the time of the test, and waits until traces are possible.
func (s *suite) installTraceflows(t *testing.T) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config)
	require.NoError(t, err)
	text, err := os.ReadFile("build/charts/antrea/crds/traceflow.yaml")
	require.NoError(t, err)
	definition := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(text, &definition.Object))
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	_, err = definitions.Create(t.Context(), definition, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, definitions.Delete(context.WithoutCancel(t.Context()), definition.GetName(), metav1.DeleteOptions{}))
	})
	eventuallyWithin(t, watchPatience, "agents and controller to watch Traceflows", func() error {
		result, err := tryAntctl[traced](t, s.node1, s.traceArgs(namespace+"/"+s.server.PodName, "icmp")...)
		if err == nil && result.Phase != v1beta1.TraceflowSucceeded {
			err = notYet(fmt.Sprintf("%s: %s", result.Phase, result.Reason))
		}
		return err
	})
	return client.Resource(crd.Traceflows)
}

// traceArgs is a command line for a trace from the client.
func (s *suite) traceArgs(destination, flow string, more ...string) []string {
	return append([]string{"traceflow", "-S", namespace + "/" + s.client.PodName, "-D", destination, "-f", flow, "-k", "/etc/antrea/kubeconfig"}, more...)
}

func (s *suite) trace(t *testing.T, destination, flow string) traced {
	t.Helper()
	result := antctl[traced](t, s.node1, s.traceArgs(destination, flow)...)
	require.Equal(t, v1beta1.TraceflowSucceeded, result.Phase, result.Reason)
	return result
}

// resultsOf returns the results of the client's and of the server's Node.
func (s *suite) resultsOf(t *testing.T, result traced) (sender, receiver v1beta1.NodeResult) {
	t.Helper()
	for _, r := range result.Results {
		if r.Node == s.node1.Name {
			sender = r
		} else {
			receiver = r
		}
	}
	require.Equal(t, []string{v1beta1.RoleSender, v1beta1.RoleReceiver}, []string{sender.Role, receiver.Role}, "%+v", result)
	return sender, receiver
}

// observed is component, table and action of each observation, and what is said of the fast path.
func observed(r v1beta1.NodeResult) string {
	var texts []string
	for _, o := range r.Observations {
		parts := []string{string(o.Component), o.ComponentInfo, string(o.Action)}
		if o.ComponentInfo == "" {
			parts = []string{string(o.Component), string(o.Action)}
		}
		texts = append(texts, strings.Join(parts, "/"))
	}
	if fast := r.ONCache; fast != nil {
		texts = append(texts, fmt.Sprintf("ONCache/%s/%s", fast.Reason, fast.Action))
	}
	return strings.Join(texts, " ")
}

// requireOtherPorts fails if an end of a flow in the cache of either Node has the port.
func (s *suite) requireOtherPorts(t *testing.T, port int, message string) {
	t.Helper()
	if !s.oncache {
		return
	}
	for _, n := range []*cluster.Node{s.node1, s.node2} {
		for _, f := range askAgent[[]api.FlowInfo](t, n, "/oncache?view=flows") {
			for _, end := range []string{f.Source, f.Destination} {
				_, found, err := net.SplitHostPort(end)
				require.NoError(t, err, "%+v", f)
				require.NotEqual(t, fmt.Sprint(port), found, "%s: %+v", message, f)
			}
		}
	}
}
