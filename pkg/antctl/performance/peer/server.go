// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sync/errgroup"
)

// patience is the time for which a client or a server waits for the other.
const patience = 5 * time.Second

// Server answers clients.
type Server struct {
	tcp net.Listener
	udp net.PacketConn
}

// Listen opens the port of an address (host:port) for TCP and UDP. With port 0 the system chooses one.
func Listen(address string) (*Server, error) {
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	udp, err := net.ListenPacket("udp", tcp.Addr().String())
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	return &Server{tcp, udp}, nil
}

// Address returns the address on which the server listens.
func (s *Server) Address() string { return s.tcp.Addr().String() }

// Serve answers clients until ctx ends, which is not an error.
func (s *Server) Serve(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	defer context.AfterFunc(ctx, func() {
		s.tcp.Close()
		s.udp.Close()
	})()
	group.Go(func() error { return s.serveTCP(ctx) })
	group.Go(s.serveUDP)
	if err := group.Wait(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

func (s *Server) serveTCP(ctx context.Context) error {
	for {
		conn, err := s.tcp.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { conn.Close() })()
			_ = answer(conn) // the client knows what is missing
		}()
	}
}

func (s *Server) serveUDP() error {
	message := make([]byte, MessageBytes+1)
	for {
		n, from, err := s.udp.ReadFrom(message)
		if err != nil {
			return err
		}
		if n != MessageBytes || message[0] != kindEcho {
			continue
		}
		message[0] = kindAnswer
		_, _ = s.udp.WriteTo(message[:n], from) // the client counts lost answers
	}
}

// answer serves a connection.
func answer(conn net.Conn) error {
	message := make([]byte, MessageBytes)
	if err := read(conn, message[:1]); err != nil {
		return err
	}
	switch kind := message[0]; kind {
	case kindEcho, kindExchange:
		return echo(conn, message)
	case kindSink:
		return sink(conn)
	case kindCPU:
		used, err := ReadCPUTime()
		if err != nil {
			return err
		}
		return json.NewEncoder(conn).Encode(used)
	default:
		return fmt.Errorf("a client wants %q, which is not a kind", kind)
	}
}

// echo sends messages back, of which the first byte has been read.
func echo(conn net.Conn, message []byte) error {
	begun := 1
	for {
		if err := read(conn, message[begun:]); err != nil {
			return err
		}
		if err := write(conn, message); err != nil || message[0] == kindExchange {
			return err
		}
		begun = 0
	}
}

func sink(conn net.Conn) error {
	buffer := make([]byte, streamBytes)
	for total := uint64(0); ; {
		if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
			return err
		}
		n, err := conn.Read(buffer)
		total += uint64(n)
		if errors.Is(err, io.EOF) {
			return write(conn, binary.BigEndian.AppendUint64(nil, total))
		}
		if err != nil {
			return err
		}
	}
}

func read(conn net.Conn, message []byte) error {
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, message)
	return err
}

func write(conn net.Conn, message []byte) error {
	if err := conn.SetWriteDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := conn.Write(message)
	return err
}
