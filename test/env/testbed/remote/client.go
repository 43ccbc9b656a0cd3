// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// Command is a command for Run.
type Command struct {
	// Args are the program and its arguments; a program without a slash is looked up in the server's PATH.
	Args []string
	// Env is the whole environment ("KEY=value").
	Env []string
	// Dir is the working directory, "" for the server's own.
	Dir string
	// Stdin is sent until it ends; nil is an empty input. Run does not wait for its end when the command has ended.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// TTY, when set, gives the command a pseudo terminal; its output arrives at Stdout. Resize changes its size.
	TTY    *Size
	Resize <-chan Size
}

// Run runs a command and returns its exit code (128 + signal number if a signal ended it). The error says that the command
// could not be run, or that the connection was lost. When ctx ends the command gets SIGTERM, and SIGKILL if it does not
// end; Run then returns ctx's error.
func Run(ctx context.Context, to Endpoint, cmd Command) (int, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", to.Address)
	if err != nil {
		return 0, fmt.Errorf("connecting to the command server: %w", err)
	}
	defer conn.Close()
	out := &frameWriter{w: conn}
	req := request{Secret: to.Secret, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, TTY: cmd.TTY}
	if err := out.writeJSON(frameRequest, req); err != nil {
		return 0, fmt.Errorf("sending the command: %w", err)
	}
	ended := make(chan struct{})
	defer close(ended)
	go cancel(ctx, ended, conn, out)
	go sendInput(cmd.Stdin, out)
	if cmd.Resize != nil {
		go sendSizes(cmd.Resize, ended, out)
	}
	status, err := receive(conn, cmd)
	switch {
	case ctx.Err() != nil:
		return 0, fmt.Errorf("running %q: %w", cmd.Args, ctx.Err())
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET):
		return 0, fmt.Errorf("running %q: the command server closed the connection (wrong secret, or it ended)", cmd.Args)
	case err != nil:
		return 0, fmt.Errorf("running %q: %w", cmd.Args, err)
	case status.Error != "":
		return 0, fmt.Errorf("running %q: %s", cmd.Args, status.Error)
	}
	return status.Code, nil
}

// receive copies output until the exit status arrives.
func receive(conn io.Reader, cmd Command) (exitStatus, error) {
	var status exitStatus
	for {
		t, payload, err := readFrame(conn)
		if err != nil {
			return status, err
		}
		switch t {
		case frameStdout:
			err = write(cmd.Stdout, payload)
		case frameStderr:
			err = write(cmd.Stderr, payload)
		case frameExit:
			return status, json.Unmarshal(payload, &status)
		default:
			err = fmt.Errorf("unexpected frame type %q from the command server", t)
		}
		if err != nil {
			return status, err
		}
	}
}

func write(w io.Writer, p []byte) error {
	if w == nil {
		return nil
	}
	_, err := w.Write(p)
	return err
}

func cancel(ctx context.Context, ended <-chan struct{}, conn net.Conn, out *frameWriter) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = out.write(frameSignal, []byte{byte(syscall.SIGTERM)})
	select {
	case <-ended:
	case <-time.After(grace):
		conn.Close()
	}
}

func sendInput(in io.Reader, out *frameWriter) {
	if in != nil {
		if _, err := io.Copy(stream{out, frameStdin}, in); err != nil {
			return
		}
	}
	_ = out.write(frameStdinClose, nil) // the receiving side reports a lost connection
}

func sendSizes(sizes <-chan Size, ended <-chan struct{}, out *frameWriter) {
	for {
		select {
		case <-ended:
			return
		case size := <-sizes:
			if out.writeJSON(frameResize, size) != nil {
				return
			}
		}
	}
}
