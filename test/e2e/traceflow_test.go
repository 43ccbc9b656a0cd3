// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"os"
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

// watchPatience is how long agents and controller may take to notice that the CRD is there: they ask again and again, ever more slowly.
const watchPatience = 2 * time.Minute

// traced is what antctl traceflow prints.
type traced struct {
	Name    string
	Phase   v1beta1.TraceflowPhase
	Reason  string
	Results []v1beta1.NodeResult
}

// testTraceflow checks what traces say about packets, and that their Pods are on Open vSwitch meanwhile.
func testTraceflow(t *testing.T, s *suite) {
	traceflows := s.installTraceflows(t)
	startSink(t, s.server.Space)
	startEcho(t, s.server.Space, s.server.IP)
	web := fmt.Sprintf("%s/%s", namespace, s.server.PodName)

	t.Run("Allowed", func(t *testing.T) {
		const port = 4991
		result := s.trace(t, web, fmt.Sprintf("tcp,tcp_src=%d,tcp_dst=%d", port, sinkPort))
		sender, receiver := s.resultsOf(t, result)
		require.Equal(t, "SpoofGuard/Forwarded Forwarding/Output/Forwarded ONCache/no_entry/Accelerated", observed(sender))
		require.Equal(t, "Forwarding/Classification/Received Forwarding/Output/Delivered", observed(receiver))
		require.Equal(t, web, receiver.Observations[1].Pod)
		for _, n := range []*cluster.Node{s.node1, s.node2} {
			for _, f := range antctl[[]api.FlowInfo](t, n, "get", "oncache", "flows") {
				require.NotContains(t, f.Source+" "+f.Destination, fmt.Sprint(":", port), "a traced packet is in the cache")
			}
		}
	})
	t.Run("DroppedByPolicy", func(t *testing.T) {
		remove := s.applyPolicy(t, ingressTo("traced", "server", networkingv1.NetworkPolicyIngressRule{
			From: []networkingv1.NetworkPolicyPeer{{PodSelector: selector("neighbor")}},
		}))
		defer remove()
		_, receiver := s.resultsOf(t, s.trace(t, web, fmt.Sprintf("tcp,tcp_dst=%d", sinkPort)))
		require.Equal(t, "Forwarding/Classification/Received NetworkPolicy/IngressDefaultRule/Dropped", observed(receiver))
		require.Equal(t, "K8sNetworkPolicy:"+namespace+"/traced", receiver.Observations[1].NetworkPolicy)
	})
	t.Run("Service", func(t *testing.T) {
		s.createClusterIP(t, "traced", corev1.ProtocolTCP)
		s.setEndpoint(t, "traced", corev1.ProtocolTCP, s.server.Node, netip.AddrPortFrom(s.server.IP, sinkPort))
		sender, _ := s.resultsOf(t, s.trace(t, namespace+"/traced", fmt.Sprintf("tcp,tcp_dst=%d", onlyPort)))
		require.Equal(t, "SpoofGuard/Forwarded LB/Forwarded Forwarding/Output/Forwarded ONCache/no_entry/Accelerated", observed(sender))
		require.Equal(t, s.server.IP.String(), sender.Observations[1].TranslatedDstIP)
	})
	t.Run("FastPathPauses", func(t *testing.T) {
		open := s.flow("UDP", 4992, udpEchoPort)
		ping := start(t, s.client.Space, "udp-ping", open.from(), open.to(), "--rate=100", "--progress=100ms")
		s.waitFast(t, open)
		// It matches nothing, and so lasts until it is deleted.
		trace, err := tryAntctl[traced](t, s.node1, s.traceArgs(web, "tcp,tcp_dst=9", "--live-traffic", "--no-wait", "-t", "120s")...)
		require.NoError(t, err)
		s.waitOnOVS(t, s.client, "Traceflow")
		s.waitOnOVS(t, s.server, "Traceflow")
		require.NoError(t, traceflows.Delete(t.Context(), trace.Name, metav1.DeleteOptions{}))
		s.waitFast(t, open)
		requireNoLoss(t, stop[report.Ping](t, ping))
	})
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

// observed is component, table or reason, and action of each observation.
func observed(r v1beta1.NodeResult) string {
	var texts []string
	for _, o := range r.Observations {
		parts := []string{string(o.Component), o.ComponentInfo, string(o.Action)}
		if o.ComponentInfo == "" {
			parts = []string{string(o.Component), string(o.Action)}
		}
		texts = append(texts, strings.Join(parts, "/"))
	}
	return strings.Join(texts, " ")
}
