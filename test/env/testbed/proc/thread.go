// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrThreadEnded is returned by a Thread's Do after Close.
var ErrThreadEnded = errors.New("the thread has ended")

// Thread is an operating system thread that may be given namespaces of its own. Its end, at Close, kills the children that
// were started on it, and frees its namespaces if nothing else is in them.
type Thread struct {
	tid   int
	calls chan func()
	end   sync.Once
	ended chan struct{}
}

// NewThread starts a thread.
func NewThread() *Thread {
	t := &Thread{calls: make(chan func()), ended: make(chan struct{})}
	started := make(chan struct{})
	go t.run(started)
	<-started
	return t
}

func (t *Thread) run(started chan struct{}) {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// /proc/self shows the main thread, so the main thread must keep the process's namespaces: use another one.
		again := make(chan struct{})
		go t.run(again)
		<-again
		runtime.UnlockOSThread()
		close(started)
		return
	}
	// The thread is never unlocked, so it ends with this goroutine.
	t.tid = unix.Gettid()
	close(started)
	for {
		select {
		case call := <-t.calls:
			call()
		case <-t.ended:
			return
		}
	}
}

// ID is the thread's id in its PID namespace: /proc/<process>/task/<ID>/ns/... are its namespaces.
func (t *Thread) ID() int { return t.tid }

// Do runs fn on the thread, one function at a time, and returns its error. fn must not call Do.
func (t *Thread) Do(fn func() error) error {
	result := make(chan error, 1)
	select {
	case t.calls <- func() { result <- fn() }:
		return <-result
	case <-t.ended:
		return ErrThreadEnded
	}
}

// Close ends the thread.
func (t *Thread) Close() { t.end.Do(func() { close(t.ended) }) }
