// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// backoff is short: the switch is a process on the same machine, an attempt costs little, and without it there are no flows.
var backoff = retry.Backoff{Min: 100 * time.Millisecond, Max: 2 * time.Second, Lasting: 10 * time.Second}

// errClosed is the reason why a closed client is not connected.
var errClosed = errors.New("the client is closed")

// client is the real Switch.
type client struct {
	path        string
	dialer      dialer
	reconnected chan struct{}
	// ctx ends with Close.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	// peer is used only by the goroutine that connects.
	peer *retry.Peer

	mu         sync.Mutex
	connecting bool
	conn       *conn
	// dialErr is why the last attempt to connect failed, nil after a successful one.
	dialErr error
	// subscriptions end with Close.
	subscriptions []*PacketIns
}

var _ Switch = (*client)(nil)

// NewSwitch returns a Switch for the unix socket at socketPath, <OVS rundir>/<bridge>.mgmt. It does nothing until
// Connect is called.
func NewSwitch(socketPath string, options ...Option) Switch {
	d := dialer{open: openUnix(socketPath), echoInterval: echoInterval, version: version13}
	for _, option := range options {
		option(&d)
	}
	return newClient(socketPath, d)
}

// Option configures a Switch.
type Option func(*dialer)

// WithOpenFlow15 makes the Switch speak OpenFlow 1.5 instead of 1.3: groups can have a Selection, and the switch stores and reports
// LoadField of a whole field as SetField.
func WithOpenFlow15() Option { return func(d *dialer) { d.version = version15 } }

func newClient(name string, d dialer) *client {
	ctx, cancel := context.WithCancel(context.Background())
	return &client{
		path: name, reconnected: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
		dialer: d, peer: retry.NewPeer("The OpenFlow switch", backoff, "socket", name),
	}
}

// Connect implements Switch. It may be called again only if it returned an error.
func (s *client) Connect(ctx context.Context) (<-chan struct{}, error) {
	s.mu.Lock()
	if s.connecting {
		s.mu.Unlock()
		return nil, fmt.Errorf("connect to the OpenFlow switch at %s: already connecting or connected", s.path)
	}
	s.connecting = true
	s.mu.Unlock()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	c, err := s.dialUntil(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	// Close cancels s.ctx under the same lock: either that has happened, or Close waits for maintain.
	if err == nil && s.ctx.Err() != nil {
		c.close(errClosed)
		err = ctx.Err()
	}
	if err != nil {
		s.connecting = false
		if s.ctx.Err() != nil {
			err = errClosed
		}
		return nil, fmt.Errorf("connect to the OpenFlow switch at %s: %w", s.path, err)
	}
	klog.InfoS("Connected to the OpenFlow switch", "socket", s.path)
	s.conn = c
	s.wg.Add(1)
	go s.maintain(c)
	return s.reconnected, nil
}

// dialUntil dials until it succeeds or ctx ends.
func (s *client) dialUntil(ctx context.Context) (*conn, error) {
	for {
		c, err := s.dialer.dial(ctx)
		s.setDialError(err)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w, last error: %w", ctx.Err(), err)
		}
		if ctxErr := retry.Sleep(ctx, s.peer.Failed(err)); ctxErr != nil {
			return nil, fmt.Errorf("%w, last error: %w", ctxErr, err)
		}
	}
}

func (s *client) setDialError(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialErr = err
}

// maintain replaces the connection whenever it ends, until Close.
func (s *client) maintain(c *conn) {
	defer s.wg.Done()
	for s.watch(c) {
		c.wg.Wait()
		if retry.Sleep(s.ctx, s.peer.Failed(c.reason())) != nil {
			return
		}
		next, err := s.dialUntil(s.ctx)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conn = next
		s.mu.Unlock()
		c = next
		select {
		case s.reconnected <- struct{}{}:
		default:
		}
	}
}

// watch returns true when the connection has ended, and false when the client was closed.
func (s *client) watch(c *conn) bool {
	settled := time.NewTimer(s.peer.Connected())
	defer settled.Stop()
	for {
		select {
		case <-c.closed:
			return true
		case <-settled.C:
			s.peer.Settle()
		case <-s.ctx.Done():
			c.close(errClosed)
			return false
		}
	}
}

// current returns the connection, which may have ended in the meantime.
func (s *client) current() (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		if s.dialErr != nil {
			return nil, fmt.Errorf("OpenFlow switch at %s: %w: %w", s.path, ErrDisconnected, s.dialErr)
		}
		return nil, fmt.Errorf("OpenFlow switch at %s: %w", s.path, ErrDisconnected)
	}
	return s.conn, nil
}

// IsConnected implements Switch.
func (s *client) IsConnected() bool { return s.ConnectionError() == nil }

// ConnectionError implements Switch. The error says why the connection ended and why the last attempt to connect again failed.
func (s *client) ConnectionError() error {
	c, err := s.current()
	if err != nil {
		return err
	}
	select {
	case <-c.closed:
	default:
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dialErr != nil {
		return fmt.Errorf("%w; last attempt to connect: %w", c.disconnected(), s.dialErr)
	}
	return c.disconnected()
}

// Close implements Switch. It ends all waiting calls with ErrDisconnected, and may be called again.
func (s *client) Close() error {
	s.mu.Lock()
	s.cancel()
	subscriptions := s.subscriptions
	s.subscriptions = nil
	s.mu.Unlock()
	for _, p := range subscriptions {
		p.Close()
	}
	s.wg.Wait()
	return nil
}
