// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Listed are objects as the Kubernetes API has them, and rows about them.
type Listed struct {
	Header  []string
	Rows    [][]string
	Objects []map[string]any
}

// Query says which objects are listed: of one Namespace or of all, with one name or all.
type Query struct {
	Namespace, Name string
	// ClusterID limits ResourceExports to a member's.
	ClusterID string
}

// ClusterSets lists ClusterSets with the state of each cluster.
func (c *Cluster) ClusterSets(ctx context.Context, q Query) (Listed, error) {
	return list(ctx, c, v1alpha2.ClusterSets, q, []string{"CLUSTER-ID", "NAMESPACE", "CLUSTERSET-ID", "TYPE", "STATUS", "REASON"}, func(s *v1alpha2.ClusterSet) (rows [][]string) {
		for _, cluster := range s.Status.ClusterStatuses {
			for _, condition := range cluster.Conditions {
				rows = append(rows, []string{cluster.ClusterID, s.Namespace, s.Name, condition.Type, string(condition.Status), condition.Reason})
			}
		}
		if len(rows) == 0 {
			rows = [][]string{{s.Spec.ClusterID, s.Namespace, s.Name, "", "", ""}}
		}
		return rows
	})
}

// ResourceExports lists ResourceExports.
func (c *Cluster) ResourceExports(ctx context.Context, q Query) (Listed, error) {
	return list(ctx, c, v1alpha1.ResourceExports, q, []string{"CLUSTER-ID", "NAMESPACE", "NAME", "KIND"}, func(e *v1alpha1.ResourceExport) [][]string {
		if q.ClusterID != "" && e.Spec.ClusterID != q.ClusterID {
			return nil
		}
		return [][]string{{e.Spec.ClusterID, e.Namespace, e.Name, e.Spec.Kind}}
	})
}

// ResourceImports lists ResourceImports.
func (c *Cluster) ResourceImports(ctx context.Context, q Query) (Listed, error) {
	return list(ctx, c, v1alpha1.ResourceImports, q, []string{"NAMESPACE", "NAME", "KIND"}, func(i *v1alpha1.ResourceImport) [][]string {
		return [][]string{{i.Namespace, i.Name, i.Spec.Kind}}
	})
}

// list lists the objects for which there are rows.
func list[T any](ctx context.Context, c *Cluster, resource schema.GroupVersionResource, q Query, header []string, rows func(*T) [][]string) (Listed, error) {
	l := Listed{Header: header, Objects: []map[string]any{}}
	found, err := c.Dynamic.Resource(resource).Namespace(q.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return l, fmt.Errorf("listing the %s: %w", resource.Resource, crd.Missing(err, resource))
	}
	for i := range found.Items {
		object := &found.Items[i]
		if q.Name != "" && object.GetName() != q.Name {
			continue
		}
		content, err := crd.Read[T](object)
		if err != nil {
			return l, err
		}
		if r := rows(content); len(r) > 0 {
			unstructured.RemoveNestedField(object.Object, "metadata", "managedFields")
			l.Rows, l.Objects = append(l.Rows, r...), append(l.Objects, object.Object)
		}
	}
	if q.Name != "" && len(l.Objects) == 0 {
		return l, fmt.Errorf("there is no %q among the %s of %s", q.Name, resource.Resource, place(q.Namespace))
	}
	return l, nil
}

func place(namespace string) string {
	if namespace == metav1.NamespaceAll {
		return "all Namespaces"
	}
	return "Namespace " + namespace
}
