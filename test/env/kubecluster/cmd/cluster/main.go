// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// cluster runs a whole Kubernetes cluster on this machine, for users to try the network plugin and for tests.
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
		fmt.Fprintln(os.Stderr, "cluster: interrupted")
		os.Exit(130)
	case err != nil:
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	root := &cobra.Command{
		Use:           "cluster",
		Short:         "Run a Kubernetes cluster whose Nodes are machines of user-mode Linux",
		Long: `Run a Kubernetes cluster whose Nodes are machines of user-mode Linux.

All commands are about one cluster. With CLUSTER_NAME in the environment, it is another one than without, or than with another name; several
can be up at the same time.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(upCommand(), downCommand(), prepareCommand(), nodeCommand(), rebootCommand(), addNodeCommand(), shellCommand(), kubectlCommand(),
		insideCommand(), programCommand(), kubeconfigCommand(), readyCommand(), serveCommand(), guestCommand())
	return root
}

// guestCommand is the command that package machine starts inside a Node.
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
