// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/ovs/ofctl"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// stopGrace limits the time for a program that a test has started to end after SIGTERM.
const stopGrace = 10 * time.Second

// Space is a set of namespaces in which programs run: a Node, a Pod, or a part of the network around them. Programs die
// with the space, and with this process.
type Space struct {
	// Name is the name of the space in errors: "node-1", "default/client", "internet".
	Name string

	thread *proc.Thread
	// netns, when set, is the network namespace instead of the thread's own.
	netns *os.File
	env   []string

	mu      sync.Mutex
	running map[*Process]struct{}
}

func newSpace(name string, thread *proc.Thread, netns *os.File, env []string) *Space {
	return &Space{Name: name, thread: thread, netns: netns, env: env, running: map[*Process]struct{}{}}
}

// NewSpace returns a space with the namespaces of a thread, for callers that do not make Nodes with New.
func NewSpace(name string, thread *proc.Thread) *Space { return newSpace(name, thread, nil, nil) }

// Do runs fn in the namespaces of the space, on a thread that it shares with everything else that is started there. So fn must
// be short, must not start goroutines that need the namespaces, and must not end its goroutine (testing.T.FailNow). Files and
// sockets that it opens can be used anywhere afterwards.
func (s *Space) Do(fn func() error) error {
	return s.thread.Do(func() (err error) {
		if s.netns == nil {
			return fn()
		}
		own, err := os.Open("/proc/thread-self/ns/net")
		if err != nil {
			return err
		}
		defer own.Close()
		if err := unix.Setns(int(s.netns.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering the network namespace of %s: %w", s.Name, err)
		}
		defer func() {
			if err := unix.Setns(int(own.Fd()), unix.CLONE_NEWNET); err != nil {
				panic(fmt.Sprintf("thread of %s cannot return to its network namespace: %v", s.Name, err))
			}
		}()
		return fn()
	})
}

// ReadFile and WriteFile work on the space's view of the file system. WriteFile creates missing directories.
func (s *Space) ReadFile(path string) (data []byte, err error) {
	err = s.Do(func() error {
		data, err = os.ReadFile(path)
		return err
	})
	return data, err
}

// WriteFile writes a file with mode 0644.
func (s *Space) WriteFile(path string, data []byte) error {
	return s.Do(func() error { return writeFile(path, data, 0o644) })
}

// ExitError says that a program has ended with an exit code other than 0 (128 + signal number for a signal).
type ExitError struct {
	Space          string
	Args           []string
	Code           int
	Stdout, Stderr string
}

func (e *ExitError) Error() string {
	return fmt.Sprintf("%s: %q ended with exit code %d: %s", e.Space, strings.Join(e.Args, " "), e.Code, strings.TrimSpace(e.Stderr+e.Stdout))
}

// Process is a program that was started in a space.
type Process struct {
	*proc.Process
	space          *Space
	args           []string
	stdout, stderr output
}

// Stdout and Stderr return the program's output so far.
func (p *Process) Stdout() string { return p.stdout.String() }

// Stderr is described with Stdout.
func (p *Process) Stderr() string { return p.stderr.String() }

// Wait waits for the program's end, or ctx's, which leaves the program running. The error is an *ExitError or ctx's.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.Done():
	case <-ctx.Done():
		return fmt.Errorf("%s: waiting for the end of %q: %w", p.space.Name, strings.Join(p.args, " "), context.Cause(ctx))
	}
	if p.Err() == nil {
		return nil
	}
	return &ExitError{Space: p.space.Name, Args: p.args, Code: p.ExitCode(), Stdout: p.Stdout(), Stderr: p.Stderr()}
}

// invocation describes a program for start.
type invocation struct {
	args  []string
	env   []string // added to the space's
	stdin io.Reader
	// log gets all output, instead of the Process.
	log *os.File
	// container, when set, is the container of the chart whose capabilities the program gets, instead of all.
	container string
}

// Start starts a program in the background; its output is kept.
func (s *Space) Start(args ...string) (*Process, error) {
	return s.start(invocation{args: args})
}

// Exec runs a program to its end and returns what it wrote to stdout. The error is an *ExitError if it ended with an exit
// code other than 0. When ctx ends first, the program is ended. ovs-ofctl is run again as package ofctl says.
func (s *Space) Exec(ctx context.Context, args ...string) (string, error) {
	var stdout string
	err := ofctl.Retry(ctx, func() (stderr string, err error) {
		p, err := s.run(ctx, invocation{args: args})
		if p == nil {
			return "", err
		}
		stdout = p.Stdout()
		var exit *ExitError
		if errors.As(err, &exit) {
			stderr = exit.Stderr
		}
		return stderr, err
	})
	return stdout, err
}

func (s *Space) run(ctx context.Context, in invocation) (*Process, error) {
	p, err := s.start(in)
	if err != nil {
		return nil, err
	}
	if err = p.Wait(ctx); err != nil && ctx.Err() != nil {
		err = errors.Join(err, p.Stop(stopGrace))
	}
	return p, err
}

func (s *Space) start(in invocation) (*Process, error) {
	args := in.args
	if in.container != "" {
		args = confined(in.container, args)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = append(append(os.Environ(), s.env...), in.env...)
	cmd.Stdin = in.stdin
	p := &Process{space: s, args: in.args}
	if in.log != nil {
		cmd.Stdout, cmd.Stderr = in.log, in.log
	} else {
		cmd.Stdout, cmd.Stderr = &p.stdout, &p.stderr
	}
	var err error
	if p.Process, err = proc.StartOn(s, cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", s.Name, err)
	}
	s.mu.Lock()
	s.running[p] = struct{}{}
	s.mu.Unlock()
	go func() {
		<-p.Done()
		s.mu.Lock()
		delete(s.running, p)
		s.mu.Unlock()
	}()
	return p, nil
}

// stopAll ends all programs that still run.
func (s *Space) stopAll() {
	s.mu.Lock()
	running := slices.Collect(maps.Keys(s.running))
	s.mu.Unlock()
	for _, p := range running {
		p.Kill()
	}
}

// output is a buffer that is read while it is written.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

// Eventually calls condition repeatedly until it returns nil. When ctx ends it returns the last error. It uses at most a quarter
// of a CPU: on an emulated machine the awaited program needs the rest.
func Eventually(ctx context.Context, what string, condition func() error) error {
	for {
		begin := time.Now()
		err := condition()
		pause := max(50*time.Millisecond, 3*time.Since(begin))
		if err == nil {
			return nil
		}
		var final permanentError
		if errors.As(err, &final) {
			return fmt.Errorf("%s: %w", what, final.error)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w; last: %w", what, context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}

// permanentError is an error after which waiting is pointless.
type permanentError struct{ error }
