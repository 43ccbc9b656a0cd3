// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// TestReader: a version of an object is read once, and again after a round in which it was not asked for. Content that changes without a version, as
// no API does it, shows what is read.
func TestReader(t *testing.T) {
	var r Reader
	policyImport := &v1alpha1.ResourceImport{ObjectMeta: metav1.ObjectMeta{Name: "x-antreaclusternetworkpolicy", UID: "uid-1", ResourceVersion: "1"}}
	policyImport.Spec.Name = "x"
	imports := func(version, content string) error {
		policyImport.ResourceVersion, policyImport.Spec.ClusterNetworkPolicy = version, object(t, content)
		_, err := r.CheckImport(policyImport)
		return err
	}
	require.NoError(t, imports("1", good))
	require.Error(t, imports("1", "null"), "no round has begun")
	r.Begin()
	require.NoError(t, imports("1", good))
	require.NoError(t, imports("1", "null"), "the same round")
	r.Begin()
	require.NoError(t, imports("1", "null"), "the next round")
	require.Error(t, imports("2", "null"), "another version")
	require.Error(t, imports("2", good), "a refusal is kept as well")
	r.Begin()
	r.Begin()
	require.Error(t, imports("1", "null"), "it is forgotten")
}

// TestReaderOfPairs: a copy is compared again when the copy or the import has changed, and an export is judged by its own.
func TestReaderOfPairs(t *testing.T) {
	var r Reader
	r.Begin()
	have, want := metav1.ObjectMeta{UID: "uid-1", ResourceVersion: "1"}, &v1alpha1.ResourceImport{ObjectMeta: metav1.ObjectMeta{UID: "uid-2", ResourceVersion: "1"}}
	want.Spec.ClusterNetworkPolicy = object(t, good)
	changed := object(t, strings.Replace(good, "5", "6", 1))
	require.True(t, r.Same(&have, object(t, good), want))
	require.True(t, r.Same(&have, changed, want), "the same versions")
	have.ResourceVersion = "2"
	require.False(t, r.Same(&have, changed, want))
	want.ResourceVersion, want.Spec.ClusterNetworkPolicy = "2", changed
	require.True(t, r.Same(&have, changed, want))

	e := &v1alpha1.ResourceExport{ObjectMeta: metav1.ObjectMeta{UID: "uid-3", ResourceVersion: "1"}, Spec: v1alpha1.ResourceExportSpec{Name: "x", ClusterNetworkPolicy: changed}}
	require.NoError(t, r.CheckExport(e))
	e.Spec.ClusterNetworkPolicy = nil
	require.NoError(t, r.CheckExport(e), "the same version")
	e.ResourceVersion = "2"
	require.ErrorContains(t, r.CheckExport(e), "is missing")
}

// TestNeeds: each object is named once.
func TestNeeds(t *testing.T) {
	i := &v1alpha1.ResourceImport{ObjectMeta: metav1.ObjectMeta{Name: "x-antreaclusternetworkpolicy"}, Spec: v1alpha1.ResourceImportSpec{Name: "x"}}
	i.Spec.ClusterNetworkPolicy = object(t, `{"priority": 1, "tier": "SecurityOps", "appliedTo": [{"group": "b"}, {"group": "a"}, {"group": "b"}]}`)
	needs, err := (*Reader)(nil).CheckImport(i)
	require.NoError(t, err)
	require.Equal(t, Needs{Tier: "securityops", ClusterGroups: []string{"a", "b"}}, needs)
}
