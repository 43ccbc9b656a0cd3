// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

func kubeconfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the cluster's administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			i, _, err := readInstance()
			if err == nil {
				fmt.Println(i.Kubeconfig)
			}
			return err
		},
	}
}

func apiCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "api",
		Short: "Print where programs of the Nodes find the Kubernetes API without a Service (kubeAPIServerOverride)",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			i, _, err := readKubelets()
			if err == nil {
				fmt.Println(i.Kubelets.API)
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
		Short: "Wait until the Nodes, the network plugin and CoreDNS are ready",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			i, running, err := readKubelets()
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
			if i.Kubelets.KubeProxy {
				parts = append(parts, []string{"-n", "kube-system", "rollout", "status", "daemonset/kube-proxy", timeout})
			}
			for _, args := range parts {
				kubectl := exec.CommandContext(cmd.Context(), i.Kubelets.Kubectl, append([]string{"--kubeconfig=" + i.Kubeconfig}, args...)...)
				if out, err := kubectl.CombinedOutput(); err != nil {
					return fmt.Errorf("kubectl %v: %w: %s", args, err, out)
				}
				p.Printf("ready: %s", args[len(args)-2])
			}
			fmt.Printf("\nexport KUBECONFIG=%s PATH=%s:$PATH\n", i.Kubeconfig, filepath.Dir(i.Kubelets.Kubectl))
			return nil
		},
	}
}
