// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

func (c *Cluster) sets(namespace string) dynamic.ResourceInterface {
	return c.Dynamic.Resource(v1alpha2.ClusterSets).Namespace(namespace)
}

// theSet returns the ClusterSet of a Namespace, nil if there is none.
func (c *Cluster) theSet(ctx context.Context, namespace string) (*v1alpha2.ClusterSet, error) {
	list, err := c.sets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the ClusterSets of Namespace %s: %w", namespace, crd.Missing(err, v1alpha2.ClusterSets))
	}
	switch len(list.Items) {
	case 0:
		return nil, nil
	case 1:
		return crd.Read[v1alpha2.ClusterSet](&list.Items[0])
	}
	return nil, fmt.Errorf("the Namespace %s has %d ClusterSets; it can have one: delete the others", namespace, len(list.Items))
}

// createSet makes a ClusterSet.
func (c *Cluster) createSet(ctx context.Context, namespace, name string, spec v1alpha2.ClusterSetSpec, u *undo) error {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v1alpha2.SchemeGroupVersion.WithKind(v1alpha2.ClusterSetKind))
	object.SetNamespace(namespace)
	object.SetName(name)
	if err := crd.Fill(object, &v1alpha2.ClusterSet{Spec: spec}); err != nil {
		return err
	}
	delete(object.Object, "status")
	created, err := c.sets(namespace).Create(ctx, object, metav1.CreateOptions{FieldManager: fieldManager})
	what := fmt.Sprintf("ClusterSet %s/%s", namespace, name)
	if err != nil {
		return fmt.Errorf("making %s: %w", what, crd.Missing(err, v1alpha2.ClusterSets))
	}
	u.add(what, func(ctx context.Context) error { return c.sets(namespace).Delete(ctx, name, only(created.GetUID())) })
	return nil
}

// isLeader reports whether a ClusterSet is the leader's own one: a member's says where the leader is.
func isLeader(set *v1alpha2.ClusterSet) bool {
	return len(set.Spec.Leaders) == 1 && set.Spec.Leaders[0].Server == "" && set.Spec.Leaders[0].ClusterID == set.Spec.ClusterID
}

// Init makes the cluster the leader of a new ClusterSet and passes the file with which members join to deliver. It succeeds again if the
// cluster is that leader already.
func (c *Cluster) Init(ctx context.Context, namespace, setID, clusterID string, deliver func(file []byte) error) (err error) {
	if err := errors.Join(checkName("--namespace", namespace), checkName("--clusterset", setID), checkID("--clusterid", clusterID)); err != nil {
		return err
	}
	set, err := c.theSet(ctx, namespace)
	if err != nil {
		return err
	}
	var u undo
	defer func() { err = u.after(ctx, err) }()
	switch {
	case set == nil:
		spec := v1alpha2.ClusterSetSpec{ClusterID: clusterID, Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: clusterID}}}
		if err := c.createSet(ctx, namespace, setID, spec, &u); err != nil {
			return err
		}
		c.Say("Created ClusterSet %s/%s with the leader %s", namespace, setID, clusterID)
	case set.Name != setID || set.Spec.ClusterID != clusterID || !isLeader(set):
		return fmt.Errorf("the Namespace %s has the ClusterSet %q of cluster %q already: a Namespace has one ClusterSet; end that one with antctl mc destroy or leave, or choose another Namespace",
			namespace, set.Name, set.Spec.ClusterID)
	default:
		c.Say("ClusterSet %s/%s exists with the leader %s", namespace, setID, clusterID)
	}
	file, err := c.leaderFile(namespace, setID, clusterID)
	if err != nil {
		return err
	}
	return deliver(file)
}

// JoinFile returns the file with which members join the leader's ClusterSet, with a token if one is named.
func (c *Cluster) JoinFile(ctx context.Context, namespace, token string) ([]byte, error) {
	if err := checkName("--namespace", namespace); err != nil {
		return nil, err
	}
	set, err := c.theSet(ctx, namespace)
	switch {
	case err != nil:
		return nil, err
	case set == nil:
		return nil, fmt.Errorf("the Namespace %s has no ClusterSet; antctl mc init makes one", namespace)
	case !isLeader(set):
		return nil, fmt.Errorf("ClusterSet %s/%s is a member's; name the leader's Namespace and the leader's kubeconfig", namespace, set.Name)
	}
	file, err := c.leaderFile(namespace, set.Name, set.Spec.ClusterID)
	if err != nil || token == "" {
		return file, err
	}
	secret, err := c.memberSecret(ctx, namespace, token)
	if err != nil {
		return nil, err
	}
	return append(append(file, "---\n"...), secret...), nil
}

func (c *Cluster) leaderFile(namespace, setID, clusterID string) ([]byte, error) {
	return writeJoin(JoinConfig{ClusterSetID: setID, LeaderClusterID: clusterID, LeaderNamespace: namespace, LeaderAPIServer: c.Server})
}

// Leave ends the cluster's membership, and deletes what antctl has made for it.
func (c *Cluster) Leave(ctx context.Context, namespace, setID string) error {
	return c.end(ctx, namespace, setID, false)
}

// Destroy ends a ClusterSet without members in its leader, and deletes what antctl has made for it.
func (c *Cluster) Destroy(ctx context.Context, namespace, setID string) error {
	return c.end(ctx, namespace, setID, true)
}

func (c *Cluster) end(ctx context.Context, namespace, setID string, leader bool) error {
	if err := errors.Join(checkName("--namespace", namespace), checkName("--clusterset", setID)); err != nil {
		return err
	}
	set, err := c.theSet(ctx, namespace)
	switch {
	case err != nil:
		return err
	case set == nil:
		return fmt.Errorf("the Namespace %s has no ClusterSet", namespace)
	case set.Name != setID:
		return fmt.Errorf("--clusterset: Namespace %s has the ClusterSet %q, not %q", namespace, set.Name, setID)
	case leader && !isLeader(set):
		return fmt.Errorf("ClusterSet %s/%s is a member's; antctl mc leave ends its membership", namespace, setID)
	case !leader && isLeader(set):
		return fmt.Errorf("ClusterSet %s/%s is the leader's; antctl mc destroy ends it", namespace, setID)
	}
	if leader {
		if err := c.refuseMembers(ctx, namespace); err != nil {
			return err
		}
	}
	what := fmt.Sprintf("ClusterSet %s/%s", namespace, setID)
	if err := c.sets(namespace).Delete(ctx, setID, only(set.UID)); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", what, err)
	}
	// The member's controller needs its Secret until the leader knows.
	err = c.await(ctx, "the end of "+what, func(ctx context.Context) (bool, string, error) {
		_, err := c.sets(namespace).Get(ctx, setID, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "it has a finalizer; is antrea-mc-controller running?", err
	})
	if err != nil {
		return err
	}
	c.Say("Deleted %s", what)
	return c.sweep(ctx, namespace)
}

// refuseMembers names the members of a leader's ClusterSet.
func (c *Cluster) refuseMembers(ctx context.Context, namespace string) error {
	list, err := c.Dynamic.Resource(v1alpha1.MemberClusterAnnounces).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("listing the members: %w", crd.Missing(err, v1alpha1.MemberClusterAnnounces))
	}
	var members []string
	for i := range list.Items {
		a, err := crd.Read[v1alpha1.MemberClusterAnnounce](&list.Items[i])
		if err != nil {
			return err
		}
		members = append(members, a.ClusterID)
	}
	if len(members) > 0 {
		return fmt.Errorf("the ClusterSet has the members %s: run antctl mc leave in each one first; of a member that no longer exists, delete the MemberClusterAnnounce", strings.Join(members, ", "))
	}
	return nil
}
