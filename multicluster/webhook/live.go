// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// readTimeout is shorter than the time that the Kubernetes API waits for a webhook (10 s).
const readTimeout = 5 * time.Second

// live reads the objects at each question. An informer would be late: it may not have seen yet that a ServiceAccount has another member's
// name now, or that the first of two ClusterSets exists.
type live struct {
	kube      kubernetes.Interface
	dynamic   dynamic.Interface
	namespace string
}

// NewObjects returns the objects in a Namespace as the Kubernetes API has them. The ServiceAccount needs get for ServiceAccounts, and list for
// ClusterSets, MemberClusterAnnounces and ResourceExports.
func NewObjects(kube kubernetes.Interface, dynamic dynamic.Interface, namespace string) Objects {
	return &live{kube, dynamic, namespace}
}

func (l *live) Account(name string) (map[string]string, bool, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	account, err := l.kube.CoreV1().ServiceAccounts(l.namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return account.Annotations, true, nil
}

func (l *live) ClusterSets() ([]*v1alpha2.ClusterSet, error) {
	return list[v1alpha2.ClusterSet](l, v1alpha2.ClusterSets, "")
}

func (l *live) Announces() ([]*v1alpha1.MemberClusterAnnounce, error) {
	return list[v1alpha1.MemberClusterAnnounce](l, v1alpha1.MemberClusterAnnounces, "")
}

// ClusterInfos relies on the label, which the webhook keeps equal to the kind.
func (l *live) ClusterInfos() ([]*v1alpha1.ResourceExport, error) {
	return list[v1alpha1.ResourceExport](l, v1alpha1.ResourceExports, v1alpha1.SourceKindLabel+"="+v1alpha1.ClusterInfoKind)
}

func list[T any](l *live, resource schema.GroupVersionResource, selector string) ([]*T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	found, err := l.dynamic.Resource(resource).Namespace(l.namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	objects := make([]*T, 0, len(found.Items))
	for i := range found.Items {
		object, err := crd.Read[T](&found.Items[i])
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}
