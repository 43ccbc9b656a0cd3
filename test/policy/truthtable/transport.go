// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/test/policy/feed"
)

// An agent in a process of its own watches the antrea-controller of this process over a Unix socket: it sends the name of a resource and
// gets events, one JSON object per line.

// message is an event on the socket.
type message struct {
	Type   watch.EventType
	Kind   string
	Object json.RawMessage
}

// serveSource answers the watches of one Node until stop is called.
func serveSource(s *source, path string) (stop func(), err error) {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(ctx, conn)
		}
	}()
	return func() { cancel(); listener.Close() }, nil
}

func (s *source) serve(ctx context.Context, conn net.Conn) {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	resource, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return
	}
	w, err := s.Watch(ctx, agentpolicy.Resource(resource[:len(resource)-1]))
	if err != nil {
		return
	}
	defer w.Stop()
	encoder, events := json.NewEncoder(conn), w.ResultChan()
	if s.marked {
		events = late(ctx, events, lagOf(resource[:len(resource)-1]))
	}
	for {
		select {
		case <-ctx.Done():
			return
		case event, ok := <-events:
			if !ok || encoder.Encode(messageOf(event)) != nil {
				return // the agent is gone, or has started a new watch
			}
		}
	}
}

// lagOf returns how late a watch brings its events: groups come before policies in half of the cases, and after them in the others. Without marks
// an agent cannot know what is still to come.
func lagOf(resource string) time.Duration {
	const step = 150 * time.Millisecond
	if resource == string(agentpolicy.NetworkPolicies) {
		return time.Duration(rand.IntN(2)) * 2 * step
	}
	return step
}

// late returns events after a lag.
func late(ctx context.Context, events <-chan watch.Event, lag time.Duration) <-chan watch.Event {
	type queued struct {
		watch.Event
		due <-chan time.Time
	}
	queue, out := make(chan queued, 1000), make(chan watch.Event)
	go func() {
		defer close(queue)
		for event := range events {
			select {
			case queue <- queued{event, time.After(lag)}:
			case <-ctx.Done():
				return
			}
		}
	}()
	go func() {
		defer close(out)
		for q := range queue {
			<-q.due
			select {
			case out <- q.Event:
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

func messageOf(event watch.Event) message {
	kinds, _, err := feed.Scheme.ObjectKinds(event.Object)
	if err != nil {
		panic(err)
	}
	object, err := json.Marshal(event.Object)
	if err != nil {
		panic(err)
	}
	return message{event.Type, kinds[0].Kind, object}
}

// remoteSource is the agent's end.
type remoteSource struct{ path string }

// Moved implements agentpolicy.Source.
func (remoteSource) Moved() <-chan struct{} { return nil }

// Watch implements agentpolicy.Source.
func (s remoteSource) Watch(_ context.Context, resource agentpolicy.Resource) (watch.Interface, error) {
	conn, err := net.Dial("unix", s.path)
	if err != nil {
		return nil, err
	}
	if _, err := fmt.Fprintln(conn, resource); err != nil {
		return nil, err
	}
	return watch.NewStreamWatcher(&eventDecoder{conn, json.NewDecoder(conn)}, reporter{}), nil
}

type eventDecoder struct {
	conn net.Conn
	json *json.Decoder
}

// Decode implements watch.Decoder.
func (d *eventDecoder) Decode() (watch.EventType, runtime.Object, error) {
	var m message
	if err := d.json.Decode(&m); err != nil {
		return "", nil, err
	}
	object, err := feed.Scheme.New(v1beta2.SchemeGroupVersion.WithKind(m.Kind))
	if err != nil {
		return "", nil, err
	}
	return m.Type, object, json.Unmarshal(m.Object, object)
}

// Close implements watch.Decoder.
func (d *eventDecoder) Close() { d.conn.Close() }

// reporter implements watch.Reporter. An event that cannot be read ends the watch, like any other end.
type reporter struct{}

// AsObject implements watch.Reporter.
func (reporter) AsObject(error) runtime.Object { return &v1beta2.NetworkPolicy{} }
