// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

var start = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// fakePods are the Pods of Namespace ns. The one with 10.10.1.20 is server.
type fakePods struct{}

func (fakePods) PodNetwork(namespace, name string) (hostNetwork, found bool) {
	return name == "host", namespace == "ns"
}

func (fakePods) PodsWithIPs(ips sets.Set[string]) map[string]string {
	if ips.Has("10.10.1.20") {
		return map[string]string{"10.10.1.20": "ns/server"}
	}
	return nil
}

var podsOf fakePods

func valid(name string) *v1beta1.Traceflow {
	return &v1beta1.Traceflow{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       v1beta1.TraceflowSpec{Source: v1beta1.Source{Namespace: "ns", Pod: "client"}, Destination: v1beta1.Destination{IP: "10.10.1.20"}},
	}
}

func running(name string, tag int8) *v1beta1.Traceflow {
	t := valid(name)
	begun := metav1.NewTime(start)
	t.Status = v1beta1.TraceflowStatus{Phase: v1beta1.TraceflowRunning, DataplaneTag: tag, StartTime: &begun}
	return t
}

func result(actions ...v1beta1.TraceflowAction) v1beta1.NodeResult {
	r := v1beta1.NodeResult{Node: "n"}
	for _, a := range actions {
		component := v1beta1.ComponentForwarding
		if len(r.Observations) == 0 && a == v1beta1.ActionForwarded {
			component = v1beta1.ComponentSpoofGuard
		}
		r.Observations = append(r.Observations, v1beta1.Observation{Component: component, Action: a})
	}
	return r
}

// Traces get unused tags as long as there are some; the rest wait for the tags of traces that have ended.
func TestTags(t *testing.T) {
	var c core
	var traces []*v1beta1.Traceflow
	for i := range v1beta1.MaxDataplaneTag + 2 {
		trace := valid(fmt.Sprintf("tf-%03d", i))
		trace.CreationTimestamp = metav1.NewTime(start.Add(time.Duration(i) * time.Second))
		traces = append(traces, trace)
	}
	apply := func(changes []change) {
		for _, change := range changes {
			for _, trace := range traces {
				if trace.Name == change.name {
					trace.Status = change.status
				}
			}
		}
	}
	changes := c.plan(traces, podsOf, start)
	require.Len(t, changes, v1beta1.MaxDataplaneTag+2)
	apply(changes)
	seen := map[int8]string{}
	for _, trace := range traces[:v1beta1.MaxDataplaneTag] {
		require.Equal(t, v1beta1.TraceflowRunning, trace.Status.Phase)
		require.Equal(t, start, trace.Status.StartTime.Time)
		require.Empty(t, seen[trace.Status.DataplaneTag])
		seen[trace.Status.DataplaneTag] = trace.Name
	}
	for _, trace := range traces[v1beta1.MaxDataplaneTag:] {
		require.Equal(t, v1beta1.TraceflowPending, trace.Status.Phase)
		require.Contains(t, trace.Status.Reason, "upper limit: 63")
	}
	require.Empty(t, c.plan(traces, podsOf, start), "nothing new")
	freed := traces[7].Status.DataplaneTag
	traces[7].Status.Results = []v1beta1.NodeResult{result(v1beta1.ActionForwarded, v1beta1.ActionDelivered)}
	apply(c.plan(traces, podsOf, start))
	require.Equal(t, v1beta1.TraceflowSucceeded, traces[7].Status.Phase)
	require.Zero(t, traces[7].Status.DataplaneTag)
	require.Equal(t, v1beta1.TraceflowRunning, traces[v1beta1.MaxDataplaneTag].Status.Phase)
	require.Equal(t, freed, traces[v1beta1.MaxDataplaneTag].Status.DataplaneTag)
	require.Empty(t, traces[v1beta1.MaxDataplaneTag].Status.Reason)
}

// A tag is not used again at once: agents may still have flows for it. DSCPs that applications use come last.
func TestTagsRotate(t *testing.T) {
	var c core
	var tags []int8
	for range 45 {
		changes := c.plan([]*v1beta1.Traceflow{valid("tf")}, podsOf, start)
		tags = append(tags, changes[0].status.DataplaneTag)
	}
	require.Equal(t, []int8{2, 3, 4, 5, 6, 7, 9, 11, 13, 15, 17}, tags[:11])
	require.Equal(t, []int8{63, 2, 3}, tags[len(tags)-5:len(tags)-2])
	require.NotContains(t, tags, int8(46))
}

// However many there are, all traces have ended at most a timeout after the last one could have begun.
func TestWaitingEnds(t *testing.T) {
	var traces []*v1beta1.Traceflow
	for tag := range int8(v1beta1.MaxDataplaneTag) {
		trace := running(fmt.Sprint("running-", tag), tag+1)
		trace.Spec.Timeout = 300
		traces = append(traces, trace)
	}
	waiting := valid("waiting")
	waiting.CreationTimestamp = metav1.NewTime(start)
	waiting.Status.Phase = v1beta1.TraceflowPending
	waiting.Status.Reason = "number of on-going Traceflow operations already reached the upper limit: 63"
	traces = append(traces, waiting)
	var c core
	require.Empty(t, c.plan(traces, podsOf, start.Add(19*time.Second)))
	changes := c.plan(traces, podsOf, start.Add(20*time.Second))
	require.Len(t, changes, 1)
	require.Equal(t, []any{"waiting", v1beta1.TraceflowFailed}, []any{changes[0].name, changes[0].status.Phase})
	require.Equal(t, "Traceflow timeout: 63 other traces ran all the time", changes[0].status.Reason)
}

func TestHowTracesEnd(t *testing.T) {
	with := func(results ...v1beta1.NodeResult) *v1beta1.Traceflow {
		trace := running("tf", 5)
		trace.Status.Results = results
		return trace
	}
	receiverOnly := with(result(v1beta1.ActionReceived, v1beta1.ActionDelivered))
	receiverOnly.Spec = v1beta1.TraceflowSpec{LiveTraffic: true, Destination: v1beta1.Destination{Namespace: "ns", Pod: "server"}}
	noSource, noDestination := with(), with(result(v1beta1.ActionReceived))
	noSource.Spec.Source.Namespace = "gone"
	noDestination.Spec = v1beta1.TraceflowSpec{LiveTraffic: true, Destination: v1beta1.Destination{Namespace: "gone", Pod: "server"}}
	sentBefore := with(result(v1beta1.ActionForwarded, v1beta1.ActionDropped))
	sentBefore.Spec.Source.Namespace = "gone"
	failed := running("tf", 5)
	failed.Status.Phase, failed.Status.Reason = v1beta1.TraceflowFailed, "an agent says so"
	sent := result(v1beta1.ActionForwarded, v1beta1.ActionForwarded)
	sent.Role, sent.Observations[1].TunnelDstIP = v1beta1.RoleSender, "192.168.77.102"
	received := result(v1beta1.ActionReceived, v1beta1.ActionDelivered)
	received.Role = v1beta1.RoleReceiver
	live := func(droppedOnly bool) *v1beta1.Traceflow {
		trace := with()
		trace.Spec.LiveTraffic, trace.Spec.DroppedOnly = true, droppedOnly
		return trace
	}
	droppedThere := live(true)
	droppedThere.Status.Results = []v1beta1.NodeResult{result(v1beta1.ActionReceived, v1beta1.ActionDropped)}
	endless := with()
	endless.Spec.Timeout = 1 << 30
	patient := running("tf", 5)
	patient.Spec.Timeout = 60
	for name, test := range map[string]struct {
		trace *v1beta1.Traceflow
		after time.Duration
		want  string
	}{
		"nothing yet":             {with(), 19 * time.Second, ""},
		"timeout":                 {with(), 20 * time.Second, "Failed Traceflow timeout: no Node has reported the packet; does the agent"},
		"timeout, not received":   {with(sent), 20 * time.Second, "timeout: Node n has sent the packet to Node 192.168.77.102, which has not"},
		"timeout, not sent":       {with(received), 20 * time.Second, "timeout: Node n has received the packet, and the source's Node has not"},
		"timeout, no traffic":     {live(false), 20 * time.Second, "timeout: no packet that opens a connection has matched"},
		"timeout, no drop":        {live(true), 20 * time.Second, "timeout: no NetworkPolicy has dropped a packet"},
		"too long":                {endless, 300 * time.Second, "Failed Traceflow timeout"},
		"another timeout":         {patient, 59 * time.Second, ""},
		"only sent":               {with(result(v1beta1.ActionForwarded, v1beta1.ActionForwarded)), 0, ""},
		"only received":           {with(result(v1beta1.ActionReceived, v1beta1.ActionDelivered)), 0, ""},
		"both Nodes":              {with(result(v1beta1.ActionReceived, v1beta1.ActionDelivered), result(v1beta1.ActionForwarded, v1beta1.ActionForwarded)), 0, "Succeeded "},
		"complete after the time": {with(result(v1beta1.ActionForwarded, v1beta1.ActionDelivered)), time.Hour, "Succeeded "},
		"dropped by the sender":   {with(result(v1beta1.ActionForwarded, v1beta1.ActionDropped)), 0, "Succeeded "},
		"rejected":                {with(result(v1beta1.ActionForwarded, v1beta1.ActionRejected)), 0, "Succeeded "},
		"out of the network":      {with(result(v1beta1.ActionForwarded, v1beta1.ActionForwardedOutOfNetwork)), 0, "Succeeded "},
		"of a former agent":       {with(result(v1beta1.ActionForwarded, v1beta1.ActionForwardedOutOfOverlay)), 0, "Succeeded "},
		"dropped by the receiver": {droppedThere, 0, "Succeeded "},
		"receiver only":           {receiverOnly, 0, "Succeeded "},
		"source deleted":          {noSource, 0, "Failed source Pod gone/client was deleted while the trace ran"},
		"destination deleted":     {noDestination, 0, "Failed destination Pod gone/server was deleted"},
		"deleted after the end":   {sentBefore, 0, "Succeeded "},
		"failed in an agent":      {failed, 0, "Failed an agent says so"},
		"no tag":                  {running("tf", 0), 0, "Failed the status of the running trace has the data plane tag 0"},
	} {
		t.Run(name, func(t *testing.T) {
			var c core
			changes := c.plan([]*v1beta1.Traceflow{test.trace}, podsOf, start.Add(test.after))
			if test.want == "" {
				require.Empty(t, changes)
				return
			}
			require.Len(t, changes, 1)
			require.Contains(t, fmt.Sprint(changes[0].status.Phase, " ", changes[0].status.Reason), test.want)
			require.Zero(t, changes[0].status.DataplaneTag)
			require.Equal(t, test.trace.Status.Results, changes[0].status.Results)
		})
	}
	var c core
	changes := c.plan([]*v1beta1.Traceflow{running("a", 5), running("b", 5)}, podsOf, start)
	require.Len(t, changes, 1)
	require.Equal(t, []any{"b", "the data plane tag 5 is in use by another Traceflow"}, []any{changes[0].name, changes[0].status.Reason})
}

// TestEndpointsAreNamed: when a trace ends, the Pod to which a Service has led the packet is named.
func TestEndpointsAreNamed(t *testing.T) {
	for address, want := range map[string]string{"10.10.1.20": "ns/server", "192.168.77.101": ""} {
		trace := running("tf", 5)
		sent := result(v1beta1.ActionForwarded, v1beta1.ActionForwarded, v1beta1.ActionDelivered)
		sent.Observations[1] = v1beta1.Observation{Component: v1beta1.ComponentLB, Action: v1beta1.ActionForwarded, TranslatedDstIP: address}
		trace.Status.Results = []v1beta1.NodeResult{sent}
		var c core
		changes := c.plan([]*v1beta1.Traceflow{trace}, podsOf, start)
		require.Len(t, changes, 1)
		var pods []string
		for _, o := range changes[0].status.Results[0].Observations {
			pods = append(pods, o.Pod)
		}
		require.Equal(t, []string{"", want, ""}, pods)
		require.Empty(t, sent.Observations[1].Pod, "what the informer has must not change")
	}
}

func TestRefusedTraces(t *testing.T) {
	for want, change := range map[string]func(*v1beta1.TraceflowSpec){
		"only one of pod, service and ip": func(s *v1beta1.TraceflowSpec) { s.Destination.Service = "web" },
		"source: only one of pod and ip":  func(s *v1beta1.TraceflowSpec) { s.Source.IP = "10.0.0.1" },
		"source: Pod client needs":        func(s *v1beta1.TraceflowSpec) { s.Source.Namespace = "" },
		"destination: web needs":          func(s *v1beta1.TraceflowSpec) { s.Destination = v1beta1.Destination{Service: "web"} },
		"source Pod must be specified":    func(s *v1beta1.TraceflowSpec) { s.Source = v1beta1.Source{} },
		"destination must be specified":   func(s *v1beta1.TraceflowSpec) { s.Destination = v1beta1.Destination{} },
		"Traceflow tf has neither source": func(s *v1beta1.TraceflowSpec) { s.Source, s.LiveTraffic = v1beta1.Source{}, true },
		"address \"10.0.0\"":              func(s *v1beta1.TraceflowSpec) { s.Destination.IP = "10.0.0" },
		"source Pod no/client not found":  func(s *v1beta1.TraceflowSpec) { s.Source.Namespace = "no" },
		"hostNetwork Pod as source":       func(s *v1beta1.TraceflowSpec) { s.Source.Pod = "host" },
		"hostNetwork Pod as destination is": func(s *v1beta1.TraceflowSpec) {
			*s = v1beta1.TraceflowSpec{LiveTraffic: true, Destination: v1beta1.Destination{Namespace: "ns", Pod: "host"}}
		},
	} {
		trace := valid("tf")
		change(&trace.Spec)
		var c core
		changes := c.plan([]*v1beta1.Traceflow{trace}, podsOf, start)
		require.Len(t, changes, 1)
		require.Equal(t, v1beta1.TraceflowFailed, changes[0].status.Phase)
		require.Contains(t, changes[0].status.Reason, want)
	}
}
