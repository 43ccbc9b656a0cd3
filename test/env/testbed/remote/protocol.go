// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package remote runs commands at the other end of a TCP connection. The testbed runs commands in its machines with it.
//
// One connection carries one command. Both sides send frames: type (1 byte), payload length (4 bytes, big endian), payload.
// The first frame is the client's request with the shared secret; a server that does not know the secret closes the
// connection without an answer. A command ends at the latest when its connection does.
package remote

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Endpoint is the address at which a Server listens ("host:port") and the secret that it accepts.
type Endpoint struct {
	Address string `json:"address"`
	Secret  string `json:"secret"`
}

// Size is the size of a terminal in characters.
type Size struct {
	Rows uint16 `json:"rows"`
	Cols uint16 `json:"cols"`
}

type request struct {
	Secret string   `json:"secret"`
	Args   []string `json:"args"`
	Env    []string `json:"env"`
	Dir    string   `json:"dir"`
	// TTY asks for a pseudo terminal of this size; all output then arrives as stdout.
	TTY *Size `json:"tty,omitempty"`
}

type exitStatus struct {
	Code int `json:"code"`
	// Error says why the command could not be started; Code is meaningless then.
	Error string `json:"error,omitempty"`
}

type frameType byte

const (
	frameRequest    frameType = 'R' // client: request, JSON
	frameStdin      frameType = 'i' // client: bytes
	frameStdinClose frameType = 'c' // client: empty
	frameResize     frameType = 'w' // client: Size, JSON
	frameSignal     frameType = 's' // client: signal number, 1 byte
	frameStdout     frameType = 'o' // server: bytes
	frameStderr     frameType = 'e' // server: bytes
	frameExit       frameType = 'x' // server: exitStatus, JSON; the last frame
)

const maxFrame = 1 << 20

// frameWriter writes whole frames from several goroutines.
type frameWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frameWriter) write(t frameType, payload []byte) error {
	buf := make([]byte, 5+len(payload))
	buf[0] = byte(t)
	binary.BigEndian.PutUint32(buf[1:], uint32(len(payload)))
	copy(buf[5:], payload)
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err := f.w.Write(buf)
	return err
}

func (f *frameWriter) writeJSON(t frameType, v any) error {
	payload, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return f.write(t, payload)
}

// stream is an io.Writer that sends bytes as frames of one type.
type stream struct {
	to *frameWriter
	t  frameType
}

func (s stream) Write(p []byte) (int, error) {
	for done := 0; done < len(p); {
		n := min(len(p)-done, maxFrame)
		if err := s.to.write(s.t, p[done:done+n]); err != nil {
			return done, err
		}
		done += n
	}
	return len(p), nil
}

func readFrame(r io.Reader) (frameType, []byte, error) {
	var header [5]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(header[1:])
	if size > maxFrame {
		return 0, nil, fmt.Errorf("frame of %d bytes, at most %d are allowed", size, maxFrame)
	}
	payload := make([]byte, size)
	_, err := io.ReadFull(r, payload)
	return frameType(header[0]), payload, err
}
