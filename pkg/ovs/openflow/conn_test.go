// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"encoding/binary"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// script is the behavior of a switch in a test: it gets every message of the client after the hellos and the first barrier, and
// returns the bytes to send.
type script func(m message) []byte

// serve runs script on a unix socket, one connection after the other, and returns the socket's path.
func serve(t *testing.T, hello []byte, s script) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			converse(nc, hello, s)
			_ = nc.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return path
}

func converse(nc net.Conn, hello []byte, s script) {
	if _, err := nc.Write(hello); err != nil {
		return
	}
	first := true
	for {
		m, err := readMessage(nc)
		if err != nil {
			return
		}
		var out []byte
		switch {
		case m.typ == typeHello:
		case m.typ == typeBarrierRequest && first:
			first = false
			out = appendHeader(nil, version13, typeBarrierReply, 0, m.xid)
		default:
			if out = s(m); out == nil {
				continue
			}
		}
		if _, err := nc.Write(out); err != nil {
			return
		}
	}
}

func goodHello() []byte { return appendHello(nil, version13, 1) }

func connectScript(t *testing.T, s script) (Switch, <-chan struct{}) {
	t.Helper()
	c := NewSwitch(serve(t, goodHello(), s))
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	reconnected, err := c.Connect(t.Context())
	require.NoError(t, err)
	return c, reconnected
}

func TestHandshake(t *testing.T) {
	header := func(version, typ uint8, body ...byte) []byte {
		b := appendHeader(nil, version13, typ, len(body), 1)
		b[0] = version
		return append(b, body...)
	}
	for _, tc := range []struct {
		name, err string
		hello     []byte
	}{
		{"1.3 with bitmap", "", goodHello()},
		{"1.5 with 1.3 in the bitmap", "", header(6, typeHello, 0, 1, 0, 8, 0, 0, 0, 0b1010010)},
		{"unknown element before the bitmap", "", header(6, typeHello, 0, 9, 0, 5, 1, 0, 0, 0, 0, 1, 0, 8, 0, 0, 0, 1<<4)},
		{"1.3 without bitmap", "", header(4, typeHello)},
		{"1.5 without bitmap", "", header(6, typeHello)},
		{"1.0 without bitmap", "offers the OpenFlow version 1 at most", header(1, typeHello)},
		{"no 1.3 in the bitmap", "offers the OpenFlow versions 0b1000010", header(6, typeHello, 0, 1, 0, 8, 0, 0, 0, 0b1000010)},
		{"element too long", "element of length 9", header(4, typeHello, 0, 1, 0, 9, 0, 0, 0, 16)},
		{"element too short", "element of length 3", header(4, typeHello, 0, 1, 0, 3, 0, 0, 0, 16)},
		{"an error", "OFPHFC_INCOMPATIBLE", header(4, typeError, 0, 0, 0, 0)},
		{"something else", "first message has the type 6", header(4, 6)},
		{"length below the header's", "has the length 7", []byte{4, 0, 0, 7, 0, 0, 0, 1}},
		{"another version after the hello", "OpenFlow version 1", append(goodHello(), header(1, typeBarrierReply)...)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := testDial(t.Context(), openUnix(serve(t, tc.hello, nil)))
			if tc.err != "" {
				require.ErrorContains(t, err, tc.err)
				return
			}
			require.NoError(t, err)
			c.close(errClosed)
		})
	}
	t.Run("silence", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := testDial(ctx, openUnix(serve(t, nil, nil)))
		require.Error(t, err)
		require.Error(t, ctx.Err())
	})
}

func TestEchoIsAnsweredWithItsData(t *testing.T) {
	echoed := make(chan message, 1)
	c, _ := connectScript(t, func(m message) []byte {
		switch m.typ {
		case typeEchoReply:
			echoed <- m
			return nil
		case typeBarrierRequest:
			// The echo request comes in the middle of another transaction.
			b := append(appendHeader(nil, version13, typeEchoRequest, 3, 0xabcdef), "abc"...)
			return append(b, appendHeader(nil, version13, typeBarrierReply, 0, m.xid)...)
		}
		return nil
	})
	require.NoError(t, c.Barrier(t.Context()))
	m := <-echoed
	require.Equal(t, uint32(0xabcdef), m.xid)
	require.Equal(t, "abc", string(m.body))
}

func TestCanceledCommitIsDiscarded(t *testing.T) {
	controls := make(chan uint16, 10)
	ctx, cancel := context.WithCancel(t.Context())
	c, _ := connectScript(t, func(m message) []byte {
		if m.typ == typeExperimenter && binary.BigEndian.Uint32(m.body[4:]) == bundleControl {
			typ := binary.BigEndian.Uint16(m.body[12:])
			controls <- typ
			if typ == bundleClose {
				cancel()
			}
		}
		return nil
	})
	require.ErrorIs(t, c.Commit(ctx, adds(Flow{})), context.Canceled)
	for _, want := range []uint16{bundleOpen, bundleClose, bundleDiscard} {
		require.Equal(t, want, <-controls)
	}
	require.True(t, c.IsConnected(), "the connection outlives a canceled call")
	require.ErrorIs(t, c.Barrier(ctx), context.Canceled)
}

// TestStuckSwitch has a switch that stops reading: a canceled write ends the connection, and the client connects again.
func TestStuckSwitch(t *testing.T) {
	entered, stuck := make(chan struct{}, 1), make(chan struct{})
	c, reconnected := connectScript(t, func(message) []byte {
		select {
		case entered <- struct{}{}:
		default:
		}
		<-stuck
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		// The first message has arrived; the megabytes behind it do not fit the socket's buffer.
		<-entered
		cancel()
	}()
	err := c.Commit(ctx, adds(numbered(1, 1, 20000)...))
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, ErrDisconnected)
	close(stuck)
	select {
	case <-reconnected:
	case <-time.After(waitTime):
		t.Fatal("no reconnection")
	}
}

func reply(typ uint8, xid uint32, body ...byte) []byte {
	return append(appendHeader(nil, version13, typ, len(body), xid), body...)
}

// badReplies are wrong answers of a switch, with the error of a call.
var badReplies = []struct {
	name   string
	script script
	call   func(ctx context.Context, s Switch) error
	err    string
}{
	{"close answered by something else", func(m message) []byte {
		if m.typ == typeExperimenter && binary.BigEndian.Uint16(m.body[12:]) == bundleClose {
			return reply(typeBarrierReply, m.xid)
		}
		return nil
	}, commitOne, "gave no reply to the control message 2"},
	{"commit not answered before the barrier", func(m message) []byte {
		switch {
		case m.typ == typeBarrierRequest:
			return reply(typeBarrierReply, m.xid)
		case binary.BigEndian.Uint16(m.body[12:]) == bundleClose:
			return appendBundleControl(nil, version13, m.xid, binary.BigEndian.Uint32(m.body[8:]), bundleClose+1)
		}
		return nil
	}, commitOne, "gave no reply to the control message 4"},
	{"open refused", func(m message) []byte {
		switch binary.BigEndian.Uint16(m.body[12:]) {
		case bundleOpen:
			return reply(typeError, m.xid, 0xff, 0xff, 0x08, 0xfe, 0x4f, 0x4e, 0x46, 0)
		case bundleClose:
			return reply(typeError, m.xid, 0)
		}
		return nil
	}, commitOne, "OFPBFC_BAD_ID"},
	{"malformed error", func(m message) []byte { return reply(typeError, m.xid, 0, 1) }, commitOne, "malformed"},
	{"barrier refused", func(m message) []byte { return reply(typeError, m.xid, 0, 1, 0, 5) },
		func(ctx context.Context, s Switch) error { return s.Barrier(ctx) }, "OFPBRC_EPERM"},
	{"statistics of another type", func(m message) []byte { return reply(typeMultipartReply, m.xid, 0, 1, 0, 0, 0, 0, 0, 0) },
		countTables, "not a reply to a table statistics request"},
	{"statistics cut off", func(m message) []byte {
		return reply(typeMultipartReply, m.xid, 0, multipartTable, 0, 0, 0, 0, 0, 0, 1, 2, 3)
	}, countTables, "table statistics of 3 bytes"},
	{"statistics without end", func(m message) []byte {
		var b []byte
		for range 100 {
			b = append(b, reply(typeMultipartReply, m.xid, 0, multipartTable, 0, 1, 0, 0, 0, 0)...)
		}
		return b
	}, countTables, "more than 64 messages"},
	{"length 0", func(message) []byte { return []byte{4, typeBarrierReply, 0, 0, 0, 0, 0, 0} }, countTables, "has the length 0"},
	{"another version in mid-stream", func(m message) []byte {
		b := reply(typeBarrierReply, m.xid)
		b[0] = 1
		return b
	}, countTables, "has the OpenFlow version 1: want 4"},
	{"too short a length", func(m message) []byte { return []byte{4, typeBarrierReply, 0, 3, 0, 0, 0, 0} }, countTables, "has the length 3"},
}

// TestBadReplies has a switch that answers wrongly: no call must succeed or hang.
func TestBadReplies(t *testing.T) {
	for _, tc := range badReplies {
		t.Run(tc.name, func(t *testing.T) {
			c, _ := connectScript(t, tc.script)
			require.ErrorContains(t, tc.call(t.Context(), c), tc.err)
		})
	}
}

func commitOne(ctx context.Context, s Switch) error { return s.Commit(ctx, adds(Flow{})) }

func countTables(ctx context.Context, s Switch) error {
	_, err := s.TableFlowCounts(ctx)
	return err
}

func TestTransactionIDsWrapAround(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	c := newConn(a, version13, 0xfffffff0)
	first, err := c.begin(10)
	require.NoError(t, err)
	second, err := c.begin(10)
	require.NoError(t, err)
	require.Equal(t, uint32(0xfffffff9), first.last)
	require.Equal(t, uint32(1), second.first)
	c.end(first)
	c.end(second)
	require.Empty(t, c.calls)
}

// testDial makes a connection that speaks OpenFlow 1.3.
func testDial(ctx context.Context, open func(context.Context) (net.Conn, error)) (*conn, error) {
	d := dialer{open: open, echoInterval: echoInterval, version: version13}
	return d.dial(ctx)
}
