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

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// attemptTimeout bounds one attempt to connect and to read the monitored tables.
const attemptTimeout = 5 * time.Second

// backoff is short: the server is a process on the same machine, and an attempt costs little.
var backoff = retry.Backoff{Min: 100 * time.Millisecond, Max: 2 * time.Second, Lasting: 10 * time.Second}

var errConnectionClosed = errors.New("the OVSDB connection was closed")

// Connection is a monitored OVSDB session that reconnects by itself. Every (re)connection uses a new libovsdb client,
// because the library's own reconnection cannot be stopped while the server is away.
type Connection struct {
	address string
	model   model.ClientDBModel
	// peer is used only by the goroutine that connects.
	peer *retry.Peer

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	mu sync.Mutex
	// current is nil while disconnected; lastErr is the reason, if known.
	current client.Client
	lastErr error
	// changed is closed and replaced at every change of the database copy or of the connection.
	changed chan struct{}
}

// NewOVSDBConnection connects to ovsdb-server at address ("unix:/var/run/openvswitch/db.sock"). While the server is
// absent it keeps trying, with a growing delay, until ctx ends. It logs one line when the server is absent, does not
// answer, or sends invalid messages, and one when it works again. ctx bounds only the first connection; Close ends the
// connection.
func NewOVSDBConnection(ctx context.Context, address string) (*Connection, error) {
	if path, ok := strings.CutPrefix(address, "unix:"); !ok || !strings.HasPrefix(path, "/") {
		return nil, fmt.Errorf("OVSDB address %q: want unix: and an absolute path, such as unix:/var/run/openvswitch/db.sock", address)
	}
	m, err := newDatabaseModel()
	if err != nil {
		return nil, err
	}
	c := &Connection{
		address: address, model: m, done: make(chan struct{}), changed: make(chan struct{}),
		peer: retry.NewPeer("OVSDB", backoff, "address", address),
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	s, err := c.connect(ctx)
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.setCurrent(s, nil)
	go c.supervise(s)
	return c, nil
}

// Close ends the session. Operations that wait for it return an error.
func (c *Connection) Close() {
	c.cancel()
	<-c.done
}

// guarded is a client and the guard between it and the server.
type guarded struct {
	client.Client
	guard *guard
}

// end closes both, for the reason err.
func (g *guarded) end(err error) {
	// The guard goes first: then the client does not wait for anything while it closes.
	g.guard.close(err)
	g.Close()
}

// connect tries until it succeeds or ctx ends.
func (c *Connection) connect(ctx context.Context) (*guarded, error) {
	var last error
	for {
		g, err := c.attempt(ctx)
		if err == nil {
			return g, nil
		}
		// The error of an attempt that ctx has cut short is less useful than an earlier error.
		if ctx.Err() == nil || last == nil {
			last = err
		}
		err = last
		c.setCurrent(nil, err)
		if ctx.Err() == nil {
			_ = retry.Sleep(ctx, c.peer.Failed(err))
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("connect to OVSDB at %s: %w (last attempt: %w)", c.address, ctx.Err(), err)
		}
	}
}

func (c *Connection) attempt(ctx context.Context) (*guarded, error) {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	guard, socket, err := newGuard(ctx, strings.TrimPrefix(c.address, "unix:"), c.model)
	if err != nil {
		return nil, err
	}
	// The guard ends the attempt, because libovsdb continues to write into the answer to a call whose context has ended.
	stop := context.AfterFunc(ctx, func() { guard.close(fmt.Errorf("wait for the answers of ovsdb-server: %w", ctx.Err())) })
	defer stop()
	cl, err := c.open(context.WithoutCancel(ctx), "unix:"+socket, guard.connected)
	if err != nil {
		// Either the guard or the client has ended the connection, and knows the reason.
		if reason := guard.reason(); reason != nil && !errors.Is(reason, errReadLibrary) {
			err = reason
		}
		guard.close(err)
		return nil, err
	}
	return &guarded{cl, guard}, nil
}

// open returns a client that has read the monitored tables. It closes connected when the client's Connect has returned.
func (c *Connection) open(ctx context.Context, address string, connected chan<- struct{}) (client.Client, error) {
	logger := klog.Background().WithName("libovsdb")
	cl, err := client.NewOVSDBClient(c.model, client.WithEndpoint(address), client.WithLogger(&logger))
	if err != nil {
		return nil, err
	}
	err = cl.Connect(ctx)
	close(connected)
	if err != nil {
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

func (c *Connection) supervise(g *guarded) {
	defer close(c.done)
	for c.watch(g) {
		reason := g.guard.reason()
		c.setCurrent(nil, reason)
		g.end(reason)
		if retry.Sleep(c.ctx, c.peer.Failed(reason)) != nil {
			return
		}
		next, err := c.connect(c.ctx)
		if err != nil {
			return
		}
		g = next
		c.setCurrent(g, nil)
	}
	c.setCurrent(nil, errConnectionClosed)
	g.end(errConnectionClosed)
}

// watch returns true when the connection has ended, and false when Close was called.
func (c *Connection) watch(g *guarded) bool {
	settled := time.NewTimer(c.peer.Connected())
	defer settled.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return false
		case <-g.guard.closed:
			return true
		case <-g.DisconnectNotify():
			// The client has ended it, for example because its copy has become inconsistent.
			g.guard.close(errors.New("the OVSDB client has ended the connection"))
			return true
		case <-settled.C:
			c.peer.Settle()
		}
	}
}

func (c *Connection) setCurrent(cl client.Client, err error) {
	c.mu.Lock()
	c.current, c.lastErr = cl, err
	c.mu.Unlock()
	c.notify()
}

// disconnected says why there is no connection.
func (c *Connection) disconnected() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lastErr
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

// waitFor calls condition with the connected client, now and after every change of the database, until it returns true or
// an error. It first waits for the connection.
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
				return fmt.Errorf("no connection to OVSDB at %s: %w (%w)", c.address, ctx.Err(), c.disconnected())
			}
			return ctx.Err()
		}
	}
}
