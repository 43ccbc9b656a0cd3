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
)

const (
	// minRetryDelay and maxRetryDelay bound the pause between two attempts to connect, which doubles each time.
	minRetryDelay = 100 * time.Millisecond
	maxRetryDelay = 2 * time.Second
	// retryLogInterval is how often failing attempts are logged.
	retryLogInterval = 5 * time.Second
)

// errClosed is why a client that was closed is not connected.
var errClosed = errors.New("the client is closed")

// client is the real Switch.
type client struct {
	path        string
	reconnected chan struct{}
	// ctx ends with Close.
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu         sync.Mutex
	connecting bool
	conn       *conn
}

var _ Switch = (*client)(nil)

// NewSwitch returns a Switch for the unix socket at socketPath, <OVS rundir>/<bridge>.mgmt. It does nothing until
// Connect is called.
func NewSwitch(socketPath string) Switch {
	ctx, cancel := context.WithCancel(context.Background())
	return &client{path: socketPath, reconnected: make(chan struct{}, 1), ctx: ctx, cancel: cancel}
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
	// Close looks at conn under the same lock: it sees this one, or this sees that Close was called.
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
	delay := minRetryDelay
	var logged time.Time
	for {
		c, err := dial(ctx, s.path)
		if err == nil {
			return c, nil
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w, last error: %w", ctx.Err(), err)
		}
		if now := time.Now(); now.Sub(logged) >= retryLogInterval {
			logged = now
			klog.ErrorS(err, "Failed to connect to the OpenFlow switch, trying again", "socket", s.path)
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
		}
		delay = min(2*delay, maxRetryDelay)
	}
}

// maintain replaces the connection whenever it ends, until Close.
func (s *client) maintain(c *conn) {
	defer s.wg.Done()
	for {
		select {
		case <-c.closed:
		case <-s.ctx.Done():
			c.close(errClosed)
			return
		}
		c.wg.Wait()
		klog.ErrorS(c.disconnected(), "Lost the connection to the OpenFlow switch", "socket", s.path)
		next, err := s.dialUntil(s.ctx)
		if err != nil {
			return
		}
		klog.InfoS("Connected to the OpenFlow switch again", "socket", s.path)
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

// current returns the connection, which may have ended in the meantime.
func (s *client) current() (*conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil, fmt.Errorf("OpenFlow switch at %s: %w", s.path, ErrDisconnected)
	}
	return s.conn, nil
}

// Commit implements Switch.
func (s *client) Commit(ctx context.Context, mods []FlowMod) error {
	if len(mods) == 0 {
		return nil
	}
	c, err := s.current()
	if err != nil {
		return err
	}
	return c.commit(ctx, mods)
}

// Barrier implements Switch.
func (s *client) Barrier(ctx context.Context) error {
	c, err := s.current()
	if err != nil {
		return err
	}
	return c.barrier(ctx)
}

// TableFlowCounts implements Switch.
func (s *client) TableFlowCounts(ctx context.Context) (map[uint8]int, error) {
	c, err := s.current()
	if err != nil {
		return nil, err
	}
	return c.tableFlowCounts(ctx)
}

// IsConnected implements Switch.
func (s *client) IsConnected() bool {
	c, err := s.current()
	if err != nil {
		return false
	}
	select {
	case <-c.closed:
		return false
	default:
		return true
	}
}

// Close implements Switch. It ends everything that waits, with ErrDisconnected, and may be called again.
func (s *client) Close() error {
	s.mu.Lock()
	s.cancel()
	s.mu.Unlock()
	s.wg.Wait()
	return nil
}
