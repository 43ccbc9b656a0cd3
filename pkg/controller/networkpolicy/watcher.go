// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/component-base/metrics"
)

// maxPending is the number of events that may wait for a slow client, after the initial ones, before its watch ends.
// The client must reconnect and then gets everything again.
const maxPending = 10000

// resultBuffer lets the server write several events before it flushes the connection.
const resultBuffer = 100

// watcher is one watch. Events wait in a queue, so that a slow client does not delay others.
type watcher struct {
	// name is the only object that the client wants; empty means all.
	name   string
	result chan watch.Event
	// wake has an element when the queue may not be empty.
	wake chan struct{}
	done chan struct{}
	stop sync.Once
	// newBookmark makes bookmarks; nil if the client wants no marks.
	newBookmark func(version string) runtime.Object
	// waiting counts the events in the queues of this watcher and others.
	waiting *metrics.Gauge

	mu    sync.Mutex
	queue []watch.Event
}

func newWatcher(name string, waiting *metrics.Gauge) *watcher {
	return &watcher{name: name, waiting: waiting, result: make(chan watch.Event, resultBuffer), wake: make(chan struct{}, 1), done: make(chan struct{})}
}

// Stop ends the watch.
func (w *watcher) Stop() { w.stop.Do(func() { close(w.done) }) }

// ResultChan is closed when the watch has ended, by Stop or because the client was too slow.
func (w *watcher) ResultChan() <-chan watch.Event { return w.result }

// send queues an event of the object id. It does not wait.
func (w *watcher) send(id string, event watch.Event) {
	if w.name != "" && w.name != id {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := len(w.queue) - 1; event.Type == watch.Bookmark && last >= 0 && w.queue[last].Type == watch.Bookmark {
		w.queue[last] = event
		return
	}
	if len(w.queue) >= maxPending {
		w.Stop()
		return
	}
	w.queue = append(w.queue, event)
	w.waiting.Inc()
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// run delivers the initial events, then those passed to send, until Stop.
func (w *watcher) run(initial []watch.Event) {
	defer close(w.result)
	for _, event := range initial {
		if !w.deliver(event) {
			return
		}
	}
	for {
		for event, ok := w.next(); ok; event, ok = w.next() {
			if !w.deliver(event) {
				return
			}
		}
		select {
		case <-w.wake:
		case <-w.done:
			return
		}
	}
}

// deliver reports whether the watch continues.
func (w *watcher) deliver(event watch.Event) bool {
	select {
	case <-w.done: // even if the client could take the event
		return false
	default:
	}
	event.Object = ownCopy(event.Object)
	select {
	case w.result <- event:
		return true
	case <-w.done:
		return false
	}
}

// next removes the oldest event from the queue, if there is one.
func (w *watcher) next() (event watch.Event, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		w.queue = nil
		return watch.Event{}, false
	}
	event, w.queue[0] = w.queue[0], watch.Event{}
	w.queue = w.queue[1:]
	w.waiting.Dec()
	return event, true
}

// drop empties the queue of a watch that has ended and to which nothing more is sent.
func (w *watcher) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waiting.Add(-float64(len(w.queue)))
	w.queue = nil
}
