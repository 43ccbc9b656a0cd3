// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/cli"
	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
	"github.com/antrea-oncache/antrea/test/env/testbed/terminal"
)

func nodeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "node NAME [--] PROGRAM [ARG...]",
		Short:   "Run a program on a Node of the cluster that `up` has started",
		Example: "  cluster node node-1 -- crictl ps",
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
		Short: "Open a shell on a Node of the cluster that `up` has started",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return terminal.Shell(cmd.Context(), func(ctx context.Context, shell remote.Command) error { return onNode(ctx, args[0], shell) })
		},
	}
}

// onNode runs a command on a Node ("node-1" or "1") and passes on its exit code.
func onNode(ctx context.Context, name string, command remote.Command) error {
	var i instance
	if _, err := daemon.Read(kind(), &i); err != nil {
		return err
	}
	endpoint, known := i.Nodes[name]
	if !known {
		if endpoint, known = i.Nodes["node-"+name]; !known {
			return fmt.Errorf("there is no Node %q, the Nodes are node-1 to node-%d", name, len(i.Nodes))
		}
	}
	command.Dir = "/"
	command.Env = []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "TERM=" + os.Getenv("TERM"), "PS1=" + name + ":\\w# ",
	}
	code, err := remote.Run(ctx, endpoint, command)
	if err == nil && code != 0 {
		return cli.ExitError(code)
	}
	return err
}

func kubectlCommand() *cobra.Command {
	return &cobra.Command{
		Use:                "kubectl [ARG...]",
		Short:              "Run kubectl for the cluster that `up` has started",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			var i instance
			if _, err := daemon.Read(kind(), &i); err != nil {
				return err
			}
			return run(cmd.Context(), i.Kubeconfig, append([]string{i.Kubectl}, args...))
		},
	}
}

func insideCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "inside [--] PROGRAM [ARG...]",
		Short:   "Run a program of this machine in the Nodes' network, where it reaches them by their addresses, with KUBECONFIG",
		Example: "  cluster inside -- bin/antctl check installation",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var i instance
			if _, err := daemon.Read(kind(), &i); err != nil {
				return err
			}
			return run(cmd.Context(), i.KubeconfigInside, append([]string{"nsenter", "--net=" + i.NetNS, "--"}, args...))
		},
	}
	cmd.Flags().SetInterspersed(false)
	return cmd
}

// run runs a program of this host, without the host's HTTP proxies, which do not know the Nodes' network.
func run(ctx context.Context, kubeconfig string, args []string) error {
	program := exec.CommandContext(ctx, args[0], args[1:]...)
	program.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "NO_PROXY=*", "no_proxy=*")
	program.Stdin, program.Stdout, program.Stderr = os.Stdin, os.Stdout, os.Stderr
	err := program.Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return cli.ExitError(exit.ExitCode())
	}
	return err
}

func kubeconfigCommand() *cobra.Command {
	return printCommand("kubeconfig", "Print the path of the administrator's kubeconfig of the cluster that `up` has started",
		func(i *instance) string { return i.Kubeconfig })
}

func apiCommand() *cobra.Command {
	return printCommand("api", "Print where programs of the Nodes find the Kubernetes API without a Service (kubeAPIServerOverride)",
		func(i *instance) string { return i.API })
}

// printCommand makes a command that prints what of says about the cluster that is up.
func printCommand(use, short string, of func(*instance) string) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			var i instance
			_, err := daemon.Read(kind(), &i)
			if err == nil {
				fmt.Println(of(&i))
			}
			return err
		},
	}
}

func programCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "program NAME",
		Short: "Print the path of a program of Kubernetes, such as kubectl, which is built if need be",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := controlplane.BuildKubernetes(cmd.Context(), progress.New(os.Stderr), args[0])
			if err == nil {
				fmt.Println(path)
			}
			return err
		},
	}
}

// readyTimeout is for the network plugin and CoreDNS to start.
const readyTimeout = 5 * time.Minute

func readyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ready",
		Short: "Wait until the Nodes, the network plugin and CoreDNS of the cluster are ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var i instance
			running, err := daemon.Read(kind(), &i)
			if err != nil {
				return err
			}
			p := progress.Continue(os.Stdout, time.Since(running.Started))
			timeout := fmt.Sprintf("--timeout=%s", readyTimeout)
			parts := [][]string{
				{"wait", "--for=condition=Ready", "nodes", "--all", timeout},
				{"-n", "kube-system", "rollout", "status", "deployment/antrea-controller", timeout},
				{"-n", "kube-system", "rollout", "status", "daemonset/antrea-agent", timeout},
				{"-n", "kube-system", "rollout", "status", "deployment/coredns", timeout},
			}
			if i.KubeProxy {
				parts = append(parts, []string{"-n", "kube-system", "rollout", "status", "daemonset/kube-proxy", timeout})
			}
			for _, args := range parts {
				kubectl := exec.CommandContext(cmd.Context(), i.Kubectl, append([]string{"--kubeconfig=" + i.Kubeconfig}, args...)...)
				if out, err := kubectl.CombinedOutput(); err != nil {
					return fmt.Errorf("kubectl %v: %w: %s", args, err, out)
				}
				p.Printf("ready: %s", args[len(args)-2])
			}
			fmt.Printf("\nexport KUBECONFIG=%s PATH=%s:$PATH\n", i.Kubeconfig, filepath.Dir(i.Kubectl))
			return nil
		},
	}
}
