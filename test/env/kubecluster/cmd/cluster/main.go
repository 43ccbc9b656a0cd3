// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// cluster runs a whole Kubernetes cluster on this machine, for users to try the network plugin and for tests.
package main

import (
	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/cli"
)

func main() { cli.Main(command()) }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "cluster",
		Short: "Run a Kubernetes cluster whose Nodes are machines of user-mode Linux",
		Long: `Run a Kubernetes cluster whose Nodes are machines of user-mode Linux.

All commands are about one cluster. With CLUSTER_NAME in the environment, it is another one than without, or than with another name; several
can be up at the same time.`,
	}
	root.AddCommand(upCommand(), cli.Down(kind(), "cluster", downTimeout), prepareCommand(), nodeCommand(), rebootCommand(), addNodeCommand(), shellCommand(), kubectlCommand(),
		insideCommand(), programCommand(), kubeconfigCommand(), apiCommand(), readyCommand(), serveCommand(), cli.Guest())
	return root
}
