// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package commonarea

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// leaveTimeout bounds the attempts to delete the announce of a member that leaves. The leader deletes one that is a day old.
const leaveTimeout = time.Minute

var (
	errLeaving  = errors.New("the leader is removing this member")
	leaveDelays = retry.Backoff{Min: time.Second, Max: 10 * time.Second}
)

// announceForever announces the member until ctx ends. It closes accepted after the first success.
func (a *Area) announceForever(ctx context.Context, accepted chan<- struct{}) {
	task := retry.NewTask("The announce of this member to the leader", heartbeatInterval, retry.Backoff{Min: heartbeatInterval, Max: heartbeatInterval},
		"server", a.Server, "namespace", a.Namespace)
	for {
		err := a.announce(ctx)
		if ctx.Err() != nil {
			return
		}
		task.Done(err)
		if a.record(err) && accepted != nil {
			close(accepted)
			accepted = nil
		}
		if retry.Sleep(ctx, heartbeatInterval) != nil {
			return
		}
	}
}

// record keeps the result of an announce, and reports whether the leader has accepted it.
func (a *Area) record(err error) bool {
	upBefore, failureBefore := a.State()
	a.mu.Lock()
	a.state.failure = ""
	if err == nil {
		a.state.accepted = time.Now()
	} else {
		a.state.failure = err.Error()
	}
	if errors.Is(err, errLeaving) || errors.Is(err, errNamesake) {
		a.state.accepted = time.Time{}
	}
	a.mu.Unlock()
	if up, failure := a.State(); up != upBefore || failure != failureBefore {
		a.changed()
	}
	return err == nil
}

func (a *Area) announces() dynamic.ResourceInterface {
	return a.Client.Resource(v1alpha1.MemberClusterAnnounces).Namespace(a.Namespace)
}

// announce writes the present time into the MemberClusterAnnounce, which it makes if there is none.
func (a *Area) announce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	name := v1alpha1.AnnounceName(a.ClusterID)
	current, err := a.announces().Get(ctx, name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return described(err)
	}
	annotations := map[string]any{v1alpha1.TouchAnnotation: time.Now().UTC().Format(time.RFC3339)}
	if a.clusterUID != "" {
		annotations[v1alpha1.ClusterUIDAnnotation] = a.clusterUID
	}
	metadata := map[string]any{"annotations": annotations}
	content := map[string]any{"metadata": metadata, "clusterID": a.ClusterID, "clusterSetID": a.ClusterSetID, "leaderClusterID": a.LeaderClusterID}
	var object *unstructured.Unstructured
	if missing {
		object = &unstructured.Unstructured{Object: content}
		object.SetGroupVersionKind(v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.MemberClusterAnnounceKind))
		object.SetName(name)
		object, err = a.announces().Create(ctx, object, metav1.CreateOptions{})
	} else {
		if a.isForeign(current) {
			if err := a.namesake.look(current, time.Now()); err != nil {
				return err
			}
			metadata["resourceVersion"] = current.GetResourceVersion() // The other cluster may announce itself just now.
		}
		object, err = a.patch(ctx, name, content)
	}
	if err != nil {
		return described(err)
	}
	if object.GetDeletionTimestamp() != nil {
		return errLeaving
	}
	return nil
}

func (a *Area) patch(ctx context.Context, name string, content map[string]any) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(content)
	if err != nil {
		return nil, err
	}
	return a.announces().Patch(ctx, name, types.MergePatchType, body, metav1.PatchOptions{})
}

// described says what the leader lacks if it does not know the kind, or what is wrong with the token. A webhook that refuses says why itself.
func described(err error) error {
	switch {
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the leader does not accept the token in the ClusterSet's Secret: it was deleted or replaced there: %w", err)
	case apierrors.IsForbidden(err) && !strings.HasPrefix(err.Error(), "admission webhook"):
		return fmt.Errorf("the leader grants the token in the ClusterSet's Secret no rights any more: %w", err)
	}
	return crd.Missing(err, v1alpha1.MemberClusterAnnounces)
}

// Leave tells the leader that this cluster is not a member any more. It tries for a while.
func (a *Area) Leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTimeout)
	defer cancel()
	delays := retry.Delays{Backoff: leaveDelays}
	for {
		err := a.leave(ctx)
		if err == nil {
			klog.InfoS("Left the ClusterSet", "clusterSet", a.ClusterSetID, "leader", a.LeaderClusterID)
			return
		}
		if retry.Sleep(ctx, delays.Next()) != nil {
			klog.ErrorS(err, "The leader could not be told that this cluster has left the ClusterSet; it will notice within a day",
				"clusterSet", a.ClusterSetID, "leader", a.LeaderClusterID, "server", a.Server)
			return
		}
	}
}

func (a *Area) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	current, err := a.announces().Get(ctx, v1alpha1.AnnounceName(a.ClusterID), metav1.GetOptions{})
	if err == nil {
		if a.isForeign(current) {
			return nil // It is another cluster that is the member.
		}
		version := current.GetResourceVersion() // Another cluster may take it over just now.
		err = a.announces().Delete(ctx, current.GetName(), metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: &version}})
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting MemberClusterAnnounce %s: %w", v1alpha1.AnnounceName(a.ClusterID), err)
	}
	return nil
}
