// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/daemon"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
)

func connectCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "connect CLUSTER",
		Short: "Let the Nodes of the cluster with this name, which `up --index` has started with another number, reach the Nodes of this one",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			here, _, err := readKubelets()
			if err != nil {
				return err
			}
			var there instance
			if _, err := daemon.Read(kindOf(args[0]), &there); err != nil {
				return fmt.Errorf("cluster %s: %w", args[0], err)
			}
			if there.Kubelets == nil {
				return fmt.Errorf("the Nodes of cluster %s have no kubelets", args[0])
			}
			return machine.Join(here.Kubelets.NetNS, there.Kubelets.NetNS)
		},
	}
}
