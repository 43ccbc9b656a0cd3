// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package daemon

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// readyLine is the last line that a daemon prints for the program that has started it.
const readyLine = "is up"

// Ready tells the program that has started this daemon that it may end. From then on the daemon's output goes to
// daemon.log in its directory for logs: the pipe is no longer read, and a write to it would be the daemon's end.
func (p *Place) Ready() error {
	log, err := os.OpenFile(filepath.Join(p.LogDir(), "daemon.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	fmt.Println(readyLine)
	for _, fd := range []int{unix.Stdout, unix.Stderr} {
		if err := unix.Dup3(int(log.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}

// Start starts this program again as a daemon, with args, and shows what it prints until it is ready or has failed.
func Start(ctx context.Context, args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	cmd := exec.Command(exe, args...)
	cmd.Stdout, cmd.Stderr = write, write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	write.Close()
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ready := make(chan bool, 1)
	go func() {
		defer read.Close()
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			if lines.Text() == readyLine {
				ready <- true
				return
			}
			fmt.Println(lines.Text())
		}
		ready <- false
	}()
	select {
	case ok := <-ready:
		if ok {
			return nil
		}
		return fmt.Errorf("it was not started: %v", <-ended)
	case <-ctx.Done():
		_ = cmd.Process.Signal(syscall.SIGTERM) // fails only when it has ended
		<-ended
		return ctx.Err()
	}
}
