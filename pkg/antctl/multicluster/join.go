// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// Join makes the cluster a member, and waits until it is connected with the leader. With secret nil, the Secret j.TokenSecretName exists.
func (c *Cluster) Join(ctx context.Context, j JoinConfig, secret *corev1.Secret) (err error) {
	if err := j.check(secret); err != nil {
		return err
	}
	set, err := c.theSet(ctx, j.Namespace)
	if err != nil {
		return err
	}
	var u undo
	defer func() { err = u.after(ctx, err) }()
	name, err := c.joinSecret(ctx, j, secret, &u)
	if err != nil {
		return err
	}
	spec := v1alpha2.ClusterSetSpec{
		ClusterID: j.ClusterID, Namespace: j.LeaderNamespace,
		Leaders: []v1alpha2.LeaderClusterInfo{{ClusterID: j.LeaderClusterID, Server: j.LeaderAPIServer, Secret: name}},
	}
	switch {
	case set == nil:
		if err := c.createSet(ctx, j.Namespace, j.ClusterSetID, spec, &u); err != nil {
			return err
		}
		c.Say("Created ClusterSet %s/%s; waiting for the leader", j.Namespace, j.ClusterSetID)
	case set.Name != j.ClusterSetID || set.Spec.ClusterID != spec.ClusterID || set.Spec.Namespace != spec.Namespace || !slices.Equal(set.Spec.Leaders, spec.Leaders):
		return fmt.Errorf("the Namespace %s has the ClusterSet %q of cluster %q already, with another content; end it with antctl mc leave first", j.Namespace, set.Name, set.Spec.ClusterID)
	}
	return c.awaitLeader(ctx, j)
}

// check names what is missing, by the flags.
func (j JoinConfig) check(secret *corev1.Secret) error {
	errs := []error{
		checkName("--namespace", j.Namespace), checkName("--clusterset", j.ClusterSetID), checkID("--clusterid", j.ClusterID),
		checkID("--leader-clusterid", j.LeaderClusterID), checkName("--leader-namespace", j.LeaderNamespace),
	}
	if u, err := url.Parse(j.LeaderAPIServer); err != nil || u.Scheme != "https" || u.Host == "" {
		errs = append(errs, fmt.Errorf("--leader-apiserver: %q is not the URL of a Kubernetes API, such as https://192.0.2.1:6443", j.LeaderAPIServer))
	}
	if secret == nil && j.TokenSecretName == "" {
		errs = append(errs, errors.New("the token is missing: name its file with --token-secret-file, or its Secret with --token-secret-name"))
	}
	return errors.Join(errs...)
}

// joinSecret makes the Secret with the token, or looks whether it is there, and returns its name.
func (c *Cluster) joinSecret(ctx context.Context, j JoinConfig, secret *corev1.Secret, u *undo) (string, error) {
	name := j.TokenSecretName
	if secret != nil {
		name = secret.Name
	}
	secrets, what := c.Kube.CoreV1().Secrets(j.Namespace), fmt.Sprintf("Secret %s/%s", j.Namespace, name)
	current, err := secrets.Get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) && secret != nil:
		secret = secret.DeepCopy()
		secret.Annotations = made()
		created, err := secrets.Create(ctx, secret, metav1.CreateOptions{})
		if err != nil {
			return "", fmt.Errorf("making %s: %w", what, err)
		}
		u.add(what, func(ctx context.Context) error { return secrets.Delete(ctx, name, only(created.UID)) })
	case err != nil:
		return "", fmt.Errorf("reading %s: %w", what, err)
	case secret != nil && !maps.EqualFunc(secret.Data, current.Data, bytes.Equal):
		return "", fmt.Errorf("%s exists with another content; delete it if it is not needed, or give the token another name", what)
	case !hasToken(current):
		return "", fmt.Errorf("%s lacks %s or %s", what, corev1.ServiceAccountTokenKey, corev1.ServiceAccountRootCAKey)
	}
	return name, nil
}

// awaitLeader waits until the member's controller says that it is connected.
func (c *Cluster) awaitLeader(ctx context.Context, j JoinConfig) error {
	return c.await(ctx, fmt.Sprintf("the connection of ClusterSet %s/%s with the leader %s", j.Namespace, j.ClusterSetID, j.LeaderClusterID),
		func(ctx context.Context) (bool, string, error) {
			object, err := c.sets(j.Namespace).Get(ctx, j.ClusterSetID, metav1.GetOptions{})
			if err != nil {
				return false, "", err
			}
			set, err := crd.Read[v1alpha2.ClusterSet](object)
			if err != nil {
				return false, "", err
			}
			for _, status := range set.Status.ClusterStatuses {
				if status.ClusterID == j.LeaderClusterID {
					return ready(status.Conditions)
				}
			}
			return false, "its status does not mention the leader; is antrea-mc-controller running (antctl mc deploy membercluster), and does it reach " + j.LeaderAPIServer + "?", nil
		})
}

// ready reports whether a list has the condition Ready with the status True, and what it has otherwise.
func ready(conditions []v1alpha2.ClusterSetCondition) (bool, string, error) {
	for _, condition := range conditions {
		if condition.Type == v1alpha2.ClusterSetReady {
			return condition.Status == corev1.ConditionTrue, fmt.Sprintf("the condition Ready is %s: %s %s", condition.Status, condition.Reason, condition.Message), nil
		}
	}
	return false, "there is no condition Ready", nil
}
