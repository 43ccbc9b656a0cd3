// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRefusedByTheLeader: a ServiceExport and the ClusterSet say what the leader's API does not take, and stop when it does.
func TestRefusedByTheLeader(t *testing.T) {
	w := newWorld(t)
	w.exportService(service("default", "nginx", "10.100.7.9", 80), true)
	w.exportService(service("default", "db", "10.100.7.10", 80), true)
	w.refused = map[string]string{"west-default-nginx-endpoints": "denied: too many", "west-clusterinfo": "denied: overlaps"}
	w.settle()
	c := w.valid("nginx")
	require.Equal(t, []string{string(metav1.ConditionFalse), refusedByLeader, "denied: too many"}, []string{string(c.Status), c.Reason, c.Message})
	require.Equal(t, metav1.ConditionTrue, w.valid("db").Status, "another Service")
	require.Equal(t, "ResourceExport west-clusterinfo: denied: overlaps", w.message())
	w.refused = nil
	w.settle()
	require.Equal(t, metav1.ConditionTrue, w.valid("nginx").Status)
	require.Equal(t, "Member Connected", w.message())
}
