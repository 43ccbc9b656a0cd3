// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// TestEvents: each address that comes to a Node or goes is an Event of its own, with Antrea's words.
func TestEvents(t *testing.T) {
	kube := fake.NewClientset()
	events := NewEvents(kube, "node-1")
	// As Run does: an Event from before it would be lost.
	require.NoError(t, events.broadcaster.StartRecordingToSinkWithContext(t.Context()))
	t.Cleanup(events.broadcaster.Shutdown)
	version := func(version string) *v1beta1.Egress {
		return &v1beta1.Egress{ObjectMeta: metav1.ObjectMeta{Name: "e", UID: "u", ResourceVersion: version}}
	}
	former, next := netip.MustParseAddr("169.254.100.1"), netip.MustParseAddr("169.254.101.1")
	events.Assigned(version("1"), former)
	events.Unassigned(version("3"), former)
	events.Assigned(version("3"), next)
	want := []string{
		"AntreaAgentEgressController NodeAssignment IPAssigned Normal: Assigned Egress e with IP 169.254.100.1 on Node node-1",
		"AntreaAgentEgressController NodeAssignment IPAssigned Normal: Assigned Egress e with IP 169.254.101.1 on Node node-1",
		"AntreaAgentEgressController NodeAssignment IPUnassigned Normal: Unassigned Egress e with IP 169.254.100.1 from Node node-1",
	}
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		list, err := kube.EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
		require.NoError(c, err)
		var got []string
		for _, e := range list.Items {
			require.Equal(c, "Egress e u", e.Regarding.Kind+" "+e.Regarding.Name+" "+string(e.Regarding.UID))
			got = append(got, e.ReportingController+" "+e.Action+" "+e.Reason+" "+e.Type+": "+e.Note)
		}
		slices.Sort(got)
		require.Equal(c, want, got)
	}, 20*time.Second, 5*time.Millisecond)
}
