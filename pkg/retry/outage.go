// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"time"

	"k8s.io/klog/v2"
)

// Peer is another process to which this one keeps a connection. Its methods are called by the goroutine that connects.
// The time before the first connection is also an outage, but is logged only after an attempt has failed.
type Peer struct {
	name   string
	values []any
	delays Delays

	// began is the time of the first failure of the present outage, zero without one; failures counts from then on.
	began    time.Time
	failures int
	// connected is the time at which the present connection came up, zero without one.
	connected time.Time
}

// NewPeer makes a Peer. Log lines begin with its name and end with values, in the format of klog.InfoS.
func NewPeer(name string, backoff Backoff, values ...any) *Peer {
	return &Peer{name: name, values: values, delays: Delays{Backoff: backoff}}
}

// Failed records that an attempt to connect has failed, or that the connection has ended, because of err. It returns the
// time to wait before the next attempt.
func (p *Peer) Failed(err error) time.Duration {
	p.Settle()
	p.connected = time.Time{}
	p.failures++
	if p.began.IsZero() {
		p.began = time.Now()
		klog.ErrorS(err, p.name+" cannot be reached, will keep trying", p.values...)
	}
	return p.delays.Next()
}

// Connected records that an attempt was successful. It returns the time after which Settle must be called.
func (p *Peer) Connected() time.Duration {
	p.connected = time.Now()
	return p.delays.Lasting
}

// Settle ends the outage if the connection has lasted. So a peer that accepts connections and closes them at once is in one
// long outage, not in many short ones.
func (p *Peer) Settle() {
	if p.connected.IsZero() || time.Since(p.connected) < p.delays.Lasting {
		return
	}
	p.delays.Reset()
	if p.began.IsZero() {
		return
	}
	values := append([]any{"duration", p.connected.Sub(p.began).Round(time.Millisecond), "failures", p.failures}, p.values...)
	klog.InfoS(p.name+" can be reached again", values...)
	p.began, p.failures = time.Time{}, 0
}
