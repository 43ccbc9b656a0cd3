// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package direct takes two locks in both orders.
package direct

import "sync"

type Pair struct {
	a sync.Mutex
	b sync.RWMutex
}

func (p *Pair) Forth() {
	p.a.Lock()
	defer p.a.Unlock()
	p.b.RLock()
	p.b.RUnlock()
}

func (p *Pair) Back() {
	p.b.Lock()
	p.a.Lock()
	p.a.Unlock()
	p.b.Unlock()
}
