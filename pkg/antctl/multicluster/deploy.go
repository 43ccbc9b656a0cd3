// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// The kinds of a manifest that matter to the order.
const (
	kindCRD        = "CustomResourceDefinition"
	kindDeployment = "Deployment"
	kindValidating = "ValidatingWebhookConfiguration"
	kindMutating   = "MutatingWebhookConfiguration"
)

// order says which kinds are written first, and which last: the Deployment finds its rights and its configuration, and nothing asks the
// controller before it is there.
func order(object *unstructured.Unstructured) int {
	switch object.GetKind() {
	case "Namespace":
		return 0
	case kindCRD:
		return 1
	case kindDeployment:
		return 3
	case kindValidating, kindMutating:
		return 4
	}
	return 2
}

// ParseManifest returns the objects of a manifest, in the order in which Deploy writes them.
func ParseManifest(manifest []byte) (objects []*unstructured.Unstructured, err error) {
	for reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest))); ; {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("document %d is not YAML of an object: %w", len(objects)+1, err)
		}
		if len(object.Object) == 0 {
			continue // comments only
		}
		if object.GetKind() == "" || object.GetAPIVersion() == "" || object.GetName() == "" {
			return nil, fmt.Errorf("document %d has no kind, apiVersion or name", len(objects)+1)
		}
		objects = append(objects, object)
	}
	if len(objects) == 0 {
		return nil, errors.New("it has no objects")
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return order(a) - order(b) })
	return objects, nil
}

// Deploy writes the objects of a manifest into a Namespace, which is made if it is missing, and waits until the controller and its webhooks
// answer. Changes that others have made to objects stay, unless the manifest says otherwise.
func (c *Cluster) Deploy(ctx context.Context, namespace string, objects []*unstructured.Unstructured, mapper meta.RESTMapper) error {
	if err := checkName("--namespace", namespace); err != nil {
		return err
	}
	_, err := c.Kube.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{FieldManager: fieldManager})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		// Who may not make Namespaces may have one.
		if _, found := c.Kube.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{}); found != nil {
			return fmt.Errorf("making Namespace %s: %w", namespace, err)
		}
	}
	if err := c.refuseOtherRole(ctx, namespace, objects); err != nil {
		return err
	}
	for _, object := range objects {
		if err := c.apply(ctx, namespace, object, mapper); err != nil {
			return err
		}
	}
	for _, object := range objects {
		if err := c.awaitDeployed(ctx, namespace, object); err != nil {
			return err
		}
	}
	return nil
}

// refuseOtherRole refuses a manifest that would replace the controller of a leader by a member's in its Namespace, or the other way round: their
// ServiceAccount, rights and Service have the same names.
func (c *Cluster) refuseOtherRole(ctx context.Context, namespace string, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		if object.GetKind() != kindDeployment {
			continue
		}
		wanted := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, wanted); err != nil {
			return fmt.Errorf("reading Deployment %s: %w", object.GetName(), err)
		}
		current, err := c.Kube.AppsV1().Deployments(namespace).Get(ctx, wanted.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("reading Deployment %s/%s: %w", namespace, wanted.Name, err)
		}
		if is, want := roleOf(current), roleOf(wanted); is != "" && is != want {
			return fmt.Errorf("the Namespace %s has the controller of a %s: a %s needs another Namespace", namespace, is, want)
		}
	}
	return nil
}

// roleOf returns the role of a Deployment's controller, "leader" or "member", which is the first argument of the program.
func roleOf(d *appsv1.Deployment) string {
	for _, container := range d.Spec.Template.Spec.Containers {
		for _, arg := range slices.Concat(container.Command, container.Args) {
			if arg == "leader" || arg == "member" {
				return arg
			}
		}
	}
	return ""
}

// apply writes an object.
func (c *Cluster) apply(ctx context.Context, namespace string, object *unstructured.Unstructured, mapper meta.RESTMapper) error {
	kind := object.GroupVersionKind()
	what := kind.Kind + " " + object.GetName()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return fmt.Errorf("the cluster does not have the kind of %s: %w", what, err)
	}
	resource := c.Dynamic.Resource(mapping.Resource)
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if n := object.GetNamespace(); n != "" && n != namespace {
			return fmt.Errorf("the manifest has %s in Namespace %s; --namespace is %s", what, n, namespace)
		}
		_, err = resource.Namespace(namespace).Apply(ctx, object.GetName(), object, options)
	} else {
		_, err = resource.Apply(ctx, object.GetName(), object, options)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", what, err)
	}
	c.Say("Applied %s", what)
	return nil
}

// awaitDeployed waits until an object has its effect.
func (c *Cluster) awaitDeployed(ctx context.Context, namespace string, object *unstructured.Unstructured) error {
	name := object.GetName()
	switch object.GetKind() {
	case kindCRD:
		crds := c.Dynamic.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
		return c.await(ctx, "the CRD "+name, func(ctx context.Context) (bool, string, error) {
			crd, err := crds.Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			return hasCondition(crd, "Established"), "it is not established", nil
		})
	case kindDeployment:
		return c.await(ctx, fmt.Sprintf("Deployment %s/%s", namespace, name), func(ctx context.Context) (bool, string, error) {
			d, err := c.Kube.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			return available(d), fmt.Sprintf("%d of its Pods are available; look at kubectl -n %s get pods", d.Status.AvailableReplicas, namespace), nil
		})
	case kindValidating, kindMutating:
		return c.await(ctx, "the certificate in "+object.GetKind()+" "+name, func(ctx context.Context) (bool, string, error) {
			ok, err := c.certified(ctx, object.GetKind(), name)
			return ok, "antrea-mc-controller has not written it", err
		})
	}
	return nil
}

func available(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Status.UpdatedReplicas > 0 && d.Status.AvailableReplicas > 0 &&
		d.Status.Replicas == d.Status.UpdatedReplicas
}

// certified reports whether all webhooks of a configuration have a certificate.
func (c *Cluster) certified(ctx context.Context, kind, name string) (bool, error) {
	configurations := c.Kube.AdmissionregistrationV1()
	all := true
	if kind == kindMutating {
		m, err := configurations.MutatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		for i := range m.Webhooks {
			all = all && len(m.Webhooks[i].ClientConfig.CABundle) > 0
		}
		return all, nil
	}
	v, err := configurations.ValidatingWebhookConfigurations().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, err
	}
	for i := range v.Webhooks {
		all = all && len(v.Webhooks[i].ClientConfig.CABundle) > 0
	}
	return all, nil
}

// hasCondition reports whether a condition of an object is True.
func hasCondition(object *unstructured.Unstructured, name string) bool {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == name && condition["status"] == "True"
	})
}
