// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// traceTimeout limits a trace, as upstream does.
var traceTimeout = limit(15 * time.Second)

func TestTraceflow(t *testing.T) {
	c := suite
	c.test(t, "testTraceflowInterNode", c.testTraceBetweenNodes)
	c.test(t, "testTraceflowExternalIP", c.testTraceToOutside)
	c.test(t, "testTraceflowValidation", c.testTraceValidation)
}

// createTrace makes a Traceflow that goes with the test.
func (c *cluster) createTrace(t *testing.T, spec v1beta1.TraceflowSpec) (name string, err error) {
	t.Helper()
	name = namespacePrefix + rand.String(6)
	object := crd.New(v1beta1.TraceflowKind, name)
	require.NoError(t, crd.Fill(object, &v1beta1.Traceflow{Spec: spec}))
	if _, err = c.objects(t, crd.Traceflows).Create(t.Context(), object, metav1.CreateOptions{}); err == nil {
		t.Cleanup(func() {
			require.NoError(t, c.objects(t, crd.Traceflows).Delete(withoutCancel(t), name, metav1.DeleteOptions{}))
		})
	}
	return name, err
}

// trace makes a Traceflow and returns the observations by Node when it has succeeded: what upstream's tests compare of them.
func (c *cluster) trace(t *testing.T, spec v1beta1.TraceflowSpec) map[string][]v1beta1.Observation {
	t.Helper()
	name, err := c.createTrace(t, spec)
	require.NoError(t, err)
	var trace *v1beta1.Traceflow
	eventually(t, traceTimeout, func() error {
		object, err := c.objects(t, crd.Traceflows).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if trace, err = crd.Read[v1beta1.Traceflow](object); err == nil && trace.Status.Phase != v1beta1.TraceflowSucceeded {
			err = fmt.Errorf("its status is %+v", trace.Status)
		}
		return err
	})
	observations := map[string][]v1beta1.Observation{}
	for _, result := range trace.Status.Results {
		for _, o := range result.Observations {
			o.TTL, o.TunnelDstIP, o.IsolatedBy = 0, "", nil
			observations[result.Node] = append(observations[result.Node], o)
		}
	}
	return observations
}

// Observations that many traces have.
var (
	received  = v1beta1.Observation{Component: v1beta1.ComponentForwarding, Action: v1beta1.ActionReceived}
	dropped   = v1beta1.Observation{Component: v1beta1.ComponentNetworkPolicy, ComponentInfo: "IngressDefaultRule", Action: v1beta1.ActionDropped}
	forwarded = output(v1beta1.ActionForwarded)
	delivered = output(v1beta1.ActionDelivered)
)

func output(action v1beta1.TraceflowAction) v1beta1.Observation {
	return v1beta1.Observation{Component: v1beta1.ComponentForwarding, ComponentInfo: "Output", Action: action}
}

func spoofGuard(source *corev1.Pod) v1beta1.Observation {
	return v1beta1.Observation{Component: v1beta1.ComponentSpoofGuard, Action: v1beta1.ActionForwarded, SrcPodIP: source.Status.PodIP}
}

// testTraceBetweenNodes compares traces between Nodes, where an egress policy allows everything, with those that upstream's tests expect.
func (c *cluster) testTraceBetweenNodes(t *testing.T) {
	namespace := c.namespace(t)
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{})
	server := c.pod(t, namespace, "server", c.nodes[1], podOptions{labels: map[string]string{"app": "server"}})
	c.pod(t, namespace, "isolated", c.nodes[1], podOptions{labels: map[string]string{"app": "isolated"}})
	c.service(t, namespace, "server", 80, 8080, nil)
	c.policy(t, namespace, "egress", networkingv1.NetworkPolicySpec{
		Egress: []networkingv1.NetworkPolicyEgressRule{{}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
	})
	c.policy(t, namespace, "deny", networkingv1.NetworkPolicySpec{
		PodSelector: metav1.LabelSelector{MatchLabels: map[string]string{"app": "isolated"}}, PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
	})
	allowed := v1beta1.Observation{
		Component: v1beta1.ComponentNetworkPolicy, ComponentInfo: "EgressRule", Action: v1beta1.ActionForwarded,
		NetworkPolicy: "K8sNetworkPolicy:" + namespace + "/egress",
	}
	source := v1beta1.Source{Namespace: namespace, Pod: client.Name}
	toPod := func(name string) v1beta1.Destination { return v1beta1.Destination{Namespace: namespace, Pod: name} }
	toService := v1beta1.Destination{Namespace: namespace, Service: "server"}
	tcp := v1beta1.Packet{TransportHeader: v1beta1.TransportHeader{TCP: &v1beta1.TCPHeader{DstPort: 80}}}
	udp := v1beta1.Packet{TransportHeader: v1beta1.TransportHeader{UDP: &v1beta1.UDPHeader{DstPort: 321}}}
	translated := v1beta1.Observation{
		Component: v1beta1.ComponentLB, Action: v1beta1.ActionForwarded, Pod: namespace + "/server", TranslatedDstIP: server.Status.PodIP,
	}
	hairpin := translated
	hairpin.TranslatedSrcIP = c.gatewayOf(t, c.nodes[1])
	way := func(o ...v1beta1.Observation) []v1beta1.Observation { return o }
	between := map[string][]v1beta1.Observation{c.nodes[0]: way(spoofGuard(client), allowed, forwarded), c.nodes[1]: way(received, delivered)}
	// Until both policies are in force on both Nodes.
	eventually(t, policyDelay, func() error {
		if got := c.trace(t, v1beta1.TraceflowSpec{Source: source, Destination: toPod("isolated")})[c.nodes[1]]; len(got) == 0 || got[len(got)-1].Action != dropped.Action {
			return fmt.Errorf("a packet to the isolated Pod: %+v", got)
		}
		return nil
	})
	for _, test := range []struct {
		name string
		spec v1beta1.TraceflowSpec
		want map[string][]v1beta1.Observation
	}{
		{"interNodeTraceflowIPv4", v1beta1.TraceflowSpec{Source: source, Destination: toPod("server"), Packet: tcp}, between},
		{"interNodeUDPDstIPTraceflowIPv4", v1beta1.TraceflowSpec{Source: source, Destination: v1beta1.Destination{IP: server.Status.PodIP}, Packet: udp}, between},
		{"interNodeICMPDstPodDroppedTraceflowIPv4", v1beta1.TraceflowSpec{Source: source, Destination: toPod("isolated")},
			map[string][]v1beta1.Observation{c.nodes[0]: between[c.nodes[0]], c.nodes[1]: way(received, dropped)}},
		{"serviceTraceflowIPv4", v1beta1.TraceflowSpec{Source: source, Destination: toService, Packet: tcp},
			map[string][]v1beta1.Observation{c.nodes[0]: way(spoofGuard(client), translated, allowed, forwarded), c.nodes[1]: way(received, delivered)}},
		{"hairpinServiceTraceflowIPv4", v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: namespace, Pod: "server"}, Destination: toService, Packet: tcp},
			map[string][]v1beta1.Observation{c.nodes[1]: way(spoofGuard(server), hairpin, allowed, delivered)}},
		{"interNodeICMPDstPodLiveTraceflowIPv4", v1beta1.TraceflowSpec{Source: source, Destination: toPod("server"), LiveTraffic: true}, between},
	} {
		t.Run(test.name, func(t *testing.T) {
			if test.spec.LiveTraffic {
				// Each call is a new connection.
				ping := c.start(t, client, traceTimeout, "sh", "-c", "for i in $(seq 10); do ping -c 1 -W 1 "+server.Status.PodIP+"; sleep 1; done")
				defer ping()
			}
			require.Equal(t, test.want, c.trace(t, test.spec))
		})
	}
}

// gatewayOf is the address of a Node's gateway: the first of its Pod network.
func (c *cluster) gatewayOf(t *testing.T, node string) string {
	t.Helper()
	out := c.exec(t, c.agentOn(t, node), agentContainer, "sh", "-c", "ip -4 -o address show "+gateway+" | sed 's/.*inet \\([0-9.]*\\).*/\\1/'")
	require.Regexp(t, `^[0-9.]+\n$`, out)
	return out[:len(out)-1]
}

// testTraceToOutside traces a packet to the address of another Node.
func (c *cluster) testTraceToOutside(t *testing.T) {
	namespace := c.namespace(t)
	client := c.pod(t, namespace, "client", c.nodes[0], podOptions{})
	outside := c.agentOn(t, c.nodes[1]).Status.HostIP
	got := c.trace(t, v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: namespace, Pod: client.Name}, Destination: v1beta1.Destination{IP: outside}})
	require.Equal(t, map[string][]v1beta1.Observation{c.nodes[0]: {spoofGuard(client), output(v1beta1.ActionForwardedOutOfNetwork)}}, got)
}

// testTraceValidation: impossible traces are refused, in upstream's words.
func (c *cluster) testTraceValidation(t *testing.T) {
	namespace := c.namespace(t)
	c.pod(t, namespace, "host", c.nodes[0], podOptions{hostNetwork: true})
	host := v1beta1.Source{Namespace: namespace, Pod: "host"}
	for _, test := range []struct {
		spec v1beta1.TraceflowSpec
		want string
	}{
		{v1beta1.TraceflowSpec{Destination: v1beta1.Destination{Namespace: namespace, Pod: "host"}}, "source Pod must be specified in non-live-traffic Traceflow"},
		{v1beta1.TraceflowSpec{LiveTraffic: true}, "Traceflow %s has neither source nor destination Pod specified"},
		{v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: "foo", Pod: "bar"}}, "requested source Pod foo/bar not found"},
		{v1beta1.TraceflowSpec{Source: host}, "using hostNetwork Pod as source in non-live-traffic Traceflow is not supported"},
		{v1beta1.TraceflowSpec{LiveTraffic: true, Source: host}, ""},
	} {
		name, err := c.createTrace(t, test.spec)
		if test.want == "" {
			require.NoError(t, err)
			continue
		}
		want := test.want
		if test.spec.LiveTraffic {
			want = fmt.Sprintf(test.want, name)
		}
		require.EqualError(t, err, `admission webhook "traceflowvalidator.antrea.io" denied the request: `+want)
	}
}
