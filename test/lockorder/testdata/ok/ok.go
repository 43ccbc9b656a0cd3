// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ok keeps an order, and releases one lock before it takes another.
package ok

import (
	"errors"
	"sync"
)

type Pair struct {
	a, b sync.Mutex
	once sync.Once
	done bool
}

func (p *Pair) Forth() error {
	p.a.Lock()
	defer p.a.Unlock()
	p.b.Lock()
	if p.done {
		p.b.Unlock()
		return errors.New("done")
	}
	p.b.Unlock()
	return call(func() { p.once.Do(func() {}) })
}

func (p *Pair) Back() error {
	p.b.Lock()
	p.b.Unlock()
	go p.Later()
	if err := call(func() { p.a.Lock(); p.a.Unlock() }); err != nil {
		return err
	}
	p.b.Lock()
	defer p.b.Unlock()
	if p.a.TryLock() {
		p.a.Unlock()
	}
	go p.Later()
	return nil
}

func (p *Pair) Later() {
	p.a.Lock()
	defer p.a.Unlock()
}

// call does as its caller says: what one caller gives is nothing that another one calls.
func call(f func()) error {
	f()
	return nil
}
