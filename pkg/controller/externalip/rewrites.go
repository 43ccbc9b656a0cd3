// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"maps"
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	minRewrite, maxRewrite = time.Second, 10 * time.Minute
	// rewriteMemory is the time after which a write is forgotten.
	rewriteMemory = time.Hour
)

// rewrites limits how often the same address is written into the same object: another load balancer may replace it each time.
type rewrites map[types.UID]rewrite

type rewrite struct {
	addr netip.Addr
	at   time.Time
	wait time.Duration
}

// mayWrite reports whether an address may be written now.
func (r rewrites) mayWrite(id types.UID, addr netip.Addr, now time.Time) bool {
	last, known := r[id]
	return !known || last.addr != addr || now.Sub(last.at) >= last.wait
}

// written records that an address has been written. Each further time within twice its wait, the next one waits twice as long.
func (r rewrites) written(id types.UID, addr netip.Addr, now time.Time) {
	maps.DeleteFunc(r, func(_ types.UID, last rewrite) bool { return now.Sub(last.at) > rewriteMemory })
	next := rewrite{addr, now, minRewrite}
	if last, known := r[id]; known && last.addr == addr && now.Sub(last.at) <= 2*last.wait+2*checkInterval {
		next.wait = min(2*last.wait, maxRewrite)
	}
	r[id] = next
}
