// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"bufio"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/log/logtest"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// away and back are the log lines of an outage.
const away, back = "The OpenFlow switch cannot be reached", "The OpenFlow switch can be reached again"

// pipeSwitch is a switch for synctest bubbles: its connections are pipes.
type pipeSwitch struct {
	t      *testing.T
	opened atomic.Int64
	// refuses makes opening fail; ends closes each connection after the handshake; hung answers nothing.
	refuses, ends, hung atomic.Bool
}

func (p *pipeSwitch) open(context.Context) (net.Conn, error) {
	p.opened.Add(1)
	if p.refuses.Load() {
		return nil, errors.New("refused")
	}
	ours, theirs := net.Pipe()
	go p.serve(theirs)
	return ours, nil
}

func (p *pipeSwitch) serve(nc net.Conn) {
	defer nc.Close()
	answers := make(chan []byte, 1000)
	defer close(answers)
	// A pipe has no buffer: the goroutine that reads must not write.
	go func() {
		for answer := range answers {
			_, _ = nc.Write(answer)
		}
	}()
	for handshake := true; ; {
		m, err := readMessage(nc)
		if err != nil || (p.ends.Load() && !handshake) {
			return
		}
		if p.hung.Load() {
			continue
		}
		switch m.typ {
		case typeHello:
			answers <- goodHello()
		case typeEchoRequest:
			answers <- appendEchoReply(nil, m)
		case typeBarrierRequest:
			answers <- appendHeader(nil, version13, typeBarrierReply, 0, m.xid)
			if handshake = false; p.ends.Load() {
				answers <- []byte{byte(version13), typeBarrierReply, 0, 0, 0, 0, 0, 0}
			}
		}
	}
}

// TestReconnectionsAreRare has a switch that accepts connections and ends them at once, for an hour.
func TestReconnectionsAreRare(t *testing.T) {
	lines := logtest.Capture(t)
	synctest.Test(t, func(t *testing.T) {
		p := &pipeSwitch{t: t}
		c := newClient("test", dialer{open: p.open, echoInterval: echoInterval, version: version13})
		_, err := c.Connect(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, p.opened.Load())

		p.ends.Store(true)
		time.Sleep(3 * time.Second)
		synctest.Wait()
		require.LessOrEqual(t, p.opened.Load(), int64(12), "connections in the first 3 s")
		before := p.opened.Load()
		time.Sleep(time.Hour)
		require.LessOrEqual(t, p.opened.Load()-before, int64(3600), "connections in an hour")
		require.Len(t, lines(away), 1)

		p.refuses.Store(true)
		time.Sleep(time.Hour)
		require.ErrorContains(t, c.ConnectionError(), "refused")
		p.refuses.Store(false)
		p.ends.Store(false)
		time.Sleep(maxRetry + backoff.Lasting)
		synctest.Wait()
		require.NoError(t, c.ConnectionError())
		require.NoError(t, c.Close())
	})
	require.Len(t, lines(away), 1)
	require.Len(t, lines(back), 1)
	require.Len(t, lines(), 3, "and one line for the first connection: %q", lines())
}

// maxRetry is the time after which the return of the switch is noticed.
var maxRetry = backoff.Max + handshakeTimeout

// TestHungSwitch has a switch that reads everything and answers nothing.
func TestHungSwitch(t *testing.T) {
	lines := logtest.Capture(t)
	synctest.Test(t, func(t *testing.T) {
		p := &pipeSwitch{t: t}
		c := newClient("test", dialer{open: p.open, echoInterval: echoInterval, version: version13})
		reconnected, err := c.Connect(t.Context())
		require.NoError(t, err)
		time.Sleep(time.Hour)
		require.EqualValues(t, 1, p.opened.Load(), "echo replies keep an idle connection")

		p.hung.Store(true)
		began := time.Now()
		require.ErrorIs(t, c.Barrier(t.Context()), ErrDisconnected, "no answer will come")
		require.LessOrEqual(t, time.Since(began), (maxSilent+1)*echoInterval)
		require.GreaterOrEqual(t, time.Since(began), maxSilent*echoInterval)
		synctest.Wait()
		require.ErrorContains(t, c.ConnectionError(), "ovs-vswitchd has not answered an echo for 30s")
		began = time.Now()
		require.ErrorIs(t, c.Commit(t.Context(), adds(Flow{})), ErrDisconnected)
		require.Zero(t, time.Since(began), "later calls do not wait")
		time.Sleep(time.Hour)
		require.ErrorContains(t, c.ConnectionError(), "has not answered an echo for 30s")
		require.Empty(t, reconnected)

		p.hung.Store(false)
		time.Sleep(maxRetry + backoff.Lasting)
		require.NoError(t, c.Barrier(t.Context()))
		require.Len(t, reconnected, 1)
		require.NoError(t, c.Close())
	})
	require.Len(t, lines(away), 1)
	require.Contains(t, lines(away)[0], "has not answered an echo for 30s")
	require.Len(t, lines(back), 1)
	require.Len(t, lines(), 3, "%q", lines())
}

// TestEndlessMessage has a switch whose message never ends: echo replies become part of it and are not signs of life.
func TestEndlessMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := newConn(ours, version13, 1)
		c.wg.Add(3)
		go c.readLoop(bufio.NewReader(ours))
		go c.backgroundLoop()
		go c.echoLoop(echoInterval)
		_, err := theirs.Write([]byte{byte(version13), typeBarrierReply, 0xff, 0xff, 0, 0, 0, 1})
		require.NoError(t, err)
		go func() {
			for {
				m, err := readMessage(theirs)
				if err != nil {
					return
				}
				_, _ = theirs.Write(appendEchoReply(nil, m))
			}
		}()
		<-c.closed
		require.ErrorIs(t, c.reason(), errHung)
	})
}

// TestSlowReaderIsAlive has a switch that reads a large bundle in small pieces and sends nothing while it reads.
func TestSlowReaderIsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := newConn(ours, version13, 1)
		c.wg.Add(1)
		go c.echoLoop(echoInterval)
		written := make(chan error, 1)
		go func() { written <- c.write(t.Context(), make([]byte, 20*writeSize)) }()
		for range 20 {
			time.Sleep(2 * echoInterval)
			_, err := theirs.Read(make([]byte, writeSize))
			require.NoError(t, err)
		}
		require.NoError(t, <-written)
		time.Sleep((maxSilent + 1) * echoInterval)
		<-c.closed
		require.ErrorIs(t, c.reason(), errHung)
	})
}

// TestHungVswitchdOnOVS stops a real vswitchd in the middle of bundles. Each of them is applied as a whole or not at all, and
// no call waits longer than it takes to detect the hang.
func TestHungVswitchdOnOVS(t *testing.T) {
	lines := logtest.Capture(t)
	ovs := ovstest.Start(t)
	socket := ovs.AddBridge(testBridge, "OpenFlow13")
	s := newClient(socket, dialer{open: openUnix(socket), echoInterval: echoInterval, version: version13})
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	reconnected, err := s.Connect(t.Context())
	require.NoError(t, err)

	const size = 500
	failed := make(chan error, 1)
	go func() {
		for cookie := uint64(1); ; cookie++ {
			if err := s.Commit(t.Context(), adds(numbered(uint8(cookie%200), cookie, size)...)); err != nil {
				failed <- err
				return
			}
		}
	}()
	require.Eventually(t, func() bool { return len(ovs.DumpFlows(testBridge)) >= 3*size }, waitTime, time.Millisecond)
	ovs.HangVswitchd()
	// Only from here on silence is short: before, a busy machine is not taken for a hang.
	s.mu.Lock()
	hung := s.conn
	s.mu.Unlock()
	require.NotNil(t, hung)
	hung.wg.Add(1)
	go hung.echoLoop(500 * time.Millisecond)
	began := time.Now()
	require.ErrorIs(t, <-failed, ErrDisconnected)
	require.Less(t, time.Since(began), waitTime)
	require.ErrorContains(t, s.ConnectionError(), "ovs-vswitchd has not answered an echo for 3s")
	ctx, cancel := context.WithTimeout(t.Context(), waitTime)
	defer cancel()
	require.ErrorIs(t, s.Barrier(ctx), ErrDisconnected)
	require.NoError(t, ctx.Err())

	ovs.ResumeVswitchd()
	select {
	case <-reconnected:
	case <-time.After(waitTime):
		t.Fatal("no reconnection was reported")
	}
	require.NoError(t, s.ConnectionError())
	counts, err := s.TableFlowCounts(t.Context())
	require.NoError(t, err)
	for table, n := range counts {
		require.Zero(t, n%size, "table %d has a part of a bundle", table)
	}
	require.Eventually(t, func() bool { return len(lines(back)) == 1 }, waitTime, 10*time.Millisecond)
	require.Len(t, lines(away), 1)
	require.Contains(t, lines(away)[0], "has not answered an echo")
}
