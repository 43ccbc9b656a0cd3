// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// grace limits the time for a command to end after SIGTERM.
const grace = 20 * time.Second

// Server runs the commands that clients ask for, as the server's own user.
type Server struct {
	secret string

	mu       sync.Mutex
	closed   bool
	sessions map[net.Conn]bool
	wg       sync.WaitGroup
}

// NewServer returns a server that accepts only requests with this secret.
func NewServer(secret string) *Server {
	return &Server{secret: secret, sessions: map[net.Conn]bool{}}
}

// Serve accepts connections until the listener is closed.
func (s *Server) Serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accepting a command connection: %w", err)
		}
		if !s.add(conn) {
			conn.Close()
			return nil
		}
		go func() {
			defer s.wg.Done()
			s.handle(conn)
			s.mu.Lock()
			delete(s.sessions, conn)
			s.mu.Unlock()
			conn.Close()
		}()
	}
}

func (s *Server) add(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.sessions[conn] = true
	s.wg.Add(1)
	return true
}

// Close ends all commands that run and waits for them. The listener is the caller's to close.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	for conn := range s.sessions {
		conn.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *Server) handle(conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(30 * time.Second)) // fails only on a closed connection: the read says so
	t, payload, err := readFrame(conn)
	if err != nil || t != frameRequest {
		return
	}
	var req request
	if json.Unmarshal(payload, &req) != nil || subtle.ConstantTimeCompare([]byte(req.Secret), []byte(s.secret)) != 1 {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	out := &frameWriter{w: conn}
	cmd, err := start(req, out)
	if err != nil {
		_ = out.writeJSON(frameExit, exitStatus{Error: err.Error()})
		return
	}
	go func() {
		cmd.serveInput(conn)
		// The client is gone, or sent nonsense.
		_ = cmd.Stop(grace)
	}()
	code := cmd.ExitCode()
	cmd.finish()
	_ = out.writeJSON(frameExit, exitStatus{Code: code}) // a client that is gone needs no status
}

// command is a process with its input, and its terminal if it has one.
type command struct {
	*proc.Process
	input    *input
	terminal *os.File
	copied   chan struct{} // closed when all output of the terminal is sent
}

func start(req request, out *frameWriter) (*command, error) {
	if len(req.Args) == 0 {
		return nil, errors.New("no command given")
	}
	cmd := exec.Command(req.Args[0], req.Args[1:]...)
	cmd.Env, cmd.Dir = req.Env, req.Dir
	if req.TTY != nil {
		return startTTY(cmd, *req.TTY, stream{out, frameStdout})
	}
	cmd.Stdout, cmd.Stderr = stream{out, frameStdout}, stream{out, frameStderr}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	p, err := proc.Start(cmd)
	if err != nil {
		return nil, err
	}
	return &command{Process: p, input: newInput(stdin)}, nil
}

func startTTY(cmd *exec.Cmd, size Size, out io.Writer) (*command, error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("opening a pseudo terminal: %w", err)
	}
	defer slave.Close()
	if err := setSize(master, size); err != nil {
		master.Close()
		return nil, fmt.Errorf("setting the terminal size to %+v: %w", size, err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p, err := proc.Start(cmd)
	if err != nil {
		master.Close()
		return nil, err
	}
	c := &command{Process: p, input: newInput(master), terminal: master, copied: make(chan struct{})}
	go func() {
		defer close(c.copied)
		_, _ = io.Copy(out, master) // ends with EIO when the last process has closed the terminal
	}()
	return c, nil
}

// setSize is pty.Setsize for a file that another goroutine may close.
func setSize(terminal *os.File, size Size) error {
	raw, err := terminal.SyscallConn()
	if err != nil {
		return err
	}
	var result error
	err = raw.Control(func(fd uintptr) {
		result = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: size.Rows, Col: size.Cols})
	})
	return errors.Join(err, result)
}

// serveInput handles the client's frames until the connection ends.
func (c *command) serveInput(conn io.Reader) {
	for {
		t, payload, err := readFrame(conn)
		if err != nil {
			return
		}
		switch t {
		case frameStdin:
			c.input.write(payload)
		case frameStdinClose:
			if c.terminal == nil { // closing a terminal would hang up the command
				c.input.close()
			}
		case frameResize:
			var size Size
			if c.terminal != nil && json.Unmarshal(payload, &size) == nil {
				_ = setSize(c.terminal, size) // fails only when the command has just ended
			}
		case frameSignal:
			if len(payload) == 1 {
				_ = c.Signal(syscall.Signal(payload[0]))
			}
		default:
			return
		}
	}
}

// finish sends the rest of a terminal's output and then releases the input, which is the terminal itself.
func (c *command) finish() {
	if c.terminal != nil {
		select {
		case <-c.copied:
		case <-time.After(2 * time.Second): // a background process of the session still has the terminal open
		}
		defer c.terminal.Close()
	}
	c.input.close()
}
