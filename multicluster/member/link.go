// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
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
	// refused is leader.refused.
	refused *atomic.Pointer[map[string]string]
	stop    func()
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
		c.link.Store(&link{l.area, credentials, time.Now(), l.refused, l.stop})
		return nil
	}
	c.disconnect()
	c.stopLeaving()
	area, err := commonarea.New(membershipOf(set), credentials, c.changed)
	if err != nil {
		return fmt.Errorf("ClusterSet %s: %w", set.Name, err)
	}
	klog.InfoS("Connecting to the leader", "clusterSet", set.Name, "server", area.Server, "namespace", area.Namespace)
	running, cancel := context.WithCancel(ctx)
	var parts sync.WaitGroup
	refused := &atomic.Pointer[map[string]string]{}
	refused.Store(&map[string]string{})
	parts.Go(func() { area.Run(running) })
	parts.Go(func() { c.export(running, area, refused) })
	c.link.Store(&link{area, credentials, time.Now(), refused, func() { cancel(); parts.Wait() }})
	return nil
}

// sameMember reports whether the leader knows both by the same announce.
func sameMember(a, b commonarea.Membership) bool {
	return a.ClusterID == b.ClusterID && a.Server == b.Server && a.Namespace == b.Namespace
}

// disconnect ends the connection if there is one. The leader is not told.
func (c *Controller) disconnect() {
	if l := c.link.Swap(nil); l != nil {
		l.stop()
	}
}

// leave tells the leader that this cluster is not a member any more, without waiting for the answer.
func (c *Controller) leave(ctx context.Context, area *commonarea.Area) {
	c.stopLeaving()
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		area.Leave(ctx)
	}()
	c.stopLeaving = func() { cancel(); <-done }
}
