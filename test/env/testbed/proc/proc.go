// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package proc runs child processes that cannot outlive this one.
//
// Every child gets its own process group (so that Ctrl-C in a terminal reaches only us, and we can end the child together
// with what it started) and PR_SET_PDEATHSIG=SIGKILL. The kernel sends that signal when the *thread* that forked the child
// ends (prctl(2)), and the Go runtime ends threads at will, so children are forked on a thread whose end we control.
package proc

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// Process is a running or finished child.
type Process struct {
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// forever is a thread of this process that never ends.
var forever = sync.OnceValue(NewThread)

// Start starts cmd; it dies with this process at the latest.
func Start(cmd *exec.Cmd) (*Process, error) {
	return StartOn(forever(), cmd)
}

// Doer is a Thread, or a wrapper around one that does something before and after each call.
type Doer interface {
	Do(fn func() error) error
}

// StartOn starts cmd on a thread: it inherits that thread's namespaces and dies with that thread at the latest.
func StartOn(on Doer, cmd *exec.Cmd) (*Process, error) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid // a session leader already leads a group
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = 2 * time.Second // a grandchild that keeps the output open must not keep Wait from returning
	}
	if err := on.Do(cmd.Start); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	p := &Process{cmd: cmd, done: make(chan struct{})}
	go func() {
		p.err = cmd.Wait()
		if errors.Is(p.err, exec.ErrWaitDelay) {
			p.err = nil
		}
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err waits for the end of the child and returns what exec.Cmd.Wait returned.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// ExitCode waits for the end of the child and returns its exit code, or 128 + signal number as a shell does.
func (p *Process) ExitCode() int {
	<-p.done
	if ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Pid is the child's process (and process group) id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Signal sends sig to the child's process group. An ended child is not an error.
func (p *Process) Signal(sig syscall.Signal) error {
	select {
	case <-p.done:
		return nil
	default:
	}
	if err := syscall.Kill(-p.Pid(), sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("sending %s to %s (pid %d): %w", sig, p.cmd.Path, p.Pid(), err)
	}
	return nil
}

// Stop ends the child's process group: SIGTERM, and SIGKILL when it has not ended after grace. It returns when the child
// has ended, with an error if SIGKILL was needed.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(grace):
	}
	p.Kill()
	return fmt.Errorf("%s (pid %d) did not end within %s of SIGTERM and was killed", p.cmd.Path, p.Pid(), grace)
}

// Kill ends the child's process group with SIGKILL and waits for the child.
func (p *Process) Kill() {
	_ = p.Signal(syscall.SIGKILL) // fails only when there is nothing left to kill
	<-p.done
}
