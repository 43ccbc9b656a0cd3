// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// testbed runs programs, or a whole cluster, on a machine with the Open vSwitch kernel datapath and a Kubernetes API.
package main

import (
	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/cli"
)

func main() { cli.Main(command()) }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "testbed",
		Short: "Run programs, or a whole cluster, with the Open vSwitch kernel datapath and a Kubernetes API",
	}
	root.AddCommand(runCommand(), kindCommand(), vmCommand(), prepareCommand(), upCommand(), cli.Down(kind, "testbed", downTimeout), statusCommand(), shellCommand(), execCommand(),
		serveCommand(), clusterCommand(), cli.Guest())
	root.AddCommand(kernelLogCommand())
	return root
}
