// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// The host outside, and the addresses of the first Node on its network.
const (
	egressServer                = "1.1.1.20"
	egressLocal, egressLocalTwo = "1.1.1.10", "1.1.1.11"
	egressPort                  = 8080
)

// egressSource is upstream's limit until Pods have another source.
var egressSource = limit(5 * time.Second)

// egressClients are a Pod on the Node with the address of an Egress, and one on another Node, which reaches the host outside only through the former.
type egressClients struct {
	*cluster
	local, remote *corev1.Pod
}

// testEgressClientIP: an Egress with an address that a Node has, its own or one of another device, gives it to what Pods of all Nodes send outside.
func (c *cluster) testEgressClientIP(t *testing.T) {
	namespace := c.namespace(t)
	server := c.outside(t, namespace, c.nodes[0], egressServer+"/24", egressLocal+"/24", egressLocalTwo+"/24")
	c.serveOutside(t, server, egressPort)
	e := &egressClients{cluster: c}
	for i, pod := range []**corev1.Pod{&e.local, &e.remote} {
		name := []string{"local", "remote"}[i]
		*pod = c.pod(t, namespace, name, c.nodes[i], podOptions{labels: map[string]string{egressLabel: name}})
	}
	e.expectSeenAs(t, e.local, egressLocal, egressLocalTwo)
	e.expectSeenAs(t, e.remote)

	nodeIP := server.Status.HostIP
	name := c.egress(t, nodeIP, "")
	c.expectEgress(t, egressChange, name, nodeIP, c.nodes[:1])
	e.expectSeenAs(t, e.local, nodeIP)
	e.expectSeenAs(t, e.remote, nodeIP)
	e.expectFirstConnection(t, namespace, nodeIP)

	c.patchSpec(t, crd.Egresses, name, map[string]any{"appliedTo": map[string]any{"podSelector": labelled(egressLabel, "remote")}})
	e.expectSeenAs(t, e.local, egressLocal, egressLocalTwo)
	e.expectSeenAs(t, e.remote, nodeIP)

	c.patchSpec(t, crd.Egresses, name, map[string]any{"appliedTo": map[string]any{"podSelector": labelled(egressLabel, "local")}})
	e.expectSeenAs(t, e.local, nodeIP)
	e.expectSeenAs(t, e.remote)

	c.patchSpec(t, crd.Egresses, name, map[string]any{"egressIP": egressLocalTwo})
	c.expectEgress(t, egressChange, name, egressLocalTwo, c.nodes[:1])
	e.expectSeenAs(t, e.local, egressLocalTwo)
	c.expectEvents(t, name) // the Node had the addresses before

	require.NoError(t, c.objects(t, crd.Egresses).Delete(t.Context(), name, metav1.DeleteOptions{}))
	e.expectSeenAs(t, e.local, egressLocal)
	e.expectSeenAs(t, e.remote)
}

// expectSeenAs waits until the host outside sees a Pod with one of the addresses, or has no connection with it if there are none.
func (e *egressClients) expectSeenAs(t *testing.T, from *corev1.Pod, want ...string) {
	t.Helper()
	eventually(t, egressSource, func() error {
		source, err := e.source(t, from, askClientIP(egressServer, egressPort)...)
		switch {
		case len(want) == 0 && err == nil:
			return fmt.Errorf("Pod %s reaches %s as %s, want no connection", from.Name, egressServer, source)
		case len(want) == 0:
			if _, ended := exitCode(err); !ended {
				return err // not curl's
			}
			return nil
		case err == nil && !slices.Contains(want, source):
			return fmt.Errorf("Pod %s is seen as %s, want one of %v", from.Name, source, want)
		}
		return err
	})
}

// expectFirstConnection starts a Pod on the Node without a route to the host outside: its first connection succeeds and has the address.
func (e *egressClients) expectFirstConnection(t *testing.T, namespace, want string) {
	t.Helper()
	script := fmt.Sprintf("source=$(wget -q -T 3 -O - http://%s:%d/clientip) && echo $source && [ ${source%%:*} = %s ]", egressServer, egressPort, want)
	e.createPod(t, namespace, "first", e.nodes[1], podOptions{labels: map[string]string{egressLabel: "first"}, command: []string{"/bin/sh", "-c", script}})
	eventually(t, podTimeout, func() error {
		pod, err := e.client.CoreV1().Pods(namespace).Get(t.Context(), "first", metav1.GetOptions{})
		if err != nil {
			return err
		}
		require.NotEqual(t, corev1.PodFailed, pod.Status.Phase, "the first connection: %s, want %s: %s", e.containerLog(t.Context(), pod, "first"), want, containerStates(pod))
		if pod.Status.Phase != corev1.PodSucceeded {
			return fmt.Errorf("Pod first: %s", containerStates(pod))
		}
		return nil
	})
}
