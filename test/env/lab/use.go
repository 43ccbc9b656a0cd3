// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
	"github.com/antrea-oncache/antrea/test/env/testbed/terminal"
)

// downTimeout limits the time in which Nodes, machines and the control plane must end.
const downTimeout = 2 * time.Minute

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the cluster",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := daemon.Stop(cmd.Context(), kind(), downTimeout)
			switch {
			case errors.Is(err, daemon.ErrDown):
				fmt.Println("no cluster is up")
				return nil
			case err == nil:
				fmt.Println("the cluster has ended")
			}
			return err
		},
	}
}

func statusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the cluster; exit code 1 if none is up",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			i, running, err := readInstance()
			if err != nil {
				return err
			}
			nodes := "with kubelets"
			if i.Kubelets == nil {
				nodes = "without kubelets, machine: " + i.Machine
			}
			fmt.Printf("up for %s, %s\nkubeconfig: %s\n", time.Since(running.Started).Round(time.Second), nodes, i.Kubeconfig)
			for _, n := range i.Nodes {
				fmt.Printf("%s %s\n", n.Name, n.IP)
			}
			return nil
		},
	}
}

func execCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "exec NODE [--] PROGRAM [ARG...]",
		Short:   "Run a program on a Node, whose name is node-1 or 1",
		Example: "  lab exec node-1 -- ovs-vsctl show\n  lab exec 1 -- crictl ps",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return onNode(cmd.Context(), args[0], remote.Command{Args: programOf(args[1:]), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr})
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

func shellCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "shell NODE",
		Short: "Open a shell on a Node",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return terminal.Shell(cmd.Context(), func(ctx context.Context, shell remote.Command) error { return onNode(ctx, args[0], shell) })
		},
	}
}

// onNode runs a command on a Node and passes on its exit code.
func onNode(ctx context.Context, name string, cmd remote.Command) error {
	i, _, err := readInstance()
	if err != nil {
		return err
	}
	n, err := i.node(name)
	if err != nil {
		return err
	}
	cmd.Args = append(n.Enter, cmd.Args...)
	cmd.Env = append([]string{"HOME=/root", "TERM=" + os.Getenv("TERM"), "LANG=C.UTF-8", "PS1=" + n.Name + ":\\w# "}, n.Env...)
	cmd.Dir = "/"
	code, err := remote.Run(ctx, n.Endpoint, cmd)
	if err == nil && code != 0 {
		return exitError(code)
	}
	return err
}

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl [ARG...]",
		Short:              "Run kubectl, which is built if need be, for the cluster",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			i, _, err := readInstance()
			if err != nil {
				return err
			}
			kubectl, err := controlplane.BuildProgram(cmd.Context(), progress.New(os.Stderr), "kubectl", runtime.GOARCH)
			if err != nil {
				return err
			}
			return onHost(cmd.Context(), i.Kubeconfig, append([]string{kubectl.Path}, args...))
		},
	}
}

func insideCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inside [--] PROGRAM [ARG...]",
		Short:   "Run a program of this machine in the Nodes' network, where it reaches them by their addresses, with KUBECONFIG",
		Example: "  lab inside -- bin/antctl check installation",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			i, _, err := readKubelets()
			if err != nil {
				return err
			}
			return onHost(cmd.Context(), i.Kubelets.KubeconfigInside, append([]string{"nsenter", "--net=" + i.Kubelets.NetNS, "--"}, args...))
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// onHost runs a program of this host, without the host's HTTP proxies, which cannot reach the Nodes' network.
func onHost(ctx context.Context, kubeconfig string, args []string) error {
	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "NO_PROXY=*", "no_proxy=*")
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := program.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exitError(exit.ExitCode())
	}
	return err
}
