// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// testEgress: the controller allocates an address, says so in both statuses, and refuses what Antrea refuses.
func testEgress(t *testing.T, f *fixture) {
	pools, egresses := f.admin.Dynamic.Resource(crd.ExternalIPPools), f.admin.Dynamic.Resource(crd.Egresses)
	pool := crd.New(v1beta1.ExternalIPPoolKind, "p")
	require.NoError(t, crd.Fill(pool, &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{IPRanges: []v1beta1.IPRange{{CIDR: "169.254.100.0/30"}}}}))
	_, err := pools.Create(t.Context(), pool, metav1.CreateOptions{})
	require.NoError(t, err)
	create := func(name string, spec v1beta1.EgressSpec) error {
		object := crd.New(v1beta1.EgressKind, name)
		if err := crd.Fill(object, &v1beta1.Egress{Spec: spec}); err != nil {
			return err
		}
		object.Object["status"] = nil
		_, err := egresses.Create(t.Context(), object, metav1.CreateOptions{})
		return err
	}
	require.NoError(t, create("e", v1beta1.EgressSpec{
		ExternalIPPool: "p", AppliedTo: v1beta1.AppliedTo{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
	}))
	testEgressGroups(t, f)
	f.eventually("an address", func() error {
		object, err := egresses.Get(t.Context(), "e", metav1.GetOptions{})
		if err != nil {
			return err
		}
		e, err := crd.Read[v1beta1.Egress](object)
		if err != nil {
			return err
		}
		if c := e.Status.Conditions; e.Spec.EgressIP != "169.254.100.1" || len(c) != 1 ||
			c[0].Type != v1beta1.IPAllocated || c[0].Status != corev1.ConditionTrue || c[0].LastTransitionTime.IsZero() {
			return fmt.Errorf("%+v %+v", e.Spec, c)
		}
		return nil
	})
	f.eventually("usage", func() error {
		object, err := pools.Get(t.Context(), "p", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if p, err := crd.Read[v1beta1.ExternalIPPool](object); err != nil || p.Status.Usage != (v1beta1.IPPoolUsage{Total: 2, Used: 1}) {
			return fmt.Errorf("%+v %w", p, err)
		}
		return nil
	})
	require.ErrorContains(t, create("outside", v1beta1.EgressSpec{EgressIP: "1.1.1.1", ExternalIPPool: "p"}), "IP 1.1.1.1 is not within the IP range")
	require.ErrorContains(t, create("none", v1beta1.EgressSpec{}), "oneOf")
	require.ErrorContains(t, create("mixed", v1beta1.EgressSpec{EgressIP: "1.1.1.1", EgressIPs: []string{"1.1.1.1"}}), "oneOf")
	require.ErrorContains(t, create("pattern", v1beta1.EgressSpec{EgressIP: "1.1.1.1", AppliedTo: v1beta1.AppliedTo{
		PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "pro-"}},
	}}), "env")
	require.NoError(t, create("lost", v1beta1.EgressSpec{ExternalIPPool: "gone"}))
	f.eventually("an Event of the Egress whose pool is not there", func() error {
		return f.told("lost", "AllocationError", "Cannot allocate EgressIP from ExternalIPPool: ExternalIPPool gone does not exist")
	})
	require.NoError(t, egresses.Delete(t.Context(), "lost", metav1.DeleteOptions{}))
	require.NoError(t, egresses.Delete(t.Context(), "e", metav1.DeleteOptions{}))
	f.eventually("the address is free", func() error {
		object, err := pools.Get(t.Context(), "p", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if p, err := crd.Read[v1beta1.ExternalIPPool](object); err != nil || p.Status.Usage.Used != 0 {
			return fmt.Errorf("%+v %w", p, err)
		}
		return nil
	})
}

// testEgressGroups: an agent learns which Pods on its Node an Egress is for.
func testEgressGroups(t *testing.T, f *fixture) {
	client, err := f.direct()
	require.NoError(t, err)
	groups, err := client.EgressGroups().Watch(t.Context(), controlplane.OfNode("node-1"))
	require.NoError(t, err)
	defer groups.Stop()
	event := next(t, groups)
	if event.Type == watch.Bookmark { // before the controller knew the Egress
		event = next(t, groups)
	}
	require.Equal(t, watch.Added, event.Type)
	group := event.Object.(*v1beta2.EgressGroup)
	require.Equal(t, "e", group.Name)
	require.NotEmpty(t, group.UID)
	requireMember(t, group.GroupMembers, "web", "")
}
