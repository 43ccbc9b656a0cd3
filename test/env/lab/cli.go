// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
)

// interrupted is the exit code after a signal, as of shells.
const interrupted = 130

// exitError carries the exit code of a command that was run.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// execute runs the program and exits. The context of its commands ends with SIGINT, SIGTERM or SIGHUP.
func execute(root *cobra.Command) {
	root.SilenceUsage, root.SilenceErrors = true, true
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends this program at once, and with it all its children
	}()
	err := root.ExecuteContext(ctx)
	code, message := outcome(err, ctx.Err() != nil)
	if message != "" {
		fmt.Fprintf(os.Stderr, "%s: %s\n", root.Name(), message)
	}
	os.Exit(code)
}

// outcome returns the exit code of a program whose command has returned err, and what to say, which may be nothing.
func outcome(err error, signalled bool) (code int, message string) {
	var exit exitError
	switch {
	case err == nil:
		return 0, ""
	case errors.As(err, &exit):
		return int(exit), ""
	case signalled:
		return interrupted, "interrupted"
	default:
		return 1, err.Error()
	}
}

// guestCommand is the command that package machine starts inside a machine.
func guestCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "guest CONFIG",
		Hidden: true,
		Args:   cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			err := guest.Run(args[0])
			fmt.Println(guest.Marker + err.Error()) // the console is the only way out
			return err
		},
	}
}

// programOf returns the program and arguments of a command line whose "--" before them may be left out.
func programOf(args []string) []string {
	if len(args) > 1 && args[0] == "--" {
		return args[1:]
	}
	return args
}
