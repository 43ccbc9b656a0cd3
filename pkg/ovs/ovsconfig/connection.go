// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/ovn-kubernetes/libovsdb/cache"
	"github.com/ovn-kubernetes/libovsdb/client"
	"github.com/ovn-kubernetes/libovsdb/model"
	"k8s.io/klog/v2"
)

const (
	// attemptTimeout bounds one attempt to connect and to read the monitored tables.
	attemptTimeout = 5 * time.Second
	retryInterval  = 500 * time.Millisecond
	// waitLogInterval is the time between two messages that say what is waited for.
	waitLogInterval = 5 * time.Second
	// livenessInterval is how often a lost connection is looked for in case its notification was missed: libovsdb
	// does not deliver that to a channel on which nobody waits at that instant.
	livenessInterval = time.Second
)

var errConnectionClosed = errors.New("the OVSDB connection was closed")

// Connection is a monitored OVSDB session that reconnects by itself. Every (re)connection uses a new libovsdb client: the
// library's own reconnection cannot be stopped while the server is away.
type Connection struct {
	address string
	model   model.ClientDBModel

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu sync.Mutex
	// current is nil while disconnected.
	current client.Client
	// changed is closed and replaced at every change of the database copy or of the connection.
	changed chan struct{}
}

// NewOVSDBConnection connects to ovsdb-server at address ("unix:/var/run/openvswitch/db.sock"). While the server is absent
// it keeps trying, with a log message every few seconds, until ctx ends. ctx bounds the first connection only; Close ends
// the connection.
func NewOVSDBConnection(ctx context.Context, address string) (*Connection, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); !ok || !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("OVSDB address %q: want unix: and an absolute path, such as unix:/var/run/openvswitch/db.sock", address)
	}
	m, err := newDatabaseModel()
	if err != nil {
		return nil, err
	}
	c := &Connection{address: address, model: m, done: make(chan struct{}), changed: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	cl, err := c.connect(ctx)
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.setCurrent(cl)
	go c.supervise(cl)
	return c, nil
}

// Close ends the session. Operations that wait for it return an error.
func (c *Connection) Close() {
	c.cancel()
	<-c.done
}

// connect tries until it succeeds or ctx ends.
func (c *Connection) connect(ctx context.Context) (client.Client, error) {
	var lastLog time.Time
	for {
		cl, err := c.attempt(ctx)
		if err == nil {
			return cl, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connect to OVSDB at %s: %w (last attempt: %w)", c.address, ctx.Err(), err)
		}
		if time.Since(lastLog) >= waitLogInterval {
			klog.InfoS("Waiting for ovsdb-server", "address", c.address, "reason", err)
			lastLog = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("connect to OVSDB at %s: %w (last attempt: %w)", c.address, ctx.Err(), err)
		case <-time.After(retryInterval):
		}
	}
}

func (c *Connection) attempt(ctx context.Context) (client.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	logger := klog.Background().WithName("libovsdb")
	cl, err := client.NewOVSDBClient(c.model, client.WithEndpoint(c.address), client.WithLogger(&logger))
	if err != nil {
		return nil, err
	}
	if err := cl.Connect(ctx); err != nil {
		return nil, err
	}
	cl.Cache().AddEventHandler(&cache.EventHandlerFuncs{
		AddFunc:    func(string, model.Model) { c.notify() },
		UpdateFunc: func(string, model.Model, model.Model) { c.notify() },
		DeleteFunc: func(string, model.Model) { c.notify() },
	})
	if _, err := cl.Monitor(ctx, cl.NewMonitor(monitorOptions()...)); err != nil {
		cl.Close()
		return nil, fmt.Errorf("monitor database %s: %w", databaseName, err)
	}
	return cl, nil
}

func (c *Connection) supervise(cl client.Client) {
	defer close(c.done)
	for {
		lost := waitUntilLost(c.ctx, cl)
		c.setCurrent(nil)
		cl.Close()
		if !lost {
			return
		}
		klog.InfoS("OVSDB connection lost, reconnecting", "address", c.address)
		var err error
		if cl, err = c.connect(c.ctx); err != nil {
			return
		}
		klog.InfoS("OVSDB reconnected", "address", c.address)
		c.setCurrent(cl)
	}
}

// waitUntilLost returns true when the server went away and false when ctx ended.
func waitUntilLost(ctx context.Context, cl client.Client) bool {
	ticker := time.NewTicker(livenessInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-cl.DisconnectNotify():
			return true
		case <-ticker.C:
			if cl.CurrentEndpoint() == "" {
				return true
			}
		}
	}
}

func (c *Connection) setCurrent(cl client.Client) {
	c.mu.Lock()
	c.current = cl
	c.mu.Unlock()
	c.notify()
}

func (c *Connection) notify() {
	c.mu.Lock()
	defer c.mu.Unlock()
	close(c.changed)
	c.changed = make(chan struct{})
}

func (c *Connection) snapshot() (client.Client, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current, c.changed
}

// waitFor calls condition with the connected client until it returns true or an error: now, and after every change of the
// database. It waits for the connection first.
func (c *Connection) waitFor(ctx context.Context, condition func(client.Client) (bool, error)) error {
	for {
		cl, changed := c.snapshot()
		if cl != nil {
			if ok, err := condition(cl); ok || err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
			return errConnectionClosed
		case <-ctx.Done():
			if cl == nil {
				return fmt.Errorf("no connection to OVSDB at %s: %w", c.address, ctx.Err())
			}
			return ctx.Err()
		}
	}
}
