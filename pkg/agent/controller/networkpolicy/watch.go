// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// fallbackDelay is how long antrea-controller is waited for at start before the last known policies are used.
	fallbackDelay = 5 * time.Second
	// doubtDelay is how long antrea-controller is waited for at start when what is kept is damaged: until then the rules of the
	// former agent stay in force, after it Pods are isolated that damaged files may concern.
	doubtDelay = 30 * time.Second
	// storeRetryDelay is the time between two attempts to write what could not be written.
	storeRetryDelay = 30 * time.Second
)

// Reasons of problems with what is kept on disk.
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
	// reconnectDelay and firstReconnectDelay are as the constants; tests shorten them.
	reconnectDelay, firstReconnectDelay, fallbackDelay, doubtDelay, storeRetryDelay time.Duration
	// delays are those between attempts; pause uses them.
	delays retry.Delays
	// giveUp ends the time that antrea-controller is waited for at start, storeAgain that until a next attempt to write.
	giveUp, storeAgain *time.Timer
	// stored is what was found on disk, once it was looked for; began is when the watcher has begun.
	stored *loaded
	began  time.Time
	// synced is set once a complete set has arrived, or the last known one was used. connected says whether a complete set
	// has arrived on a watch that is still open; it is protected by the controller's mu.
	synced, connected bool
}

// addWatchers makes the watchers. Whatever is wrong with dir, they work.
func (c *Controller) addWatchers(source Source, dir string) {
	for _, resource := range []Resource{NetworkPolicies, AddressGroups, AppliedToGroups} {
		w := &watcher{
			c: c, resource: resource, source: source, files: newFiles(dir, resource),
			reconnectDelay: reconnectDelay, firstReconnectDelay: firstReconnectDelay, fallbackDelay: fallbackDelay,
			doubtDelay: doubtDelay, storeRetryDelay: storeRetryDelay, giveUp: stoppedTimer(), storeAgain: stoppedTimer(),
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

// follow opens a watch and enters its events until it ends, for the reason that it returns.
func (w *watcher) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := w.open(ctx)
	if err != nil {
		return err
	}
	defer stream.Stop()
	r := received{w: w}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.giveUp.C:
			w.fallBack(errors.New("antrea-controller does not send its policies"))
		case <-w.storeAgain.C:
			w.storeAll()
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

// received is what has come on one watch: first a complete set, then changes of it.
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
		if r.complete {
			return nil
		}
		r.complete = true
		if err := r.w.replace(r.initial); err != nil {
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

// enter applies one event that comes after the complete set. After an error only a new complete set is right. What is kept on
// disk is never older than what is in force.
func (w *watcher) enter(event watch.Event) error {
	ch, err := w.changeOf(event)
	if err != nil {
		return err
	}
	w.store(ch)
	w.c.update(ch.apply)
	w.compact(ch.name)
	return nil
}

// changeOf makes a change of an event.
func (w *watcher) changeOf(event watch.Event) (ch change, err error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	switch event.Type {
	case watch.Added:
		ch, err = setObject(event.Object)
	case watch.Modified:
		ch, err = modifyObject(event.Object, w.c.state)
	case watch.Deleted:
		ch, err = deleteObject(event.Object)
	default:
		err = fmt.Errorf("unexpected event %s", event.Type)
	}
	return ch, err
}

// replace makes objects all that there are. Until all are written nothing on disk is valid.
func (w *watcher) replace(objects []any) error {
	changes, err := w.changes(objects)
	if err != nil {
		return err
	}
	if err := w.files.doubt(); err != nil {
		w.notStored(err)
	}
	w.applyAll(changes, func(s *state) { s.answered(w.resource) })
	w.storeAll()
	return nil
}

func (w *watcher) changes(objects []any) ([]change, error) {
	changes := make([]change, 0, len(objects))
	for _, object := range objects {
		ch, err := setObject(object)
		if err != nil {
			return nil, err
		}
		changes = append(changes, ch)
	}
	return changes, nil
}

// applyAll makes the changed objects all that there are, with what else is to be noted, and that the resource is complete.
func (w *watcher) applyAll(changes []change, note func(*state)) {
	keep := sets.New[string]()
	w.c.update(func(s *state) {
		for _, ch := range changes {
			ch.apply(s)
			keep.Insert(ch.name)
		}
		for _, name := range s.names(w.resource) {
			if !keep.Has(name) {
				s.deleteNamed(w.resource, name)
			}
		}
		note(s)
		w.c.unsynced.Delete(w.resource)
	})
	w.synced = true
}

func (w *watcher) setConnected(connected bool, reason error) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.connected = connected
	w.c.noteLink(reason)
}
