// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cli has what the programs that run a testbed or a cluster have in common: signals and exit codes, the command that ends what
// another one has started, and the one that runs inside a machine.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
)

// interrupted is the exit code after a signal, as of shells.
const interrupted = 130

// ExitError carries the exit code of a command that was run.
type ExitError int

func (e ExitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// Main runs the program and exits. The context of its commands ends with SIGINT, SIGTERM or SIGHUP.
func Main(root *cobra.Command) {
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
	var exit ExitError
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

// Guest is the command that package machine starts inside a machine.
func Guest() *cobra.Command {
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

// Down is the command that ends the daemon of a kind, which is called noun in messages, and waits for that until the timeout.
func Down(kind, noun string, timeout time.Duration) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: fmt.Sprintf("End the %s that `up` has started", noun),
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := daemon.Stop(cmd.Context(), kind, timeout)
			switch {
			case errors.Is(err, daemon.ErrDown):
				fmt.Printf("no %s is up\n", noun)
				return nil
			case err == nil:
				fmt.Printf("the %s has ended\n", noun)
			}
			return err
		},
	}
}

// Program returns the program and arguments of a command line whose "--" before them may be left out.
func Program(args []string) []string {
	if len(args) > 1 && args[0] == "--" {
		return args[1:]
	}
	return args
}
