// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

const (
	// fallbackDelay is how long antrea-controller is waited for at start before the last known policies are used.
	fallbackDelay = 5 * time.Second
	// reconnectDelay is the time between two attempts to watch; a watch that has lasted that long is renewed at once.
	reconnectDelay = 5 * time.Second
	// firstReconnectDelay is the time between two attempts as long as there was no complete set.
	firstReconnectDelay = 500 * time.Millisecond
)

// ErrNoController is what a Source returns when the cluster has no antrea-controller, as opposed to one that does not answer.
var ErrNoController = errors.New("there is no antrea-controller in the cluster")

// Source opens watches of what concerns the Node, as package v1beta2 describes them.
type Source interface {
	Watch(ctx context.Context, resource Resource) (watch.Interface, error)
}

// watcher follows one resource. Its goroutine alone changes the resource's objects.
type watcher struct {
	c        *Controller
	resource Resource
	source   Source
	files    *files
	// reconnectDelay and firstReconnectDelay are as the constants; tests shorten them.
	reconnectDelay, firstReconnectDelay, fallbackDelay time.Duration
	// synced is set once a complete set has arrived, or the last known one was used. connected says whether a complete set
	// has arrived on a watch that is still open; it is protected by the controller's mu.
	synced, connected bool
}

func (c *Controller) addWatchers(source Source, dir string) error {
	for _, resource := range []Resource{NetworkPolicies, AddressGroups, AppliedToGroups} {
		f, err := newFiles(filepath.Join(dir, directories[resource]))
		if err != nil {
			return err
		}
		c.watchers = append(c.watchers, &watcher{
			c: c, resource: resource, source: source, files: f,
			reconnectDelay: reconnectDelay, firstReconnectDelay: firstReconnectDelay, fallbackDelay: fallbackDelay,
		})
	}
	return nil
}

func (w *watcher) run(ctx context.Context) {
	giveUp := time.NewTimer(w.fallbackDelay)
	defer giveUp.Stop()
	for ctx.Err() == nil {
		began := time.Now()
		err := w.follow(ctx, giveUp.C)
		w.setConnected(false)
		if ctx.Err() != nil {
			return
		}
		klog.V(1).InfoS("Watch of antrea-controller has ended", "resource", w.resource, "reason", err)
		if errors.Is(err, ErrNoController) {
			w.fallBack(err)
		}
		delay := w.reconnectDelay
		switch {
		case !w.synced:
			delay = w.firstReconnectDelay
		case time.Since(began) >= w.reconnectDelay:
			delay = 0
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
		case <-giveUp.C:
			w.fallBack(err)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// follow opens a watch and enters its events until it ends, for the reason that it returns.
func (w *watcher) follow(ctx context.Context, giveUp <-chan time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type opened struct {
		stream watch.Interface
		err    error
	}
	opening := make(chan opened, 1)
	go func() {
		stream, err := w.source.Watch(ctx, w.resource)
		opening <- opened{stream, err}
	}()
	var stream watch.Interface
	for stream == nil {
		select {
		case o := <-opening:
			if o.err != nil {
				return o.err
			}
			stream = o.stream
		case <-giveUp:
			w.fallBack(errors.New("antrea-controller does not answer"))
		}
	}
	defer stream.Stop()
	var initial []any
	complete := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-giveUp:
			w.fallBack(errors.New("antrea-controller does not send its policies"))
		case event, open := <-stream.ResultChan():
			switch {
			case !open:
				return errors.New("antrea-controller has ended it")
			case event.Type == watch.Error:
				return apierrors.FromObject(event.Object)
			case event.Type == watch.Bookmark:
				if !complete {
					complete = true
					if err := w.replace(initial); err != nil {
						return err
					}
					w.setConnected(true)
					initial = nil
				}
			case !complete && event.Type == watch.Added:
				initial = append(initial, event.Object)
			default:
				if err := w.enter(event); err != nil {
					return err
				}
			}
		}
	}
}

// enter applies one event that comes after the complete set. After an error only a new complete set is right.
func (w *watcher) enter(event watch.Event) error {
	w.c.mu.Lock()
	var ch change
	var err error
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
	var saved any
	if err == nil {
		ch.apply(w.c.state)
		saved = ch.saved(w.c.state)
	}
	w.c.mu.Unlock()
	if err != nil {
		return err
	}
	w.c.poke()
	w.save(ch.name, saved)
	return nil
}

// save writes what is known to disk. A failure is only logged: it may matter after a restart without antrea-controller.
func (w *watcher) save(name string, object any) {
	var err error
	if object == nil {
		err = w.files.remove(name)
	} else {
		err = w.files.save(name, object)
	}
	if err != nil {
		klog.ErrorS(err, "Could not save what antrea-controller has sent", "resource", w.resource, "name", name)
	}
}

// replace makes objects all that there are.
func (w *watcher) replace(objects []any) error {
	changes, err := w.changes(objects)
	if err != nil {
		return err
	}
	keep := w.applyAll(changes)
	for _, ch := range changes {
		w.save(ch.name, ch.saved(nil))
	}
	if err := w.files.removeExcept(keep); err != nil {
		klog.ErrorS(err, "Could not remove what antrea-controller does not know any more", "resource", w.resource)
	}
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

// applyAll makes the changed objects all that there are, and notes that the resource is complete. It returns their names.
func (w *watcher) applyAll(changes []change) sets.Set[string] {
	keep := sets.New[string]()
	w.c.mu.Lock()
	for _, ch := range changes {
		ch.apply(w.c.state)
		keep.Insert(ch.name)
	}
	for _, name := range w.c.state.names(w.resource) {
		if !keep.Has(name) {
			w.c.state.deleteNamed(w.resource, name)
		}
	}
	w.c.unsynced.Delete(w.resource)
	w.c.mu.Unlock()
	w.synced = true
	w.c.poke()
	return keep
}

// fallBack uses what was saved, unless a complete set has arrived before.
func (w *watcher) fallBack(reason error) {
	if w.synced {
		return
	}
	objects, err := w.loadSaved()
	if err != nil {
		klog.ErrorS(err, "Could not read all of what antrea-controller has sent to an earlier agent", "resource", w.resource)
	}
	changes, err := w.changes(objects)
	if err != nil {
		klog.ErrorS(err, "What antrea-controller has sent to an earlier agent makes no sense", "resource", w.resource)
	}
	w.applyAll(changes)
	klog.InfoS("Using what antrea-controller has sent to an earlier agent", "resource", w.resource, "objects", len(changes), "reason", reason)
}

func (w *watcher) loadSaved() ([]any, error) {
	switch w.resource {
	case AddressGroups:
		return loadAny[v1beta2.AddressGroup](w.files)
	case AppliedToGroups:
		return loadAny[v1beta2.AppliedToGroup](w.files)
	default:
		return loadAny[v1beta2.NetworkPolicy](w.files)
	}
}

func loadAny[T any](f *files) ([]any, error) {
	loaded, err := load[T](f)
	objects := make([]any, len(loaded))
	for i, object := range loaded {
		objects[i] = object
	}
	return objects, err
}

func (w *watcher) setConnected(connected bool) {
	w.c.mu.Lock()
	defer w.c.mu.Unlock()
	w.connected = connected
}
