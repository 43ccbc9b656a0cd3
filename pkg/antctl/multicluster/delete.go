// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
)

// deletable is an object that antctl can delete.
type deletable struct {
	kind   string
	object metav1.Object
	delete func(context.Context, string, metav1.DeleteOptions) error
}

// deletables returns all objects of the kinds that antctl makes beside ClusterSets. RoleBindings come first: with them a member loses its rights.
func (c *Cluster) deletables(ctx context.Context, namespace string) (all []deletable, err error) {
	bindings, accounts, secrets := c.Kube.RbacV1().RoleBindings(namespace), c.Kube.CoreV1().ServiceAccounts(namespace), c.Kube.CoreV1().Secrets(namespace)
	b, err := bindings.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the RoleBindings of Namespace %s: %w", namespace, err)
	}
	s, err := secrets.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the Secrets of Namespace %s: %w", namespace, err)
	}
	a, err := accounts.List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing the ServiceAccounts of Namespace %s: %w", namespace, err)
	}
	for i := range b.Items {
		all = append(all, deletable{"RoleBinding", &b.Items[i], bindings.Delete})
	}
	for i := range s.Items {
		all = append(all, deletable{"Secret", &s.Items[i], secrets.Delete})
	}
	for i := range a.Items {
		all = append(all, deletable{"ServiceAccount", &a.Items[i], accounts.Delete})
	}
	return all, nil
}

// DeleteToken deletes the objects of a member's token that antctl has made, and the membership: once the rights are gone, the member cannot
// announce itself again. Others of that name are named in the error.
func (c *Cluster) DeleteToken(ctx context.Context, namespace, name string) error {
	if err := errors.Join(checkName("--namespace", namespace), checkName("the token's name", name)); err != nil {
		return err
	}
	all, err := c.deletables(ctx, namespace)
	if err != nil {
		return err
	}
	deleted, others := 0, []string{}
	for _, d := range all {
		switch {
		case d.object.GetName() != name:
		case !isMade(d.object):
			others = append(others, d.kind)
		default:
			if err := errors.Join(c.endMembership(ctx, d, all), c.delete(ctx, d)); err != nil {
				return err
			}
			deleted++
		}
	}
	switch {
	case len(others) > 0:
		return fmt.Errorf("%s %s/%s was not made by antctl, so it stays: delete it with kubectl if it is the token of a member", strings.Join(others, " and "), namespace, name)
	case deleted == 0:
		return fmt.Errorf("there is no member token %s/%s", namespace, name)
	}
	return nil
}

// endMembership deletes the announce of the member whose ServiceAccount is about to be deleted, unless another one is that member's as well.
func (c *Cluster) endMembership(ctx context.Context, account deletable, all []deletable) error {
	id := clusterOf(account)
	if id == "" || slices.ContainsFunc(all, func(d deletable) bool { return d.object.GetName() != account.object.GetName() && clusterOf(d) == id }) {
		return nil
	}
	namespace, name := account.object.GetNamespace(), v1alpha1.AnnounceName(id)
	err := c.Dynamic.Resource(v1alpha1.MemberClusterAnnounces).Namespace(namespace).Delete(ctx, name, metav1.DeleteOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("deleting MemberClusterAnnounce %s/%s, after which the leader deletes what cluster %s exports: %w", namespace, name, id, err)
	}
	c.Say("Deleted MemberClusterAnnounce %s/%s", namespace, name)
	return nil
}

// clusterOf returns the ClusterID of a ServiceAccount, empty for others.
func clusterOf(d deletable) string {
	if d.kind != "ServiceAccount" {
		return ""
	}
	return d.object.GetAnnotations()[v1alpha1.ClusterIDAnnotation]
}

func (c *Cluster) delete(ctx context.Context, d deletable) error {
	name := d.object.GetName()
	if err := d.delete(ctx, name, only(d.object.GetUID())); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s %s/%s: %w", d.kind, d.object.GetNamespace(), name, err)
	}
	c.Say("Deleted %s %s/%s", d.kind, d.object.GetNamespace(), name)
	return nil
}

// sweep deletes everything in a Namespace that antctl has made.
func (c *Cluster) sweep(ctx context.Context, namespace string) error {
	all, err := c.deletables(ctx, namespace)
	if err != nil {
		return err
	}
	var errs []error
	for _, d := range all {
		if isMade(d.object) {
			errs = append(errs, c.delete(ctx, d))
		}
	}
	return errors.Join(errs...)
}
