// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command lab runs programs and clusters on this machine, for users who try the network plugin and for tests.
//
// Files: run.go (a program in a machine with a Kubernetes API, bed.go), vm.go (a program under a distribution's kernel), kernellog.go (what
// the machine's kernel complains about), up.go (the cluster that stays), processes.go (its Nodes are processes of one machine), kubelets.go (its Nodes are
// machines with kubelets), orders.go (these reboot, and Nodes are added), connect.go (two clusters share a network), instance.go (what other commands know about the cluster that is up),
// use.go and print.go (these commands), prepare.go (builds in advance), cli.go (signals and exit codes).
package main

import "github.com/spf13/cobra"

func main() { execute(command()) }

func command() *cobra.Command {
	root := &cobra.Command{
		Use:   "lab",
		Short: "Run programs and clusters on this machine, with Open vSwitch and a Kubernetes API",
		Long: `Run programs and clusters on this machine, with Open vSwitch and a Kubernetes API.

One cluster is up at a time, and most commands use it. With CLUSTER_NAME in the environment, they use a cluster of that name, beside the one
without a name.`,
	}
	root.AddGroup(&cobra.Group{ID: groupCluster, Title: "The cluster that stays:"}, &cobra.Group{ID: groupKubelets, Title: "The cluster that stays, with kubelets:"},
		&cobra.Group{ID: groupRun, Title: "One program:"})
	for group, commands := range map[string][]*cobra.Command{
		groupCluster:  {upCommand(), downCommand(), statusCommand(), execCommand(), shellCommand(), kubectlCommand(), kubeconfigCommand()},
		groupKubelets: {insideCommand(), readyCommand(), rebootCommand(), addNodeCommand(), connectCommand(), apiCommand()},
		groupRun:      {runCommand(), vmCommand(), kindCommand()},
		"":            {prepareCommand(), programCommand(), serveCommand(), processesCommand(), kernelLogCommand(), guestCommand()},
	} {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	return root
}

// The groups of commands in the help.
const (
	groupCluster  = "cluster"
	groupKubelets = "kubelets"
	groupRun      = "run"
)
