// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

const (
	// statusWriters is the number of statuses that are written at the same time, statusTimeout bounds each.
	statusWriters = 4
	statusTimeout = 10 * time.Second
	// minStatusRetry and maxStatusRetry bound the delay after a failure.
	minStatusRetry = 50 * time.Millisecond
	maxStatusRetry = time.Minute
	// leaderInterval is the time between two looks at whether this controller serves.
	leaderInterval = time.Second
)

// statusGrace is the time after this controller began to serve for which a Realized policy stays Realized without reports: agents
// report everything again once they are connected.
var statusGrace = 10 * time.Second

// StatusController writes the status of groups and of policies in tiers: what the Store says it should be.
type StatusController struct {
	store   *Store
	client  dynamic.Interface
	kinds   map[string]statusKind
	serving func() error
	synced  <-chan struct{}
	queue   workqueue.TypedRateLimitingInterface[StatusKey]

	mu sync.Mutex
	// until is the end of the time after the takeover; zero while another controller serves.
	until time.Time
}

// statusKind is a kind with a status.
type statusKind struct {
	resource schema.GroupVersionResource
	informer cache.SharedIndexInformer
	// next returns the status that an object should have, nil if the stored one is right or there is no such object.
	// pending means that it may be too early to say.
	next func(name types.NamespacedName, stored any) (status any, pending bool)
}

// NewStatusController returns a StatusController that does nothing before Run, and nothing before synced is closed or while serving returns
// an error.
func NewStatusController(
	store *Store, client dynamic.Interface, objects *crd.Policies, admin *crd.AdminPolicies, serving func() error, synced <-chan struct{},
) (*StatusController, error) {
	c := &StatusController{
		store: store, client: client, serving: serving, synced: synced,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.NewTypedItemExponentialFailureRateLimiter[StatusKey](minStatusRetry, maxStatusRetry)),
	}
	c.kinds = map[string]statusKind{
		v1beta1.ClusterNetworkPolicyKind: {crd.ClusterNetworkPolicies, objects.ClusterNetworkPolicies, c.nextOfClusterPolicy},
		v1beta1.NetworkPolicyKind:        {crd.NetworkPolicies, objects.NetworkPolicies, c.nextOfPolicy},
		v1beta1.ClusterGroupKind:         {crd.ClusterGroups, objects.ClusterGroups, c.nextOfClusterGroup},
		v1beta1.GroupKind:                {crd.Groups, objects.Groups, c.nextOfGroup},
	}
	c.addAdminKinds(admin)
	for kind, k := range c.kinds {
		add := func(object any) {
			if name, err := cache.ObjectToName(object); err == nil {
				c.queue.Add(StatusKey{kind, types.NamespacedName(name)})
			}
		}
		handler := cache.ResourceEventHandlerFuncs{AddFunc: add, UpdateFunc: func(_, object any) { add(object) }}
		if _, err := k.informer.AddEventHandler(handler); err != nil {
			return nil, fmt.Errorf("watch %s: %w", k.resource.GroupResource(), err)
		}
	}
	store.OnStatus(c.queue.Add)
	return c, nil
}

// Run writes until ctx ends.
func (c *StatusController) Run(ctx context.Context) {
	defer c.queue.ShutDown()
	select {
	case <-ctx.Done():
		return
	case <-c.synced:
	}
	var running sync.WaitGroup
	for range statusWriters {
		running.Go(func() {
			for c.handleOne(ctx) {
			}
		})
	}
	ticker := time.NewTicker(leaderInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		c.followLeadership()
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	c.queue.ShutDown()
	running.Wait()
}

// followLeadership looks at everything once this controller serves.
func (c *StatusController) followLeadership() {
	serves := c.serving() == nil
	c.mu.Lock()
	began := serves && c.until.IsZero()
	switch {
	case began:
		c.until = time.Now().Add(statusGrace)
	case !serves:
		c.until = time.Time{}
	}
	c.mu.Unlock()
	if !began {
		return
	}
	for kind, k := range c.kinds {
		for _, key := range k.informer.GetStore().ListKeys() {
			if name, err := cache.ParseObjectName(key); err == nil {
				c.queue.Add(StatusKey{kind, types.NamespacedName(name)})
			}
		}
	}
}

// left returns how much of the time after the takeover is left, and whether this controller serves.
func (c *StatusController) left() (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.until), !c.until.IsZero() && c.serving() == nil
}

func (c *StatusController) handleOne(ctx context.Context) bool {
	key, shutdown := c.queue.Get()
	if shutdown {
		return false
	}
	defer c.queue.Done(key)
	switch err := c.sync(ctx, key); {
	case err == nil || ctx.Err() != nil:
		c.queue.Forget(key)
	default:
		klog.V(1).InfoS("Could not write a status, will try again", "kind", key.Kind, "object", key.NamespacedName, "err", err)
		c.queue.AddRateLimited(key)
	}
	return true
}

// sync writes the status of an object if it is not as it should be.
func (c *StatusController) sync(ctx context.Context, key StatusKey) error {
	left, serves := c.left()
	if !serves {
		return nil // followLeadership looks at everything again.
	}
	kind := c.kinds[key.Kind]
	stored, found, err := kind.informer.GetStore().GetByKey(cache.ObjectName(key.NamespacedName).String())
	if err != nil || !found {
		return err
	}
	status, pending := kind.next(key.NamespacedName, stored)
	if status == nil {
		return nil
	}
	if pending && left > 0 {
		c.queue.AddAfter(key, left)
		return nil
	}
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		return fmt.Errorf("encoding the status of %s %s: %w", key.Kind, key.NamespacedName, err)
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	_, err = c.client.Resource(kind.resource).Namespace(key.Namespace).Patch(ctx, key.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("writing the status of %s %s: %w", key.Kind, key.NamespacedName, err)
	}
	if counter := statusUpdates[key.Kind]; counter != nil && err == nil {
		counter.Inc()
	}
	return nil
}

func (c *StatusController) nextOfClusterPolicy(name types.NamespacedName, stored any) (any, bool) {
	policy, _ := read[v1beta1.ClusterNetworkPolicy](stored)
	return c.nextStatus(name, &policy.Status)
}

func (c *StatusController) nextOfPolicy(name types.NamespacedName, stored any) (any, bool) {
	policy, _ := read[v1beta1.NetworkPolicy](stored)
	return c.nextStatus(name, &policy.Status)
}

func (c *StatusController) nextStatus(name types.NamespacedName, stored *v1beta1.NetworkPolicyStatus) (any, bool) {
	status, found := c.store.PolicyStatus(name)
	if !found {
		return nil, false
	}
	for i := range status.Conditions {
		condition := &status.Conditions[i]
		condition.LastTransitionTime = metav1.Now().Rfc3339Copy()
		for _, former := range stored.Conditions {
			if former.Type == condition.Type && former.Status == condition.Status && !former.LastTransitionTime.IsZero() {
				condition.LastTransitionTime = former.LastTransitionTime
			}
		}
	}
	if sameStatus(&status, stored) {
		return nil, false
	}
	pending := status.Phase == v1beta1.NetworkPolicyRealizing && stored.Phase == v1beta1.NetworkPolicyRealized &&
		stored.ObservedGeneration == status.ObservedGeneration && stored.DesiredNodesRealized == status.DesiredNodesRealized
	return &status, pending
}

// sameStatus compares everything but times.
func sameStatus(a, b *v1beta1.NetworkPolicyStatus) bool {
	timeless := func(s *v1beta1.NetworkPolicyStatus) v1beta1.NetworkPolicyStatus {
		out := *s
		out.Conditions = nil
		for _, condition := range s.Conditions {
			condition.LastTransitionTime = metav1.Time{}
			out.Conditions = append(out.Conditions, condition)
		}
		return out
	}
	return reflect.DeepEqual(timeless(a), timeless(b))
}

func (c *StatusController) nextOfClusterGroup(name types.NamespacedName, stored any) (any, bool) {
	group, _ := read[v1beta1.ClusterGroup](stored)
	return c.nextCondition(name, group.Status.Conditions)
}

func (c *StatusController) nextOfGroup(name types.NamespacedName, stored any) (any, bool) {
	group, _ := read[v1beta1.Group](stored)
	return c.nextCondition(name, group.Status.Conditions)
}

func (c *StatusController) nextCondition(name types.NamespacedName, stored []v1beta1.GroupCondition) (any, bool) {
	condition, found := c.store.GroupStatus(name)
	if !found {
		return nil, false
	}
	condition.LastTransitionTime = metav1.Now().Rfc3339Copy()
	for _, former := range stored {
		if former.Type != condition.Type || former.Status != condition.Status || former.LastTransitionTime.IsZero() {
			continue
		}
		condition.LastTransitionTime = former.LastTransitionTime
		if former == condition && len(stored) == 1 {
			return nil, false
		}
	}
	return &v1beta1.GroupStatus{Conditions: []v1beta1.GroupCondition{condition}}, false
}
