// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// usageLimit is upstream's limit until a pool shows how many of its addresses are allocated.
var usageLimit = limit(2 * time.Second)

// poolCase is a pool of upstream's tests with 2 addresses.
type poolCase struct {
	name  string
	rng   v1beta1.IPRange
	nodes metav1.LabelSelector
	// first is the address that is allocated first, owners are the Nodes of which one has it.
	first  string
	owners []string
}

// poolCases are the pools for which upstream creates and deletes Egresses and Services.
func (c *cluster) poolCases() []poolCase {
	one, two := c.nodes[:1], c.nodes[:2]
	return []poolCase{
		{"single matching Node", cidr("169.254.100.0/30"), amongNodes(one...), "169.254.100.1", one},
		{"two matching Nodes", v1beta1.IPRange{Start: "169.254.101.10", End: "169.254.101.11"}, amongNodes(two...), "169.254.101.10", two},
		{"no matching Node", cidr("169.254.102.0/30"), metav1.LabelSelector{MatchLabels: map[string]string{"foo": "bar"}}, "169.254.102.1", nil},
	}
}

func cidr(text string) v1beta1.IPRange { return v1beta1.IPRange{CIDR: text} }

// amongNodes selects Nodes by name.
func amongNodes(names ...string) metav1.LabelSelector {
	return metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: corev1.LabelHostname, Operator: metav1.LabelSelectorOpIn, Values: names}}}
}

// otherNode returns the other of the first two Nodes.
func (c *cluster) otherNode(node string) string {
	if node == c.nodes[0] {
		return c.nodes[1]
	}
	return c.nodes[0]
}

// objects is the API of a kind of the cluster in crd.antrea.io.
func (c *cluster) objects(t *testing.T, resource schema.GroupVersionResource) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(c.config)
	require.NoError(t, err)
	return client.Resource(resource)
}

// patchSpec merges fields into the specification of an object.
func (c *cluster) patchSpec(t *testing.T, resource schema.GroupVersionResource, name string, spec any) {
	t.Helper()
	patch, err := json.Marshal(map[string]any{"spec": spec})
	require.NoError(t, err)
	_, err = c.objects(t, resource).Patch(t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	require.NoError(t, err, "%s %s: %s", resource.Resource, name, patch)
}

// externalPool makes a pool of external addresses for some Nodes. It goes with the test.
func (c *cluster) externalPool(t *testing.T, rng v1beta1.IPRange, nodes metav1.LabelSelector) (name string) {
	t.Helper()
	name = namespacePrefix + rand.String(6)
	object := crd.New(v1beta1.ExternalIPPoolKind, name)
	require.NoError(t, crd.Fill(object, &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{IPRanges: []v1beta1.IPRange{rng}, NodeSelector: nodes}}))
	delete(object.Object, "status")
	pools := c.objects(t, crd.ExternalIPPools)
	// For a moment the webhook knows the pool of the former case, and refuses its addresses.
	eventually(t, policyDelay, func() error {
		_, err := pools.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	})
	t.Cleanup(func() { require.NoError(t, pools.Delete(withoutCancel(t), name, metav1.DeleteOptions{})) })
	return name
}

// expectUsage waits until a pool of 2 addresses shows how many are allocated.
func (c *cluster) expectUsage(t *testing.T, pool string, used int64) {
	t.Helper()
	eventually(t, usageLimit, func() error {
		object, err := c.objects(t, crd.ExternalIPPools).Get(t.Context(), pool, metav1.GetOptions{})
		if err != nil {
			return err
		}
		p, err := crd.Read[v1beta1.ExternalIPPool](object)
		if want := (v1beta1.IPPoolUsage{Total: 2, Used: used}); err == nil && p.Status.Usage != want {
			err = fmt.Errorf("the usage of ExternalIPPool %s is %+v, want %+v", pool, p.Status.Usage, want)
		}
		return err
	})
}

// expectAddress waits until a Node has an address of a pool on a device, and the others do not. An empty owner is for no Node.
func (c *cluster) expectAddress(t *testing.T, timeout time.Duration, address, owner string, others ...string) {
	t.Helper()
	nodes := others
	if owner != "" {
		nodes = append([]string{owner}, others...)
	}
	eventually(t, timeout, func() error {
		for _, node := range nodes {
			agent, err := c.agentPod(t.Context(), node)
			if err != nil {
				return err
			}
			stdout, stderr, err := c.run(t.Context(), agent, agentContainer, "ip", "-br", "addr")
			if err != nil {
				return fmt.Errorf("ip -br addr on Node %s: %w: %s", node, err, stderr)
			}
			if want := node == owner; strings.Contains(stdout, " "+address+"/32") != want {
				return fmt.Errorf("Node %s has %s/32: want %t: %s", node, address, want, stdout)
			}
		}
		return nil
	})
}

// pauseAgent stops the agent of a Node by a signal. It continues when resume is called, or with the end of the test.
func (c *cluster) pauseAgent(t *testing.T, namespace, node string) (resume func()) {
	t.Helper()
	disrupts(t)
	pod := c.pod(t, namespace, "signals", node, podOptions{hostNetwork: true, hostPID: true})
	send := func(signal string) {
		_, stderr, err := c.run(context.Background(), pod, "", "pkill", "-"+signal, "-x", "antrea-agent")
		require.NoError(t, err, "%s to the agent of Node %s: %s", signal, node, stderr)
	}
	resume = func() { send("CONT") }
	t.Cleanup(resume)
	send("STOP")
	return resume
}
