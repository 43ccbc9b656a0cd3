// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/cli"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
	"github.com/antrea-oncache/antrea/test/env/testbed/terminal"
)

// downTimeout is how long agents, Open vSwitch, the machine and the control plane may take to end.
const downTimeout = 2 * time.Minute

func statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the testbed that `up` has started; exit code 1 if there is none",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			state, running, nodes, err := readInstance()
			if err != nil {
				return err
			}
			fmt.Printf("up for %s, machine: %s\nkubeconfig: %s\n", time.Since(running.Started).Round(time.Second), state.Machine, state.Kubeconfig)
			for _, n := range nodes.Nodes {
				fmt.Printf("%s %s\n", n.Name, n.IP)
			}
			return nil
		},
	}
}

func execCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "exec NODE [--] PROGRAM [ARG...]",
		Short:   "Run a program on a Node of the testbed that `up` has started",
		Example: "  testbed exec node-1 -- ovs-vsctl show",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onNode(cmd.Context(), args[0], remote.Command{Args: cli.Program(args[1:]), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func shellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "shell NODE",
		Short: "Open a shell on a Node of the testbed that `up` has started",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return terminal.Shell(cmd.Context(), func(ctx context.Context, shell remote.Command) error { return onNode(ctx, args[0], shell) })
		},
	}
}

// onNode runs a command on a Node ("node-1" or "1") and passes on its exit code.
func onNode(ctx context.Context, name string, cmd remote.Command) error {
	state, _, nodes, err := readInstance()
	if err != nil {
		return err
	}
	node, err := findNode(nodes, name)
	if err != nil {
		return err
	}
	cmd.Args = append(node.Enter, cmd.Args...)
	cmd.Env = append([]string{"HOME=/root", "TERM=" + os.Getenv("TERM"), "LANG=C.UTF-8", "PS1=" + node.Name + ":\\w# "}, node.Env...)
	cmd.Dir = "/"
	code, err := remote.Run(ctx, state.Endpoint, cmd)
	if err != nil {
		return err
	}
	if code != 0 {
		return cli.ExitError(code)
	}
	return nil
}

func findNode(nodes cluster.State, name string) (cluster.NodeState, error) {
	var names []string
	for _, n := range nodes.Nodes {
		if n.Name == name || n.Name == "node-"+name {
			return n, nil
		}
		names = append(names, n.Name)
	}
	return cluster.NodeState{}, fmt.Errorf("there is no Node %q, the Nodes are %v", name, names)
}
