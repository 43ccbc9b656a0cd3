// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gossipkey makes the key of the agents' gossip, and keeps it. A key that an administrator has written counts, and an invalid one is left
// as it is, as in Antrea. A key that was deleted is written again, so that agents that start later have the one of the others.
package gossipkey

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/gossip"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// checkInterval is the time after which a missing key is there again.
	checkInterval  = 15 * time.Second
	requestTimeout = 10 * time.Second
	keyLength      = 32
)

var backoff = retry.Backoff{Min: 2 * time.Second, Max: time.Minute}

// Run keeps the key until ctx ends, while serving returns no error.
func Run(ctx context.Context, client kubernetes.Interface, namespace string, serving func() error) {
	k := &keeper{client: client, namespace: namespace}
	task := retry.NewTask("The key of the agents' gossip", checkInterval, backoff, "secret", gossip.Secret)
	for {
		delay := backoff.Min
		if serving() == nil {
			delay = task.Done(k.check(ctx))
		}
		if retry.Sleep(ctx, delay) != nil {
			return
		}
	}
}

// keeper remembers the content of the Secret; nil before the first one.
type keeper struct {
	client    kubernetes.Interface
	namespace string
	content   []byte
}

// check reads the key, and writes one if there is none.
func (k *keeper) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	secrets := k.client.CoreV1().Secrets(k.namespace)
	current, err := secrets.Get(ctx, gossip.Secret, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return fmt.Errorf("reading Secret %s/%s: %w", k.namespace, gossip.Secret, err)
	}
	if !missing {
		if _, err := gossip.Key(current.Data); !errors.Is(err, gossip.ErrNoKey) {
			if err != nil {
				return fmt.Errorf("no agent that starts takes addresses of ExternalIPPools: Secret %s/%s: %w; delete it to get a new key", k.namespace, gossip.Secret, err)
			}
			k.content = current.Data[gossip.Keys]
			return nil
		}
	}
	content := k.content
	if content == nil {
		key := make([]byte, keyLength)
		_, _ = rand.Read(key) // it never fails
		content = []byte(base64.StdEncoding.EncodeToString(key))
	}
	if missing {
		_, err = secrets.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.namespace, Name: gossip.Secret, Labels: map[string]string{"app": "antrea"}},
			Type:       corev1.SecretTypeOpaque, Data: map[string][]byte{gossip.Keys: content},
		}, metav1.CreateOptions{})
	} else {
		current = current.DeepCopy()
		if current.Data == nil {
			current.Data = map[string][]byte{}
		}
		current.Data[gossip.Keys] = content
		_, err = secrets.Update(ctx, current, metav1.UpdateOptions{})
	}
	if err != nil {
		return fmt.Errorf("writing Secret %s/%s: %w", k.namespace, gossip.Secret, err)
	}
	k.content = content
	klog.InfoS("Wrote the key of the agents' gossip", "namespace", k.namespace, "secret", gossip.Secret)
	return nil
}
