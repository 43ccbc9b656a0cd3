// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leader

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// TestStatusThatMembersWrite: whatever a member writes into the status of a ResourceImport, it can be read.
func TestStatusThatMembersWrite(t *testing.T) {
	for _, status := range []any{"x", map[string]any{"clusterStatuses": "x"}, map[string]any{"clusterStatuses": []any{map[string]any{"conditions": 3.0}}}} {
		i, err := crd.Read[v1alpha1.ResourceImport](&unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": "default-nginx-service"}, "spec": map[string]any{"kind": "ServiceImport"}, "status": status,
		}})
		require.NoError(t, err)
		require.Equal(t, "ServiceImport", i.Spec.Kind)
	}
}

// TestMalformedImport: it is deleted, and made again when it is gone.
func TestMalformedImport(t *testing.T) {
	w := newWorld(t)
	w.announce("west")
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	w.settle()
	s := shown(w.api, w.api.Now)
	malformed := s.imports[1]
	require.Equal(t, "default-nginx-service", malformed.Name)
	s.imports, s.malformed = s.imports[:1], []metav1.Object{malformed}
	changes := w.core.plan(s)
	require.Len(t, changes, 1)
	require.Equal(t, "delete ResourceImport antrea-multicluster/default-nginx-service", changes[0].String())
	require.NoError(t, w.api.Make(changes[0]))
	w.settle()
	require.NotNil(t, w.imported("default-nginx-service"))
}

// TestExportsWithoutAnnounce: exports of a cluster that never announces itself, or not again, go; after a start of the leader members have time to reach it.
func TestExportsWithoutAnnounce(t *testing.T) {
	w := newWorld(t)
	w.announce("west")
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	w.settle()
	w.exportService("east", "default", "nginx", 80, "10.200.7.9")
	w.settle()
	require.Equal(t, []string{"10.200.7.9", "10.100.7.9"}, w.addresses("default", "nginx"), "the watch of announces may be behind")
	w.api.Now = w.api.Now.Add(timeout - time.Second)
	w.settle()
	require.Len(t, w.addresses("default", "nginx"), 2)
	w.api.Now = w.api.Now.Add(time.Second)
	w.settle()
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"))
	require.Equal(t, 2, w.api.Len(resourceExports))

	w.core = newCore()
	w.exportService("east", "default", "nginx", 80, "10.200.7.9")
	w.settle()
	w.api.Now = w.api.Now.Add(unheardFor - time.Second)
	w.announce("west")
	w.settle()
	require.Len(t, w.addresses("default", "nginx"), 2, "the leader was away")
	w.api.Now = w.api.Now.Add(time.Second)
	w.settle()
	require.Equal(t, []string{"10.100.7.9"}, w.addresses("default", "nginx"))
}

// TestExportsOfOneMember: the oldest of too many are imported, the others say why not; a ClusterInfo and other members are not concerned.
func TestExportsOfOneMember(t *testing.T) {
	w := newWorld(t)
	w.announce("east")
	w.announce("west")
	s := shown(w.api, w.api.Now)
	add := func(cluster, name, kind string) *v1alpha1.ResourceExport {
		e := export(cluster, "default", name, kind)
		e.CreationTimestamp = metav1.NewTime(w.api.Now.Add(time.Duration(len(s.exports)) * time.Second))
		if kind == v1alpha1.ServiceKind {
			e.Spec.Service = &v1alpha1.ServiceExport{}
			e.Spec.Service.ServiceSpec.Ports = []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}
		} else {
			e.Name, e.Spec.ClusterInfo = v1alpha1.ClusterInfoName(cluster), &v1alpha1.ClusterInfo{ClusterID: cluster}
		}
		s.exports = append(s.exports, e)
		return e
	}
	for i := range mostExports {
		add("west", fmt.Sprint("z", mostExports-i), v1alpha1.ServiceKind)
	}
	last := add("west", "a", v1alpha1.ServiceKind)
	info, other := add("west", "west", v1alpha1.ClusterInfoKind), add("east", "web", v1alpha1.ServiceKind)
	changes, wanted := s.importChanges(nil)
	require.EqualError(t, wanted.verdicts[last.Name], "cluster west exports more than 1000 Services")
	for _, e := range append(s.exports[:mostExports:mostExports], info, other) {
		require.NoError(t, wanted.verdicts[e.Name], e.Name)
	}
	require.Len(t, wanted.imports, mostExports+2)
	require.Equal(t, change.Create, changes[0].Verb)
	require.Equal(t, "west-clusterinfo", changes[0].Name, "ways come first")
}

// TestMembersComeFirst: the state of members is written before everything that may take longer than a round.
func TestMembersComeFirst(t *testing.T) {
	w := newWorld(t)
	w.announce("west")
	w.exportService("west", "default", "nginx", 80, "10.100.7.9")
	changes := w.core.plan(shown(w.api, w.api.Now))
	require.Equal(t, "patch the status of ClusterSet antrea-multicluster/set", changes[0].String())
	require.Equal(t, change.Create, changes[1].Verb)
}
