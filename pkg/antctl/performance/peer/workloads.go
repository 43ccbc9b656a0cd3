// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

const (
	// streamBytes is the length of a write of TCPStream, and of the server's reads.
	streamBytes = 128 << 10
	// lostAfter is the time after which a datagram counts as lost.
	lostAfter = 200 * time.Millisecond
)

// during calls transact until the time has passed or ctx ends, and notes how long each call takes.
func (m *meter) during(ctx context.Context, transact func() error) error {
	for end := time.Now().Add(m.duration); time.Now().Before(end); {
		if err := ctx.Err(); err != nil {
			return err
		}
		begin := time.Now()
		if err := transact(); err != nil {
			return err
		}
		m.samples = append(m.samples, time.Since(begin))
	}
	return nil
}

func (m *meter) tcpRoundTrips(ctx context.Context) error {
	conn, err := dial(ctx, "tcp", m.to)
	if err != nil {
		return err
	}
	defer conn.Close()
	message, answer := request(kindEcho), make([]byte, MessageBytes)
	return m.during(ctx, func() error {
		if err := write(conn, message); err != nil {
			return err
		}
		return read(conn, answer)
	})
}

func (m *meter) udpRoundTrips(ctx context.Context) error {
	conn, err := dial(ctx, "udp", m.to)
	if err != nil {
		return err
	}
	defer conn.Close()
	err = m.during(ctx, func() error { return m.datagram(conn) })
	if err == nil && len(m.samples) <= m.lost {
		return fmt.Errorf("no answer to %d datagrams", m.lost)
	}
	return err
}

// datagram exchanges one datagram; each has a number, since the answer to a former one can come late.
func (m *meter) datagram(conn net.Conn) error {
	message, answer := request(kindEcho), make([]byte, MessageBytes)
	number := message[1:9]
	binary.BigEndian.PutUint64(number, uint64(len(m.samples)))
	if err := conn.SetDeadline(time.Now().Add(lostAfter)); err != nil {
		return err
	}
	if _, err := conn.Write(message); err != nil {
		return err
	}
	for {
		n, err := conn.Read(answer)
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			m.lost++
			return nil
		case err != nil:
			return err
		case n == MessageBytes && answer[0] == kindAnswer && [8]byte(answer[1:9]) == [8]byte(number):
			return nil
		}
	}
}

func (m *meter) tcpStream(ctx context.Context) error {
	conn, err := dial(ctx, "tcp", m.to)
	if err != nil {
		return err
	}
	defer conn.Close()
	chunk := make([]byte, streamBytes)
	chunk[0] = kindSink
	for end := time.Now().Add(m.duration); time.Now().Before(end); {
		if err := errors.Join(ctx.Err(), write(conn, chunk)); err != nil {
			return err
		}
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	var total [8]byte
	if err := read(conn, total[:]); err != nil {
		return err
	}
	m.bytes = binary.BigEndian.Uint64(total[:])
	return nil
}

func (m *meter) tcpConnections(ctx context.Context) error {
	message, answer := request(kindExchange), make([]byte, MessageBytes+1)
	return m.during(ctx, func() error {
		conn, err := dial(ctx, "tcp", m.to)
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := write(conn, message); err != nil {
			return err
		}
		n, err := io.ReadFull(conn, answer) // until the server's FIN
		if !errors.Is(err, io.ErrUnexpectedEOF) || n != MessageBytes {
			return fmt.Errorf("an answer of %d bytes instead of %d: %w", n, MessageBytes, err)
		}
		return nil
	})
}
