// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// testbed runs programs, or a whole cluster, on a machine with the Open vSwitch kernel datapath and a Kubernetes API.
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

// exitError carries the exit code of a command that was run.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends this program at once, and with it all its children
	}()
	err := command().ExecuteContext(ctx)
	var code exitError
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case err != nil && ctx.Err() != nil:
		fmt.Fprintln(os.Stderr, "testbed: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "testbed:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "testbed",
		Short:         "Run programs, or a whole cluster, with the Open vSwitch kernel datapath and a Kubernetes API",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(runCommand(), kindCommand(), vmCommand(), prepareCommand(), upCommand(), downCommand(), statusCommand(), shellCommand(), execCommand(),
		serveCommand(), clusterCommand(), guestCommand())
	root.AddCommand(kernelLogCommand())
	return root
}

// guestCommand is the command that package machine starts inside a virtual machine.
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
