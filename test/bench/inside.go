// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/bench/native/agent"
	"github.com/antrea-oncache/antrea/test/bench/soak"
)

// agentCommand is the program that the native bed starts on each Node of state on.
func agentCommand() *cobra.Command {
	return &cobra.Command{
		Use: "agent CONFIG", Short: "Run the cache of a Node (started by the bed)", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var c agent.Config
			if err := json.Unmarshal([]byte(args[0]), &c); err != nil {
				return fmt.Errorf("configuration %q: %w", args[0], err)
			}
			return agent.Run(cmd.Context(), c)
		},
	}
}

// soakCommand is the program that the native bed starts on each CPU.
func soakCommand() *cobra.Command {
	return &cobra.Command{
		Use: "soak CPU", Short: "Keep a CPU from idling (started by the bed)", Hidden: true, Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			cpu, err := strconv.Atoi(args[0])
			if err != nil {
				return err
			}
			return soak.Spin(cpu, os.Stdin, os.Stdout)
		},
	}
}
