// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/acceptance/policycases"
)

// kinds are the kinds of objects in the cases.
var kinds = map[policycases.Kind]struct {
	resource schema.GroupVersionResource
	kind     string
}{
	policycases.ACNP:          {crd.ClusterNetworkPolicies, v1beta1.ClusterNetworkPolicyKind},
	policycases.ANNP:          {crd.NetworkPolicies, v1beta1.NetworkPolicyKind},
	policycases.Tier:          {crd.Tiers, v1beta1.TierKind},
	policycases.ClusterGroup:  {crd.ClusterGroups, v1beta1.ClusterGroupKind},
	policycases.Group:         {crd.Groups, v1beta1.GroupKind},
	policycases.NetworkPolicy: {networkingv1.SchemeGroupVersion.WithResource("networkpolicies"), "NetworkPolicy"},
	policycases.Service:       {corev1.SchemeGroupVersion.WithResource("services"), "Service"},
}

// resource is the API of an object's kind in its Namespace.
func (b *policyBed) resource(o policycases.Object) dynamic.ResourceInterface {
	resource := b.dynamic.Resource(kinds[o.Kind].resource)
	if o.Namespace == "" {
		return resource
	}
	return resource.Namespace(b.namespaces[o.Namespace])
}

// object makes an object of the API.
func (b *policyBed) object(t *testing.T, o policycases.Object) *unstructured.Unstructured {
	t.Helper()
	var spec map[string]any
	text := b.expand(t, o.Spec)
	require.NoError(t, yaml.Unmarshal([]byte(text), &spec), text)
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(kinds[o.Kind].resource.GroupVersion().WithKind(kinds[o.Kind].kind))
	object.SetName(o.Name)
	object.SetNamespace(b.namespaces[o.Namespace])
	return object
}

// apply creates an object, which goes with the test, or changes it. It returns what the API server has made of it.
func (b *policyBed) apply(t *testing.T, o policycases.Object) (applied *unstructured.Unstructured, err error) {
	t.Helper()
	resource, object := b.resource(o), b.object(t, o)
	err = retryOnConflict(func() error {
		former, err := resource.Get(t.Context(), o.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			if applied, err = resource.Create(t.Context(), object, metav1.CreateOptions{}); err == nil {
				t.Cleanup(func() { b.delete(context.Background(), t, o) })
			}
			return err
		}
		if err != nil {
			return err
		}
		object.SetResourceVersion(former.GetResourceVersion())
		if address, found, _ := unstructured.NestedString(former.Object, "spec", "clusterIP"); found {
			require.NoError(t, unstructured.SetNestedField(object.Object, address, "spec", "clusterIP"))
		}
		applied, err = resource.Update(t.Context(), object, metav1.UpdateOptions{})
		return err
	})
	return applied, err
}

// delete deletes an object, if it is there. A tier may be in use for a moment after its last policy.
func (b *policyBed) delete(ctx context.Context, t *testing.T, o policycases.Object) {
	t.Helper()
	deadline := time.Now().Add(policyDelay)
	for {
		err := b.resource(o).Delete(ctx, o.Name, metav1.DeleteOptions{})
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		if o.Kind != policycases.Tier || time.Now().After(deadline) {
			require.NoError(t, err, "%s %s", o.Kind, o.Name)
		}
		time.Sleep(pollInterval)
	}
}

// policyStatus is the status of a policy of Antrea.
func (b *policyBed) policyStatus(t *testing.T, o policycases.Object) (generation int64, status v1beta1.NetworkPolicyStatus, err error) {
	t.Helper()
	object, err := b.resource(o).Get(t.Context(), o.Name, metav1.GetOptions{})
	if err != nil {
		return 0, status, err
	}
	policy, err := crd.Read[v1beta1.NetworkPolicy](object)
	if err != nil {
		return 0, status, err
	}
	return object.GetGeneration(), policy.Status, nil
}

// realized waits until all Nodes have the present generation of a policy.
func (b *policyBed) realized(t *testing.T, o policycases.Object) {
	t.Helper()
	eventually(t, policyDelay, func() error {
		generation, status, err := b.policyStatus(t, o)
		if err == nil && (status.Phase != v1beta1.NetworkPolicyRealized || status.ObservedGeneration != generation) {
			err = fmt.Errorf("%s %s of generation %d has the status %+v", o.Kind, o.Name, generation, status)
		}
		return err
	})
}

// label sets a label of a Pod or a Namespace.
func (b *policyBed) label(ctx context.Context, t *testing.T, l policycases.Label) {
	t.Helper()
	object := b.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("namespaces"))
	name, resource := b.namespaces[l.Namespace], dynamic.ResourceInterface(object)
	if l.Pod != "" {
		name, resource = l.Pod, b.dynamic.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(name)
	}
	require.NoError(t, retryOnConflict(func() error {
		former, err := resource.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		labels := former.GetLabels()
		if labels[l.Key] = l.Value; l.Value == "" {
			delete(labels, l.Key)
		}
		former.SetLabels(labels)
		_, err = resource.Update(ctx, former, metav1.UpdateOptions{})
		return err
	}))
}
