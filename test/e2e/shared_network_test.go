// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// testSharedPodNetwork adds the object of a Node that claims the Pod network of the second one, and removes it. The network
// must lead to the second Node all the time: the stream loses nothing, is accelerated, and is learned again afterward.
func testSharedPodNetwork(t *testing.T, s *suite) {
	networks := func() []api.NodeInfo { return askAgent[[]api.NodeInfo](t, s.node1, "/oncache?view=nodes") }
	before := networks()
	r := s.startStream(t)
	r.waitFastIfGate(t)
	log := followLog(t, s.node1)

	const name = "e2e-later"
	nodes := s.Client.CoreV1().Nodes()
	var cidrs []string
	for _, cidr := range s.node2.PodCIDRs {
		cidrs = append(cidrs, cidr.String())
	}
	node, err := nodes.Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: cidrs[0], PodCIDRs: cidrs},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
	defer func() { _ = nodes.Delete(t.Context(), name, metav1.DeleteOptions{}) }() // an error where it is already gone
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: s.node2.IPs[0].Next().Next().String()}}
	_, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	log.waitFor(t, "PodCIDROverlaps", name, s.node2.Name)
	r.waitFastIfGate(t)
	require.Equal(t, before, networks())

	require.NoError(t, nodes.Delete(t.Context(), name, metav1.DeleteOptions{}))
	// The cache can relearn what it has forgotten only if the network leads to the second Node.
	succeeds(t, s.node1.Space, "antctl", "oncache", "mode", "off")
	succeeds(t, s.node1.Space, "antctl", "oncache", "mode", "enforce")
	r.waitFastIfGate(t)
	require.Equal(t, before, networks())
	r.end(t, 0)
}
