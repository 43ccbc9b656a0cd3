// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/cleanup"
)

// cleanupCommand is run on each Node when the agent has been uninstalled, by the DaemonSet antrea-cleanup or by hand. Its flags have the
// defaults of the configuration file, which is gone by then.
func cleanupCommand() *cobra.Command {
	var o cleanup.Options
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove from this Node all that the agent and its installation have made there",
		Long: `Remove from this Node all that the agent and its installation have made there: CNI configuration and plugins, eBPF programs and pins,
iptables chains and ipsets, the bridge with its ports and routes, changed sysctls, files and logs. It refuses while an agent or
ovs-vswitchd runs on the Node, and can be repeated. Pods that the agent has connected lose their network.`,
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), unix.SIGTERM, os.Interrupt)
			defer stop()
			o.Out = cmd.OutOrStdout()
			return o.Run(ctx)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.DryRun, "dry-run", false, "Only print what would be removed")
	flags.StringVar(&o.UnlessExists, "unless-exists", "", "Refuse if this file exists: Antrea is still installed")
	flags.BoolVar(&o.KeepLogs, "keep-logs", false, "Leave /var/log/antrea")
	flags.StringVar(&o.Root, "root", "/", "The directory where the Node's /etc/cni/net.d, /var/run, /var/log and directory of CNI plugins are")
	flags.StringVar(&o.CNIBinDir, "cni-bin-dir", "/opt/cni/bin", "The Node's directory of CNI plugins")
	flags.StringVar(&o.Bridge, "ovs-bridge", "br-int", "The bridge, as in ovsBridge of the agent's configuration")
	flags.StringVar(&o.Gateway, "host-gateway", "antrea-gw0", "The gateway, as in hostGateway of the agent's configuration")
	return cmd
}
