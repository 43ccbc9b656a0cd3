// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package leadership

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// LeaseName is the Lease in the controller's Namespace.
	LeaseName = "antrea-controller"
	// duration and retryInterval are the values of Kubernetes' own components.
	duration      = 15 * time.Second
	retryInterval = 2 * time.Second
	// requestTimeout bounds each request, releaseTimeout the release of the Lease at the end.
	requestTimeout = 5 * time.Second
	releaseTimeout = time.Second
)

// ErrStandby means that another controller serves.
var ErrStandby = errors.New("another antrea-controller serves")

// Leadership knows whether this controller serves. Its methods can be called at any time.
type Leadership struct {
	client    kubernetes.Interface
	namespace string
	core      core
	retry     time.Duration

	// onEnd is called when serving has ended.
	onEnd func()

	mu sync.Mutex
	// reason is why this controller does not serve; nil while it does.
	reason error
}

// New makes the Leadership of a controller, which does not serve yet. identity is unique among all processes. onEnd is
// called when serving has ended; from then on Serving returns an error.
func New(client kubernetes.Interface, namespace, identity string, onEnd func()) *Leadership {
	return &Leadership{
		client: client, namespace: namespace, onEnd: onEnd, retry: retryInterval,
		reason: errors.New("not all objects of the Kubernetes API are read yet"),
		core:   core{identity: identity, duration: duration},
	}
}

// Run takes part from when ready is closed until ctx ends, and then releases the Lease.
func (l *Leadership) Run(ctx context.Context, ready <-chan struct{}) {
	select {
	case <-ctx.Done():
		return
	case <-ready:
	}
	ticker := time.NewTicker(l.retry)
	defer ticker.Stop()
	outage := retry.NewPeer("The Lease", retry.Backoff{}, "lease", klog.KRef(l.namespace, LeaseName))
	for {
		if err := l.step(ctx); err == nil {
			outage.Connected()
			outage.Settle()
		} else if ctx.Err() == nil {
			outage.Failed(err)
		}
		select {
		case <-ctx.Done():
			l.release()
			return
		case <-ticker.C:
		}
	}
}

// step reads the Lease once and acts. An error changes nothing: the controller that served continues.
func (l *Leadership) step(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	leases := l.client.CoordinationV1().Leases(l.namespace)
	lease, err := leases.Get(ctx, LeaseName, metav1.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		l.serveWithout(err)
		return nil
	case apierrors.IsNotFound(err):
		lease = nil
	case err != nil:
		return fmt.Errorf("reading Lease %s/%s: %w", l.namespace, LeaseName, err)
	}
	d := l.core.observe(recordOf(lease), time.Now())
	if !d.write {
		if l.serve(fmt.Errorf("%w: %s", ErrStandby, holderOf(lease))) {
			klog.InfoS("Another controller serves, standing by", "holder", holderOf(lease))
		}
		return nil
	}
	lease, err = l.write(ctx, lease)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		// Another attempt would not help, and a cluster without a controller is worse than one with two.
		l.serveWithout(err)
		return nil
	}
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return nil // Another controller was faster: the next read shows which.
	}
	if err != nil {
		// A Kubernetes API whose store is full refuses the writes of all controllers.
		if d.alone {
			l.serveWithout(err)
		}
		return fmt.Errorf("writing Lease %s/%s: %w", l.namespace, LeaseName, err)
	}
	l.core.wrote()
	l.core.observe(recordOf(lease), time.Now())
	if l.serve(nil) {
		klog.InfoS("This controller serves", "identity", l.core.identity)
	}
	return nil
}

// serveWithout serves without a Lease, because the Kubernetes API refuses access to it.
func (l *Leadership) serveWithout(refusal error) {
	if l.serve(nil) {
		klog.InfoS("This controller cannot use the Lease and serves without one: let only one run", "lease", LeaseName, "reason", refusal.Error())
	}
}

// write enters this controller as the holder. It fails with a conflict when another controller has written in between.
func (l *Leadership) write(ctx context.Context, lease *coordinationv1.Lease) (*coordinationv1.Lease, error) {
	leases := l.client.CoordinationV1().Leases(l.namespace)
	now, seconds := metav1.NewMicroTime(time.Now()), int32(l.core.duration/time.Second)
	exists := lease != nil
	if !exists {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: l.namespace, Name: LeaseName, Labels: map[string]string{"app": "antrea"}}}
	}
	lease = lease.DeepCopy()
	if holderOf(lease) != l.core.identity {
		transitions := int32(1)
		// The Lease may have been written with a count that cannot be incremented.
		if n := lease.Spec.LeaseTransitions; n != nil && *n < math.MaxInt32 {
			transitions += *n
		}
		lease.Spec.HolderIdentity, lease.Spec.AcquireTime, lease.Spec.LeaseTransitions = &l.core.identity, &now, &transitions
	}
	lease.Spec.RenewTime, lease.Spec.LeaseDurationSeconds = &now, &seconds
	if !exists {
		return leases.Create(ctx, lease, metav1.CreateOptions{})
	}
	return leases.Update(ctx, lease, metav1.UpdateOptions{})
}

// release releases the Lease if this controller holds it, so that the next one need not wait.
func (l *Leadership) release() {
	l.serve(errors.New("antrea-controller stops"))
	ctx, cancel := context.WithTimeout(context.Background(), releaseTimeout)
	defer cancel()
	leases := l.client.CoordinationV1().Leases(l.namespace)
	lease, err := leases.Get(ctx, LeaseName, metav1.GetOptions{})
	if err != nil || holderOf(lease) != l.core.identity {
		return
	}
	lease.Spec.HolderIdentity = nil
	if _, err := leases.Update(ctx, lease, metav1.UpdateOptions{}); err != nil {
		klog.InfoS("Could not release the Lease, the next controller waits until it expires", "lease", LeaseName, "reason", err.Error())
	}
}

// serve starts serving (nil), or stops it for a reason, and reports whether that is a change.
func (l *Leadership) serve(reason error) (news bool) {
	l.mu.Lock()
	ended := l.reason == nil && reason != nil
	news = fmt.Sprint(l.reason) != fmt.Sprint(reason)
	l.reason = reason
	l.mu.Unlock()
	if ended {
		l.onEnd()
	}
	return news
}

// Serving returns nil while this controller serves, and otherwise the reason why not.
func (l *Leadership) Serving() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.reason
}

func recordOf(lease *coordinationv1.Lease) record {
	if lease == nil {
		return record{}
	}
	r := record{holder: holderOf(lease)}
	if lease.Spec.RenewTime != nil {
		r.renewed = lease.Spec.RenewTime.UTC().String()
	}
	return r
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease == nil || lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}
