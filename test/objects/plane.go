// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/registry/rest"

	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apiserver/registry"
	controller "github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/test/policy/feed"
)

// plane is antrea-controller, running or stopped. Agents watch its storage through the API server's conversion and JSON, but
// without HTTP.
type plane struct {
	kube *kube

	mu      sync.Mutex
	storage map[string]rest.Storage
	synced  <-chan struct{}
	// life counts controllers: a watch on an ended one is useless.
	life int
	// open are the watches to end.
	open    map[*feedWatch]bool
	cancel  context.CancelFunc
	running sync.WaitGroup
}

var errAway = errors.New("connection refused")

func newPlane(k *kube) *plane { return &plane{kube: k, open: map[*feedWatch]bool{}} }

// start starts a controller that knows nothing yet.
func (p *plane) start() error {
	store := controller.NewStore()
	c, err := controller.NewController(p.kube.client(), store)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.storage, p.synced, p.cancel = registry.Resources(store, registry.Readiness{Synced: c.Synced(), Serving: func() error { return nil }}, registry.Agents{}), c.Synced(), cancel
	p.life++
	p.running.Go(func() { c.Run(ctx) })
	return nil
}

// stop ends the controller and, with it, all watches.
func (p *plane) stop() {
	p.mu.Lock()
	cancel := p.cancel
	p.storage = nil
	p.mu.Unlock()
	cancel()
	p.breakWatches()
	p.running.Wait()
}

// breakWatches ends the watches of all agents.
func (p *plane) breakWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for w := range p.open {
		w.Stop()
	}
	clear(p.open)
}

// source is the path from antrea-controller to the agent of a Node.
type source struct {
	plane *plane
	node  string
}

// Watch implements agentpolicy.Source.
func (s *source) Watch(ctx context.Context, resource agentpolicy.Resource) (watch.Interface, error) {
	s.plane.mu.Lock()
	storage, life := s.plane.storage, s.plane.life
	s.plane.mu.Unlock()
	if storage == nil {
		return nil, errAway
	}
	internal, err := storage[string(resource)].(rest.Watcher).Watch(ctx, &internalversion.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(v1beta2.NodeNameField, s.node),
	})
	if err != nil {
		return nil, err
	}
	w := &feedWatch{from: feed.Converted(internal), result: make(chan watch.Event), done: make(chan struct{})}
	go w.run()
	s.plane.mu.Lock()
	defer s.plane.mu.Unlock()
	if s.plane.storage == nil || s.plane.life != life {
		w.Stop()
		return nil, errAway
	}
	s.plane.open[w] = true
	return w, nil
}

// feedWatch passes events on like a connection: received objects share no memory with sent ones.
type feedWatch struct {
	from   watch.Interface
	result chan watch.Event
	done   chan struct{}
	once   sync.Once
}

// Stop implements watch.Interface.
func (w *feedWatch) Stop() { w.once.Do(func() { close(w.done) }) }

// ResultChan implements watch.Interface.
func (w *feedWatch) ResultChan() <-chan watch.Event { return w.result }

func (w *feedWatch) run() {
	defer close(w.result)
	defer w.drain()
	for {
		select {
		case <-w.done:
			return
		case event, open := <-w.from.ResultChan():
			if !open {
				return
			}
			event, err := transmitted(event)
			if err != nil {
				return // like a broken connection
			}
			select {
			case w.result <- event:
			case <-w.done:
				return
			}
		}
	}
}

// drain ends the watch below, which may be about to send.
func (w *feedWatch) drain() {
	w.from.Stop()
	for range w.from.ResultChan() {
	}
}

func transmitted(event watch.Event) (watch.Event, error) {
	if event.Type == watch.Bookmark {
		return event, nil
	}
	kinds, _, err := feed.Scheme.ObjectKinds(event.Object)
	if err != nil {
		return event, err
	}
	content, err := json.Marshal(event.Object)
	if err != nil {
		return event, err
	}
	object, err := feed.Scheme.New(v1beta2.SchemeGroupVersion.WithKind(kinds[0].Kind))
	if err != nil {
		return event, err
	}
	return watch.Event{Type: event.Type, Object: object}, json.Unmarshal(content, object)
}

// Moved implements agentpolicy.Source.
func (*source) Moved() <-chan struct{} { return nil }
