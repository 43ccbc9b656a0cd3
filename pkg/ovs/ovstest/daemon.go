// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovstest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// daemon is a child process that is ended only through its own process handle, and dies with the test program.
type daemon struct {
	cmd    *exec.Cmd
	exited chan struct{}
	// err is the result of Wait; valid once exited is closed.
	err error
}

// startDaemon starts cmd in the network namespace netns, or in the program's own when netns is nil.
func startDaemon(cmd *exec.Cmd, netns *os.File) (*daemon, error) {
	d := &daemon{cmd: cmd, exited: make(chan struct{})}
	// The kernel sends this signal when the thread that made the child ends, so that thread must live as long as the child.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		if netns != nil {
			// Never unlocked again: the thread must not be reused outside the namespace.
			if err := unix.Setns(int(netns.Fd()), unix.CLONE_NEWNET); err != nil {
				started <- fmt.Errorf("enter the network namespace: %w", err)
				return
			}
		} else {
			defer runtime.UnlockOSThread()
		}
		if err := cmd.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		d.err = cmd.Wait()
		close(d.exited)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return d, nil
}

// signal sends the process a signal.
func (d *daemon) signal(t TB, signal syscall.Signal) {
	t.Helper()
	if err := d.cmd.Process.Signal(signal); err != nil {
		t.Fatalf("ovstest: send %v to %s (process %d): %v", signal, d.cmd.Path, d.cmd.Process.Pid, err)
	}
}

// stop kills the process and waits for its end.
func (d *daemon) stop(t TB) {
	t.Helper()
	select {
	case <-d.exited:
		t.Errorf("ovstest: %s ended before the test did: %v", d.cmd.Path, d.err)
		return
	default:
	}
	if err := d.cmd.Process.Kill(); err != nil {
		t.Logf("ovstest: kill %s (process %d): %v", d.cmd.Path, d.cmd.Process.Pid, err)
	}
	<-d.exited
}
