// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"sync"
)

// keyedLocks is one mutex per key; a key uses memory only while its mutex is held or waited for.
type keyedLocks struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	// token has room for one value, which the holder puts there.
	token chan struct{}
	// users counts the holder and the waiters, under keyedLocks.mu.
	users int
}

func newKeyedLocks() *keyedLocks {
	return &keyedLocks{held: map[string]*keyLock{}}
}

// lock waits for the key's mutex or for the end of ctx. Call unlock exactly once.
func (k *keyedLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	l, ok := k.held[key]
	if !ok {
		l = &keyLock{token: make(chan struct{}, 1)}
		k.held[key] = l
	}
	l.users++
	k.mu.Unlock()

	select {
	case l.token <- struct{}{}:
		return func() {
			<-l.token
			k.leave(key, l)
		}, nil
	case <-ctx.Done():
		k.leave(key, l)
		return nil, ctx.Err()
	}
}

func (k *keyedLocks) leave(key string, l *keyLock) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if l.users--; l.users == 0 {
		delete(k.held, key)
	}
}
