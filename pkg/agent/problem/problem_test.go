// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/record"
)

var (
	policy = Subject{Kind: "NetworkPolicy", Namespace: "shop", Name: "web", UID: "u1"}
	other  = Subject{Kind: "NetworkPolicy", Namespace: "shop", Name: "db"}
	file   = Subject{Kind: KindFile, Name: "/var/run/antrea/x"}
)

func newRecorder(now *time.Time) *Recorder {
	r := NewRecorder()
	r.now = func() time.Time { return *now }
	return r
}

func TestRecorder(t *testing.T) {
	now := time.Unix(1000, 0)
	r := newRecorder(&now)
	require.Empty(t, list(r))
	r.Report("B", policy, "first")
	now = now.Add(time.Second)
	r.Report("B", policy, "first")
	r.Report("B", policy, "second")
	r.Report("B", other, "m")
	r.Report("A", file, "m")
	begin := time.Unix(1000, 0)
	require.Equal(t, []Problem{
		{Reason: "A", Subject: file, Message: "m", Since: now, Times: 1},
		{Reason: "B", Subject: other, Message: "m", Since: now, Times: 1},
		{Reason: "B", Subject: policy, Message: "second", Since: begin, Times: 3},
	}, list(r))
	require.Equal(t, "NetworkPolicy shop/web", policy.String())
	require.Equal(t, "File /var/run/antrea/x", file.String())

	// An object that was created again is the same subject.
	again := policy
	again.UID = "u2"
	r.Resolve("A", again)
	require.Len(t, list(r), 3, "another reason")
	r.Resolve("B", again)
	r.Resolve("B", again)
	require.Len(t, list(r), 2)
	r.Report("B", policy, "back")
	r.Resolve("B", policy)
	require.Len(t, list(r), 2)
	r.Resolve("B", other)
	r.Resolve("A", file)
	require.Empty(t, list(r))
}

func list(r *Recorder) []Problem {
	problems, _ := r.List()
	return problems
}

func TestRecorderIsBounded(t *testing.T) {
	for namespace, most := range map[string]int{"n": maxNamespaced, "": maxProblems} {
		r := NewRecorder()
		numbered := func(i int) Subject { return Subject{Kind: "Pod", Namespace: namespace, Name: fmt.Sprint(i)} }
		for i := range most + 7 {
			r.Report("R", numbered(i), "m")
		}
		r.Report("R", numbered(0), "known ones are still renewed")
		problems, dropped := r.List()
		require.Len(t, problems, most)
		require.Equal(t, 7, dropped)
		require.Equal(t, "known ones are still renewed", problems[0].Message)
		// A resolved problem makes room.
		r.Resolve("R", numbered(0))
		r.Report("R", numbered(most), "m")
		require.Len(t, list(r), most)
		r.Report("R", numbered(0), "m")
		require.Len(t, list(r), most)
	}
}

// A user who fills a Namespace with bad objects does not hide the Node's problems.
func TestNamespacesLeaveRoomForTheNode(t *testing.T) {
	r := NewRecorder()
	for i := range 2 * maxProblems {
		r.Report("R", Subject{Kind: "NetworkPolicy", Namespace: "n", Name: fmt.Sprint(i)}, "m")
	}
	r.Report("A", file, "m")
	require.Equal(t, file, list(r)[0].Subject)
}

func TestMetric(t *testing.T) {
	r := NewRecorder()
	r.Report("A", policy, "m")
	r.Report("A", other, "m")
	r.Report("B", file, "m")
	require.Equal(t, 2, testutil.CollectAndCount(r))
	r.Resolve("B", file)
	require.Equal(t, 1, testutil.CollectAndCount(r))
}

func TestEvents(t *testing.T) {
	for _, tc := range []struct {
		name    string
		subject Subject
		// want is the object of the Event; nil for no Event.
		want *corev1.ObjectReference
	}{
		{"a policy", policy, &corev1.ObjectReference{Kind: "NetworkPolicy", APIVersion: "networking.k8s.io/v1", Namespace: "shop", Name: "web", UID: "u1"}},
		{"a Pod", Subject{Kind: "Pod", Namespace: "shop", Name: "p"}, &corev1.ObjectReference{Kind: "Pod", APIVersion: "v1", Namespace: "shop", Name: "p"}},
		{"this Node", Subject{Kind: "Node", Name: "n1", UID: "u"}, &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: "n1", UID: "n1"}},
		{"another Node, of which all agents know the same", Subject{Kind: "Node", Name: "n2"}, nil},
		{"a Service, of which all agents know the same", Subject{Kind: "Service", Namespace: "shop", Name: "web"}, nil},
		{"an EndpointSlice", Subject{Kind: "EndpointSlice", Namespace: "shop", Name: "web-1"}, nil},
		{"a file", file, &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: "n1", UID: "n1"}},
		{"a peer", Subject{Kind: KindPeer, Name: "192.0.2.1"}, &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: "n1", UID: "n1"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, events := NewRecorder(), record.NewFakeRecorder(10)
			events.IncludeObject = true
			r.sendTo(events, "n1")
			r.Report("Reason", tc.subject, "message")
			r.Report("Reason", tc.subject, "message")
			require.Equal(t, tc.want, involved(tc.subject, "n1"))
			if tc.want == nil {
				require.Empty(t, events.Events)
				return
			}
			require.Len(t, events.Events, 1, "a repetition makes no new Event")
			require.Contains(t, <-events.Events, "Warning Reason message")
			r.Report("Reason", tc.subject, "another")
			require.Contains(t, <-events.Events, "another")
		})
	}
}

func TestEventsReachTheAPI(t *testing.T) {
	r, kube := NewRecorder(), fake.NewClientset()
	SendEvents(t.Context(), r, kube, "n1")
	r.Report("PolicyNotRealized", policy, "too long")
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		events, err := kube.CoreV1().Events("shop").List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		require.Len(c, events.Items, 1)
		require.Equal(c, "PolicyNotRealized", events.Items[0].Reason)
		require.Equal(c, "web", events.Items[0].InvolvedObject.Name)
		require.Equal(c, corev1.EventSource{Component: "antrea-agent", Host: "n1"}, events.Items[0].Source)
	}, time.Minute, 10*time.Millisecond)
}
