// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// testPolicy: a policy of the leader's administrator says why it is not copied, with the rights of a member's token, and is copied when it can be.
func testPolicy(t *testing.T, f *fixture) {
	f.create(v1alpha1.ResourceExports, v1alpha1.ResourceExportKind, area, "isolation", &v1alpha1.ResourceExport{Spec: v1alpha1.ResourceExportSpec{
		Kind: v1alpha1.ClusterNetworkPolicyKind, Name: "isolation", ClusterNetworkPolicy: map[string]any{
			"priority": int64(5), "tier": "securityops", "appliedTo": []any{map[string]any{"podSelector": map[string]any{}}}, "ingress": []any{map[string]any{"action": "Drop"}},
		},
	}})
	f.eventually("the ClusterSet says that there are no policies here", func() error { return f.says("is their CRD installed?") })
	for _, name := range []string{"clusternetworkpolicy", "tier", "clustergroup"} {
		f.installCRD(name)
	}
	const missing = "ACNP Tier securityops does not exist"
	f.eventually("the ClusterSet says that there is no Tier", func() error { return f.says(missing) })
	f.eventually("the leader is told", func() error {
		list, err := f.admin.Kube.CoreV1().Events(area).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=ACNPImportFailed"})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.InvolvedObject.Name == v1alpha1.PolicyImportName("isolation") && e.Message == missing+" in importing cluster west" {
				return nil
			}
		}
		return fmt.Errorf("Events are %+v", list.Items)
	})
	f.create(crd.Tiers, v1beta1.TierKind, "", "securityops", &v1beta1.Tier{Spec: v1beta1.TierSpec{Priority: 100}})
	f.eventually("the policy is copied", func() error {
		p, err := get[v1beta1.ClusterNetworkPolicy](f, crd.ClusterNetworkPolicies, "", "antrea-mc-isolation")
		if err == nil && (p.Spec.Priority != 5 || len(p.Spec.Ingress) != 1) {
			err = fmt.Errorf("%+v", p.Spec)
		}
		return err
	})
	f.remove(v1alpha1.ResourceExports, area, "isolation")
	f.eventually("the copy is gone", func() error { return f.gone(crd.ClusterNetworkPolicies, "") })
}

// says returns an error unless the condition of the member's ClusterSet has a text.
func (f *fixture) says(text string) error {
	set, err := get[v1alpha2.ClusterSet](f, v1alpha2.ClusterSets, system, "set")
	if err == nil && !strings.Contains(fmt.Sprint(set.Status.Conditions), text) {
		err = fmt.Errorf("%+v", set.Status)
	}
	return err
}

// installCRD installs a CRD of the chart.
func (f *fixture) installCRD(name string) {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join("../../build/charts/antrea/crds", name+".yaml"))
	require.NoError(f.t, err)
	object := &unstructured.Unstructured{}
	require.NoError(f.t, yaml.Unmarshal(text, &object.Object))
	resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	_, err = f.admin.Dynamic.Resource(resource).Create(f.t.Context(), object, metav1.CreateOptions{})
	require.NoError(f.t, err)
}
