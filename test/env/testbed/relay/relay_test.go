// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	return l
}

// echo returns a client's bytes once the client has sent all of them.
func echo(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			data, err := io.ReadAll(conn)
			if err == nil {
				_, _ = conn.Write(data) // the client notices missing bytes
			}
		}()
	}
}

func TestForwardsBothWaysAndTheEndOfEither(t *testing.T) {
	target := listen(t)
	go echo(target)
	l := listen(t)
	r := New(l, func() (net.Conn, error) { return net.Dial("tcp", target.Addr().String()) })
	defer r.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Write([]byte("hello"))
	require.NoError(t, err)
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
}

func TestClosesTheClientWhenTheTargetIsDown(t *testing.T) {
	l := listen(t)
	r := New(l, func() (net.Conn, error) { return nil, errors.New("down") })
	defer r.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.Read(make([]byte, 1))
	require.Error(t, err)
}

func TestCloseEndsConnections(t *testing.T) {
	target := listen(t)
	l := listen(t)
	r := New(l, func() (net.Conn, error) { return net.Dial("tcp", target.Addr().String()) })
	conn, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer conn.Close()
	behind, err := target.Accept()
	require.NoError(t, err)
	defer behind.Close()
	_, err = conn.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(behind, make([]byte, 1)) // then the relay has both connections
	require.NoError(t, err)
	r.Close()
	for _, c := range []net.Conn{conn, behind} {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(10*time.Second)))
		_, err := c.Read(make([]byte, 1))
		require.Error(t, err)
		require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is still open")
	}
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
}
