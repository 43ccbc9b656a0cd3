// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// fallbackDelay is the time that the agent waits for antrea-controller at start before it uses the last known policies.
	fallbackDelay = 5 * time.Second
	// doubtDelay is the time that it waits at start when the stored files are damaged. Until then the rules of the former agent
	// stay in force; after that, Pods that damaged files may concern are isolated.
	doubtDelay = 30 * time.Second
	// storeRetryDelay is the time between two attempts to write to a disk that failed.
	storeRetryDelay = 30 * time.Second
)

// Reasons of problems with the files on disk.
const (
	ReasonStoredPolicyUnreadable problem.Reason = "StoredPolicyUnreadable"
	ReasonPolicyNotStored        problem.Reason = "PolicyNotStored"
)

// watcher follows one resource. Its goroutine alone changes the resource's objects.
type watcher struct {
	c        *Controller
	resource Resource
	source   Source
	files    *files
	// reconnectDelay and the others default to the constants; tests shorten them.
	reconnectDelay, firstReconnectDelay, fallbackDelay, doubtDelay, storeRetryDelay time.Duration
	// delays are the delays between attempts; pause uses them.
	delays retry.Delays
	// giveUp ends the initial wait for antrea-controller, storeAgain the wait for the next attempt to write.
	giveUp, storeAgain *time.Timer
	// stored is the content found on disk, once it was read; began is the time at which the watcher started.
	stored *loaded
	began  time.Time
	// latest has the resource's objects as they have arrived; some may wait for marks.
	latest *state
	// synced is set once a complete set has arrived, or the last known one was used. connected is set when a complete set
	// has arrived on a watch that is still open; it is protected by the controller's mu.
	synced, connected bool
}

// addWatchers makes the watchers. They work even if dir is unusable.
func (c *Controller) addWatchers(source Source, dir string) {
	for _, resource := range []Resource{NetworkPolicies, AddressGroups, AppliedToGroups} {
		w := &watcher{
			c: c, resource: resource, source: source, files: newFiles(dir, resource),
			reconnectDelay: reconnectDelay, firstReconnectDelay: firstReconnectDelay, fallbackDelay: fallbackDelay,
			doubtDelay: doubtDelay, storeRetryDelay: storeRetryDelay, giveUp: stoppedTimer(), storeAgain: stoppedTimer(), latest: newState(),
		}
		c.watchers = append(c.watchers, w)
	}
}

func stoppedTimer() *time.Timer {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return timer
}

func (w *watcher) run(ctx context.Context) {
	w.began = time.Now()
	w.giveUp.Reset(w.fallbackDelay)
	defer w.giveUp.Stop()
	defer w.storeAgain.Stop()
	for ctx.Err() == nil {
		began, moved := time.Now(), w.source.Moved()
		err := recovery.Call(controllerName, recovery.Part("watch of "+string(w.resource)), func() error { return w.follow(ctx) })
		w.setConnected(false, err)
		if ctx.Err() != nil {
			return
		}
		klog.V(1).InfoS("Watch of antrea-controller has ended", "resource", w.resource, "reason", err)
		if errors.Is(err, client.ErrNoController) {
			w.fallBack(err)
		}
		w.pause(ctx, began, moved, err)
	}
}

// follow opens a watch and enters its events until it ends, and returns the reason.
func (w *watcher) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer stream.Stop()
	look := time.NewTicker(markInterval)
	defer look.Stop()
	r := received{w: w}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.giveUp.C:
			w.fallBack(errors.New("antrea-controller does not send its policies"))
		case <-w.storeAgain.C:
			w.storeAll()
		case now := <-look.C:
			if err := w.overdue(now); err != nil {
				return err
			}
		case event, open := <-stream.ResultChan():
			if !open {
				return errors.New("antrea-controller has ended it")
			}
			if err := r.receive(event); err != nil {
				return err
			}
		}
	}
}

// open opens a watch, and does what is due while antrea-controller does not answer.
func (w *watcher) open(ctx context.Context) (watch.Interface, error) {
	type opened struct {
		stream watch.Interface
		err    error
	}
	opening := make(chan opened, 1)
	go func() {
		var o opened
		// The boundary around follow does not reach here.
		o.err = recovery.Call(controllerName, recovery.Part("opening of the watch of "+string(w.resource)), func() (err error) {
			o.stream, err = w.source.Watch(ctx, w.resource)
			return err
		})
		opening <- o
	}()
	for {
		select {
		case o := <-opening:
			return o.stream, o.err
		case <-w.giveUp.C:
			w.fallBack(errors.New("antrea-controller does not answer"))
		case <-w.storeAgain.C:
			w.storeAll()
		}
	}
}

// received is the content of one watch: first a complete set, then changes of it.
type received struct {
	w *watcher
	// initial are the objects of the set until it is complete.
	initial  []any
	complete bool
}

func (r *received) receive(event watch.Event) error {
	switch {
	case event.Type == watch.Error:
		return apierrors.FromObject(event.Object)
	case event.Type == watch.Bookmark:
		version := takeVersion(event.Object)
		if r.complete {
			r.w.c.update(func(s *state) { s.reach(r.w.resource, version) })
			return nil
		}
		r.complete = true
		if err := r.w.replace(r.initial, version); err != nil {
			return err
		}
		r.w.setConnected(true, nil)
		r.initial = nil
		return nil
	case !r.complete && event.Type == watch.Added:
		r.initial = append(r.initial, event.Object)
		return nil
	}
	return r.w.enter(event)
}

// enter enters one event after the complete set. After an error only a new complete set is correct. The files on disk are
// never older than what is in force.
func (w *watcher) enter(event watch.Event) error {
	ch, err := w.changeOf(event)
	if err != nil {
		return err
	}
	w.store(ch)
	ch.apply(w.latest)
	clear(w.latest.dirty)
	w.compact(ch.name)
	w.c.update(func(s *state) { err = s.arrive(w.resource, w.inForce(ch)) })
	return err
}

// inForce returns what a change does once it takes effect.
func (w *watcher) inForce(ch change) change {
	gone := w.resource == NetworkPolicies && ch.stored == nil
	return change{name: ch.name, version: ch.version, apply: func(s *state) {
		ch.apply(s)
		if gone {
			w.c.reporter.forget(ch.name)
		}
	}}
}

// changeOf makes a change from an event.
func (w *watcher) changeOf(event watch.Event) (ch change, err error) {
	removeInvalid(event.Object)
	version := takeVersion(event.Object)
	switch event.Type {
	case watch.Added:
		ch, err = setObject(event.Object)
	case watch.Modified:
		ch, err = modifyObject(event.Object, w.latest)
	case watch.Deleted:
		ch, err = deleteObject(event.Object)
	default:
		err = fmt.Errorf("unexpected event %s", event.Type)
	}
	ch.version = version
	return ch, err
}

// replace makes objects, of a version of antrea-controller, the only ones. Until all are written nothing on disk is valid.
func (w *watcher) replace(objects []any, version uint64) error {
	changes, err := w.changes(objects)
	if err != nil {
		return err
	}
	if err := w.files.doubt(); err != nil {
		w.notStored(err)
	}
	set := w.setOf(changes, func(s *state) {
		s.answered(w.resource)
		if w.resource == NetworkPolicies {
			w.c.reporter.reconnected()
		}
	})
	set.version = version
	w.c.update(func(s *state) { s.begin(w.resource, set) })
	w.storeAll()
	return nil
}

func (w *watcher) changes(objects []any) ([]change, error) {
	changes := make([]change, 0, len(objects))
	for _, object := range objects {
		removeInvalid(object)
		takeVersion(object)
		ch, err := setObject(object)
		if err != nil {
			return nil, err
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// setOf returns the change that makes the changed objects the only ones, calls note, and records that the resource is complete.
func (w *watcher) setOf(changes []change, note func(*state)) change {
	w.latest, w.synced = newState(), true
	w.latest.setAll(w.resource, changes)
	clear(w.latest.dirty)
	return change{complete: true, apply: func(s *state) {
		s.setAll(w.resource, changes)
		note(s)
		w.c.unsynced.Delete(w.resource)
	}}
}

func (w *watcher) setConnected(connected bool, reason error) {
	defer w.c.poke()
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	if w.connected = connected; !connected {
		w.c.state.end(w.resource)
		w.c.state.targetsBehind = w.c.state.targetsBehind || w.resource == AppliedToGroups
	}
	w.c.noteLink(reason)
}
