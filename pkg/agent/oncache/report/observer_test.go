// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// TestEventsOfTheCache: kubectl describe node shows when the cache has stopped working and why, and when it continued.
func TestEventsOfTheCache(t *testing.T) {
	kube := fake.NewSimpleClientset()
	problems := problem.NewRecorder()
	problem.SendEvents(t.Context(), problems, kube, "node-1")
	o := &Observer{Problems: problems, Node: "node-1", Away: NewSwitch(problems, "node-1")}

	o.Suspended(errors.New("transport interface eth0 is down"))
	list, _ := problems.List()
	require.Len(t, list, 1)
	require.Equal(t, oncache.ReasonSuspended, list[0].Reason)
	o.Suspended(nil)
	list, _ = problems.List()
	require.Empty(t, list)
	o.OpenVSwitchAway(errors.New("not connected"), 59400*time.Millisecond)
	list, _ = problems.List()
	require.Len(t, list, 1)
	require.Equal(t, oncache.ReasonOpenVSwitchAway, list[0].Reason)
	require.Contains(t, list[0].Message, "for at most 59s")
	o.OpenVSwitchAway(errors.New("not connected"), 0)
	list, _ = problems.List()
	require.Len(t, list, 1)
	require.Contains(t, list[0].Message, "end now")
	o.OpenVSwitchAway(nil, 0)
	list, _ = problems.List()
	require.Empty(t, list)
	o.NotRewriting(errors.New("gro_max_size of interface eth0 is 185000"))
	list, _ = problems.List()
	require.Len(t, list, 1)
	require.Equal(t, oncache.ReasonNotRewriting, list[0].Reason)
	require.Contains(t, list[0].Message, "gro_max_size")
	o.NotRewriting(nil)
	list, _ = problems.List()
	require.Empty(t, list)
	o.ModeChanged(datapath.ModeEnforce, datapath.ModeOff)

	want := map[string]string{"ONCacheSuspended": corev1.EventTypeWarning, "ONCacheResumed": corev1.EventTypeNormal, "ONCacheModeChanged": corev1.EventTypeNormal,
		"ONCacheNotRewriting": corev1.EventTypeWarning, "OpenVSwitchAway": corev1.EventTypeWarning, "OpenVSwitchBack": corev1.EventTypeNormal}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		events, err := kube.CoreV1().Events("").List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		got := map[string]string{}
		for _, e := range events.Items {
			require.Equal(c, "node-1", e.InvolvedObject.Name)
			got[e.Reason] = e.Type
		}
		require.Equal(c, want, got)
	}, 10*time.Second, 10*time.Millisecond)
}

// The problem lasts until no part finds it any more, whichever found it first.
func TestOpenVSwitchAwayHasTwoFinders(t *testing.T) {
	problems := problem.NewRecorder()
	s := NewSwitch(problems, "node-1")
	message := func() string {
		list, _ := problems.List()
		if len(list) == 0 {
			return ""
		}
		require.Len(t, list, 1)
		require.Equal(t, oncache.ReasonOpenVSwitchAway, list[0].Reason)
		return list[0].Message
	}
	s.Hung(errors.New("ovs-vswitchd runs, but has not answered for 10s"))
	require.Contains(t, message(), "has not answered")
	s.set(foundByCache, "flows are missing")
	require.Equal(t, "flows are missing", message())
	s.set(foundByCache, "")
	require.Contains(t, message(), "has not answered")
	s.Hung(nil)
	require.Empty(t, message())
	s.set(foundByCache, "flows are missing")
	s.Hung(nil)
	require.Equal(t, "flows are missing", message())
}
