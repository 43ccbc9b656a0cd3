// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package commonarea

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// TestNamesake: of two clusters with one ID, the first is the member as long as it announces itself, whatever its clock says. The second says
// why it is not, does not end the membership when it leaves, and takes the place of a silent first.
func TestNamesake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, client := newArea(t)
		second, err := NewFor(west, client, "uid-2", func() {})
		require.NoError(t, err)
		run := func(a *Area) (stop func()) {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() { defer close(done); a.announceForever(ctx, make(chan struct{})) }()
			synctest.Wait()
			return func() { cancel(); <-done }
		}
		expect := func(up, down *Area, runs bool) {
			t.Helper()
			synctest.Wait()
			isUp, failure := up.State()
			require.True(t, isUp, failure)
			isUp, failure = down.State()
			require.False(t, isUp)
			require.Equal(t, up.clusterUID, stored(t, up).Annotations[v1alpha1.ClusterUIDAnnotation])
			if runs {
				require.Contains(t, failure, "another cluster has the ID of this one: member-announce-from-west; it is the cluster whose Namespace kube-system has the UID "+up.clusterUID)
			}
		}
		stopFirst := run(first)
		time.Sleep(time.Second)
		stopSecond := run(second)
		for range 20 {
			expect(first, second, true)
			time.Sleep(heartbeatInterval / 2)
		}
		second.Leave(t.Context())
		expect(first, second, true)

		stopFirst()
		time.Sleep(Timeout + heartbeatInterval)
		expect(second, first, false)
		stopFirst = run(first)
		expect(second, first, true)
		time.Sleep(2 * Timeout)
		expect(second, first, true)

		// An announce that does not say of which cluster it is, as Antrea's, belongs to the member with the token.
		stopFirst()
		stopSecond()
		require.NoError(t, first.announces().Delete(t.Context(), "member-announce-from-west", metav1.DeleteOptions{}))
		antrea, err := NewFor(west, client, "", func() {})
		require.NoError(t, err)
		require.NoError(t, antrea.announce(t.Context()))
		require.NotContains(t, stored(t, first).Annotations, v1alpha1.ClusterUIDAnnotation)
		require.NoError(t, first.announce(t.Context()))
		require.Equal(t, "uid-1", stored(t, first).Annotations[v1alpha1.ClusterUIDAnnotation])

		// A member that loses its announce to another cluster is down at once, not after a while.
		require.True(t, first.record(nil))
		require.NoError(t, first.announces().Delete(t.Context(), "member-announce-from-west", metav1.DeleteOptions{}))
		require.True(t, second.record(second.announce(t.Context())))
		require.False(t, first.record(first.announce(t.Context())))
		expect(second, first, true)
		require.NoError(t, first.announces().Delete(t.Context(), "member-announce-from-west", metav1.DeleteOptions{}))
		require.NoError(t, first.announce(t.Context()))
		first.Leave(t.Context())
		_, err = first.announces().Get(t.Context(), "member-announce-from-west", metav1.GetOptions{})
		require.Error(t, err)
	})
}
