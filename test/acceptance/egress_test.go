// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Upstream's limits.
var (
	egressCreation = limit(3 * time.Second)  // until an Egress has an address and a Node, and says so
	egressChange   = limit(time.Second)      // until it has another one
	egressEvents   = limit(2 * time.Second)  // until its Events say so
	egressFailover = limit(10 * time.Second) // until it has another Node after the agent of its Node stopped
)

// Conditions of an Egress with a pool.
const (
	egressAssigned   = "IPAssigned True Assigned: EgressIP is successfully assigned to EgressNode"
	egressUnassigned = "IPAssigned False AssignmentError: Failed to assign the IP to EgressNode: no Node available"
	egressAllocated  = "IPAllocated True Allocated: EgressIP is successfully allocated"
)

// TestEgress has upstream's cases for two Nodes with IPv4 and without VLANs.
func TestEgress(t *testing.T) {
	c := suite
	c.test(t, "testEgressClientIP/ipv4-cluster", c.testEgressClientIP)
	for _, pool := range c.poolCases() {
		c.test(t, "testEgressCRUD/"+pool.name, func(t *testing.T) { c.testEgressCRUD(t, pool) })
	}
	c.test(t, "testEgressUpdateEgressIP/same Node", func(t *testing.T) { c.testEgressUpdate(t, c.nodes[0]) })
	c.test(t, "testEgressUpdateEgressIP/different Nodes", func(t *testing.T) { c.testEgressUpdate(t, c.nodes[1]) })
	c.test(t, "testEgressUpdateNodeSelector/IPv4 cluster", c.testEgressNodeSelector)
	c.test(t, "testEgressNodeFailure/IPv4 cluster", c.testEgressNodeFailure)
	c.test(t, "testCreateExternalIPPool", c.testRefusedPool)
}

// egress makes an Egress for Pods with upstream's label, with an address, a pool, or both. It goes with the test.
func (c *cluster) egress(t *testing.T, address, pool string) (name string) {
	t.Helper()
	name = namespacePrefix + rand.String(6)
	object := crd.New(v1beta1.EgressKind, name)
	require.NoError(t, crd.Fill(object, &v1beta1.Egress{Spec: v1beta1.EgressSpec{
		AppliedTo: v1beta1.AppliedTo{PodSelector: labelled(egressLabel)}, EgressIP: address, ExternalIPPool: pool,
	}}))
	delete(object.Object, "status")
	_, err := c.objects(t, crd.Egresses).Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	t.Cleanup(func() {
		err := c.objects(t, crd.Egresses).Delete(withoutCancel(t), name, metav1.DeleteOptions{})
		require.True(t, err == nil || apierrors.IsNotFound(err), "%v", err)
	})
	return name
}

// egressLabel is upstream's label of Pods.
const egressLabel = "antrea-e2e"

// labelled selects Pods with a label, or with one of some values of it.
func labelled(key string, values ...string) *metav1.LabelSelector {
	requirement := metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists}
	if len(values) > 0 {
		requirement.Operator, requirement.Values = metav1.LabelSelectorOpIn, values
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{requirement}}
}

// deleteEgress deletes an Egress, and waits until none of the first two Nodes has its address.
func (c *cluster) deleteEgress(t *testing.T, name, address string) {
	t.Helper()
	require.NoError(t, c.objects(t, crd.Egresses).Delete(t.Context(), name, metav1.DeleteOptions{}))
	c.expectAddress(t, policyDelay, address, "", c.nodes[:2]...)
}

// expectEgress waits until an Egress has an address and one of the Nodes, or no Node if there are none, and the conditions, in this order. It returns
// the Node.
func (c *cluster) expectEgress(t *testing.T, timeout time.Duration, name, address string, nodes []string, conditions ...string) (node string) {
	t.Helper()
	eventually(t, timeout, func() error {
		object, err := c.objects(t, crd.Egresses).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		e, err := crd.Read[v1beta1.Egress](object)
		if err != nil {
			return err
		}
		var got []string
		for _, condition := range e.Status.Conditions {
			got = append(got, fmt.Sprintf("%s %s %s: %s", condition.Type, condition.Status, condition.Reason, condition.Message))
		}
		node = e.Status.EgressNode
		placed := slices.Contains(nodes, node) && e.Status.EgressIP == address || len(nodes) == 0 && node == "" && e.Status.EgressIP == ""
		if e.Spec.EgressIP != address || !placed || !slices.Equal(got, conditions) {
			return fmt.Errorf("Egress %s has address %q, shows address %q on Node %q and the conditions %q; want address %s, one of the Nodes %v, conditions %q",
				name, e.Spec.EgressIP, e.Status.EgressIP, node, got, address, nodes, conditions)
		}
		return nil
	})
	return node
}

// expectEvents waits until an Egress has exactly these Events.
func (c *cluster) expectEvents(t *testing.T, egress string, want ...string) {
	t.Helper()
	slices.Sort(want)
	eventually(t, egressEvents, func() error {
		list, err := c.client.EventsV1().Events("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var got []string
		for i := range list.Items {
			if about := list.Items[i].Regarding; about.Kind == v1beta1.EgressKind && about.Name == egress {
				got = append(got, list.Items[i].Reason+" "+list.Items[i].Note)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("Events of Egress %s: %q, want %q", egress, got, want)
		}
		return nil
	})
}

func assignedEvent(egress, address, node string) string {
	return fmt.Sprintf("IPAssigned Assigned Egress %s with IP %s on Node %s", egress, address, node)
}

func unassignedEvent(egress, address, node string) string {
	return fmt.Sprintf("IPUnassigned Unassigned Egress %s with IP %s from Node %s", egress, address, node)
}

// testEgressCRUD: an Egress gets the first address of a pool on one of the pool's Nodes, and the address is free after its end.
func (c *cluster) testEgressCRUD(t *testing.T, p poolCase) {
	pool := c.externalPool(t, p.rng, p.nodes)
	name := c.egress(t, "", pool)
	assigned := egressAssigned
	if len(p.owners) == 0 {
		assigned = egressUnassigned
	}
	node := c.expectEgress(t, egressCreation, name, p.first, p.owners, assigned, egressAllocated)
	var events []string
	if node != "" {
		events = append(events, assignedEvent(name, p.first, node))
		c.expectAddress(t, egressCreation, p.first, node, c.otherNode(node))
	} else {
		c.expectAddress(t, egressCreation, p.first, "", c.nodes[:2]...)
	}
	c.expectEvents(t, name, events...)
	c.expectUsage(t, pool, 1)
	c.deleteEgress(t, name, p.first)
	c.expectUsage(t, pool, 0)
	c.expectEvents(t, name, events...) // none of the end, as far as they are written when the usage is
}

// testEgressUpdate changes the address and the pool of an Egress together, which moves it from the first Node to another one, or leaves it there.
func (c *cluster) testEgressUpdate(t *testing.T, to string) {
	const former, next = "169.254.100.1", "169.254.101.1"
	from := c.nodes[0]
	formerPool := c.externalPool(t, cidr("169.254.100.0/30"), amongNodes(from))
	nextPool := c.externalPool(t, cidr("169.254.101.0/30"), amongNodes(to))
	name := c.egress(t, former, formerPool)
	c.expectEgress(t, egressCreation, name, former, []string{from}, egressAssigned, egressAllocated)
	c.expectEvents(t, name, assignedEvent(name, former, from))
	c.patchSpec(t, crd.Egresses, name, map[string]any{"egressIP": next, "externalIPPool": nextPool})
	c.expectEgress(t, egressChange, name, next, []string{to}, egressAssigned, egressAllocated)
	c.expectEvents(t, name, assignedEvent(name, former, from), unassignedEvent(name, former, from), assignedEvent(name, next, to))
	c.expectAddress(t, policyDelay, former, "", c.nodes[:2]...)
	c.expectAddress(t, policyDelay, next, to, c.otherNode(to))
	c.expectUsage(t, formerPool, 0)
	c.expectUsage(t, nextPool, 1)
	c.deleteEgress(t, name, next)
}

// egressOnTwo makes an Egress with an address of a pool of two Nodes, and returns the Node that has it.
func (c *cluster) egressOnTwo(t *testing.T, address string) (name, pool, owner string) {
	t.Helper()
	pool = c.externalPool(t, cidr("169.254.100.0/30"), amongNodes(c.nodes[:2]...))
	name = c.egress(t, "", pool)
	owner = c.expectEgress(t, egressCreation, name, address, c.nodes[:2], egressAssigned, egressAllocated)
	c.expectAddress(t, egressChange, address, owner, c.otherNode(owner))
	return name, pool, owner
}

// testEgressNodeSelector: an address leaves a Node that its pool does not select any more, and is back when the pool selects the Node again.
func (c *cluster) testEgressNodeSelector(t *testing.T) {
	const address = "169.254.100.1"
	name, pool, owner := c.egressOnTwo(t, address)
	other := c.otherNode(owner)
	for _, move := range []struct {
		selected []string
		from, to string
	}{{[]string{other}, owner, other}, {c.nodes[:2], other, owner}} {
		begun := time.Now()
		c.patchSpec(t, crd.ExternalIPPools, pool, map[string]any{"nodeSelector": amongNodes(move.selected...)})
		c.expectEgress(t, egressChange, name, address, []string{move.to}, egressAssigned, egressAllocated)
		t.Logf("from Node %s to %s: %.2f s", move.from, move.to, time.Since(begun).Seconds())
		c.expectAddress(t, egressChange, address, move.to, move.from)
	}
	c.deleteEgress(t, name, address)
}

// testEgressNodeFailure: an address moves to the other Node when the agent of its Node stops, and is back there only when the agent continues.
func (c *cluster) testEgressNodeFailure(t *testing.T) {
	const address = "169.254.100.1"
	namespace := c.namespace(t)
	name, _, owner := c.egressOnTwo(t, address)
	other := c.otherNode(owner)
	resume := c.pauseAgent(t, namespace, owner)
	begun := time.Now()
	c.expectEgress(t, egressFailover, name, address, []string{other}, egressAssigned, egressAllocated)
	t.Logf("on Node %s %.2f s after the agent of Node %s stopped", other, time.Since(begun).Seconds(), owner)
	c.expectAddress(t, egressChange, address, other) // the Node of the stopped agent still has it
	resume()
	begun = time.Now()
	c.expectEgress(t, egressFailover, name, address, []string{owner}, egressAssigned, egressAllocated)
	c.expectAddress(t, egressFailover, address, owner, other)
	t.Logf("back on Node %s after %.2f s", owner, time.Since(begun).Seconds())
	c.deleteEgress(t, name, address)
}

// testRefusedPool: a selector with a value that no label can have is refused.
func (c *cluster) testRefusedPool(t *testing.T) {
	object := crd.New(v1beta1.ExternalIPPoolKind, namespacePrefix+rand.String(6))
	require.NoError(t, crd.Fill(object, &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{
		IPRanges: []v1beta1.IPRange{cidr("169.254.100.0/30")}, NodeSelector: metav1.LabelSelector{MatchLabels: map[string]string{"env": "pro-"}},
	}}))
	delete(object.Object, "status")
	_, err := c.objects(t, crd.ExternalIPPools).Create(t.Context(), object, metav1.CreateOptions{})
	require.ErrorContains(t, err, "spec.nodeSelector.matchLabels.env")
}
