// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"sync/atomic"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Hold extends leases for the time limit, and stops probes. It concerns leases that had not ended at the time ago. Entries can still
// be evicted, and packets that are not hits take the slow path.
func (d *Datapath) Hold(ago, limit time.Duration) error {
	now, err := d.now()
	if err != nil {
		return err
	}
	d.Release() // programs must not see the new limit with the old beginning, or vice versa
	c := &d.control.Elements[0]
	atomic.StoreUint64(&c.HeldFrom, now.jiffies-uint64(ago/d.jiffy))
	atomic.StoreUint64(&c.HeldUntil, now.jiffies+uint64(limit/d.jiffy))
	return nil
}

// Release lets leases end again.
func (d *Datapath) Release() { atomic.StoreUint64(&d.control.Elements[0].HeldUntil, 0) }

// leaseLeft is the time for which an entry can be used without another confirmation, in jiffies; negative: its lease has ended.
func (d *Datapath) leaseLeft(now moment, v *object.BpfOncValidity) int64 {
	c := &d.control.Elements[0]
	left := int64(v.Lease - now.jiffies)
	if held := int64(atomic.LoadUint64(&c.HeldUntil) - now.jiffies); held > left && int64(v.Lease-atomic.LoadUint64(&c.HeldFrom)) >= 0 {
		return held
	}
	return left
}
