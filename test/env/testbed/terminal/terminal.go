// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package terminal connects the terminal of this process with a shell on a Node.
package terminal

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/term"

	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// Shell lets run run an interactive shell with this process's standard input and outputs. If the input is a terminal,
// its own line editing is off during that time, and the shell learns its size.
func Shell(ctx context.Context, run func(context.Context, remote.Command) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	shell := remote.Command{Args: []string{"bash", "--norc"}, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}
	fd := int(os.Stdin.Fd())
	if term.IsTerminal(fd) {
		size, err := currentSize()
		if err != nil {
			return err
		}
		old, err := term.MakeRaw(fd)
		if err != nil {
			return fmt.Errorf("preparing the terminal: %w", err)
		}
		defer func() { _ = term.Restore(fd, old) }() // fails only when the terminal has gone
		shell.TTY, shell.Resize = &size, resizes(ctx)
	}
	return run(ctx, shell)
}

func currentSize() (remote.Size, error) {
	ws, err := pty.GetsizeFull(os.Stdin)
	if err != nil {
		return remote.Size{}, fmt.Errorf("reading the terminal's size: %w", err)
	}
	return remote.Size{Rows: ws.Rows, Cols: ws.Cols}, nil
}

// resizes gives the size of the terminal whenever it changes.
func resizes(ctx context.Context) <-chan remote.Size {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, syscall.SIGWINCH)
	sizes := make(chan remote.Size)
	go func() {
		defer signal.Stop(changed)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			size, err := currentSize()
			if err != nil {
				continue
			}
			select {
			case sizes <- size:
			case <-ctx.Done():
				return
			}
		}
	}()
	return sizes
}
