// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
)

// testController checks antrea-controller's own reports, and that agents work without it for a while.
func testController(t *testing.T, s *suite) {
	startSink(t, s.server.Space)
	s.label(t, s.server, map[string]string{"app": "server"})
	defer s.label(t, s.server, nil)
	remove := s.applyPolicy(t, ingressTo("deny", "server"))
	t.Run("CommandLine", func(t *testing.T) {
		var policies []apis.NetworkPolicy
		require.NoError(t, json.Unmarshal([]byte(succeeds(t, s.Controller(), "antctl", "get", "networkpolicy", "-o", "json")), &policies))
		require.Len(t, policies, 1)
		require.Equal(t, "deny", policies[0].SourceRef.Name)
		groups := succeeds(t, s.Controller(), "antctl", "get", "appliedtogroup", policies[0].AppliedToGroups[0])
		require.Contains(t, groups, namespace+"/"+s.server.PodName)
		require.Contains(t, succeeds(t, s.Controller(), "antctl", "version"), "controllerVersion")
		gates := succeeds(t, s.Controller(), "antctl", "get", "featuregates")
		require.Contains(t, gates, "Antrea Agent Feature Gates")
		require.Contains(t, gates, "Antrea Controller Feature Gates")
	})
	t.Run("AbsenceAndReturn", func(t *testing.T) {
		requireNoConnection(t, s.client.Space, s.address(sinkPort))
		require.NoError(t, s.StopController())
		policies := s.Client.NetworkingV1().NetworkPolicies(namespace)
		require.NoError(t, policies.Delete(t.Context(), "deny", metav1.DeleteOptions{}))
		requireNoConnection(t, s.client.Space, s.address(sinkPort))
		require.NoError(t, s.StartController())
		ctx, cancel := context.WithTimeout(t.Context(), setupTimeout)
		defer cancel()
		require.NoError(t, s.WaitControllerReady(ctx))
		requireConnects(t, s.client.Space, s.address(sinkPort))
	})
	remove()
}
