// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha2"
	"github.com/antrea-oncache/antrea/multicluster/commonarea"
)

// link is a connection to the leader that runs.
type link struct {
	area        *commonarea.Area
	credentials commonarea.Credentials
	// checked is the time at which the Secret was read.
	checked time.Time
	// refused is leader.refused, failures what the leader is told: see policyFailures.
	refused, failures *atomic.Pointer[map[string]string]
	stop              func()
}

// connect makes the connection that the ClusterSet asks for, and ends a different one.
func (c *Controller) connect(ctx context.Context, set *v1alpha2.ClusterSet) error {
	l := c.link.Load()
	if l != nil && (set == nil || l.area.Membership != membershipOf(set)) {
		c.disconnect()
		if set == nil || !sameMember(l.area.Membership, membershipOf(set)) {
			c.leave(ctx, l.area)
		}
		l = nil
	}
	if set == nil || l != nil && time.Since(l.checked) < checkInterval {
		return nil
	}
	credentials, err := c.credentials(ctx, set)
	if err != nil {
		return err
	}
	if l != nil && l.credentials == credentials {
		again := *l
		again.checked = time.Now()
		c.link.Store(&again)
		return nil
	}
	c.disconnect()
	c.stopLeaving(func(m commonarea.Membership) bool { return sameMember(m, membershipOf(set)) })
	area, err := commonarea.New(membershipOf(set), credentials, c.view.clusterUID(), c.changed)
	if err != nil {
		return fmt.Errorf("ClusterSet %s: %w", set.Name, err)
	}
	klog.InfoS("Connecting to the leader", "clusterSet", set.Name, "server", area.Server, "namespace", area.Namespace)
	running, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	l = &link{area, credentials, time.Now(), &atomic.Pointer[map[string]string]{}, &atomic.Pointer[map[string]string]{}, func() { cancel(); parts.Wait() }}
	l.refused.Store(&map[string]string{})
	l.failures.Store(&map[string]string{})
	parts.Go(func() { area.Run(running) })
	parts.Go(func() { c.export(running, l) })
	c.link.Store(l)
	return nil
}

// sameMember reports whether the leader knows both by the same announce. A leader of the same names that has another URL is the same one.
func sameMember(a, b commonarea.Membership) bool {
	return a.ClusterID == b.ClusterID && a.Namespace == b.Namespace &&
		(a.Server == b.Server || a.ClusterSetID == b.ClusterSetID && a.LeaderClusterID == b.LeaderClusterID)
}

// disconnect ends the connection if there is one. The leader is not told.
func (c *Controller) disconnect() {
	if l := c.link.Swap(nil); l != nil {
		l.stop()
	}
}

// leaving is an attempt to leave that may still run.
type leaving struct {
	commonarea.Membership
	cancel context.CancelFunc
	done   chan struct{}
}

// leave tells the leader that this cluster is not a member any more, without waiting for the answer.
func (c *Controller) leave(ctx context.Context, area *commonarea.Area) {
	ctx, cancel := context.WithCancel(ctx)
	l := leaving{area.Membership, cancel, make(chan struct{})}
	c.leaving = append(c.leaving, l)
	go func() {
		defer close(l.done)
		area.Leave(ctx)
	}()
}

// stopLeaving ends attempts to leave, such as the one as the member that this cluster is again: it would remove the new announce.
func (c *Controller) stopLeaving(which func(commonarea.Membership) bool) {
	c.leaving = slices.DeleteFunc(c.leaving, func(l leaving) bool {
		select {
		case <-l.done:
			l.cancel()
			return true
		default:
		}
		if !which(l.Membership) {
			return false
		}
		l.cancel()
		<-l.done
		return true
	})
}
