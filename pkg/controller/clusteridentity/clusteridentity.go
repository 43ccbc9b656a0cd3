// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package clusteridentity gives the cluster a UUID, which never changes: the key uuid of ConfigMap antrea-cluster-identity, as in
// Antrea. Other programs use it to tell clusters apart.
package clusteridentity

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// ConfigMap and Key locate the identity.
const (
	ConfigMap = "antrea-cluster-identity"
	Key       = "uuid"
)

const requestTimeout = 10 * time.Second

var backoff = retry.Backoff{Min: 2 * time.Second, Max: time.Minute}

// Run makes sure that the cluster has an identity. It tries again until that has succeeded or ctx ends.
func Run(ctx context.Context, client kubernetes.Interface, namespace string) {
	task := retry.NewTask("The identity of the cluster", 0, backoff, "configMap", ConfigMap)
	for {
		identity, err := ensure(ctx, client, namespace)
		if err == nil {
			klog.InfoS("The cluster has an identity", "uuid", identity)
			return
		}
		if ctx.Err() != nil || retry.Sleep(ctx, task.Done(err)) != nil {
			return
		}
	}
}

// ensure returns the identity, and creates it if it is missing. An existing value is kept, even if it is not a UUID.
func ensure(ctx context.Context, client kubernetes.Interface, namespace string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	maps := client.CoreV1().ConfigMaps(namespace)
	for {
		current, err := maps.Get(ctx, ConfigMap, metav1.GetOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			return "", fmt.Errorf("reading ConfigMap %s/%s: %w", namespace, ConfigMap, err)
		}
		if err == nil && current.Data[Key] != "" {
			if _, err := uuid.Parse(current.Data[Key]); err != nil {
				return "", fmt.Errorf("ConfigMap %s/%s has %s: %q, want a UUID; delete the key to get a new one: %w", namespace, ConfigMap, Key, current.Data[Key], err)
			}
			return current.Data[Key], nil
		}
		identity := uuid.NewString()
		if err != nil {
			_, err = maps.Create(ctx, &corev1.ConfigMap{
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: ConfigMap, Labels: map[string]string{"app": "antrea"}},
				Data:       map[string]string{Key: identity},
			}, metav1.CreateOptions{})
		} else {
			current = current.DeepCopy()
			if current.Data == nil {
				current.Data = map[string]string{}
			}
			current.Data[Key] = identity
			_, err = maps.Update(ctx, current, metav1.UpdateOptions{})
		}
		// Another controller may have been faster. In that case its UUID counts.
		if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("writing ConfigMap %s/%s: %w", namespace, ConfigMap, err)
		}
		return identity, nil
	}
}
