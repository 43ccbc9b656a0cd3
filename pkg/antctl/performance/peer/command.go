// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package peer

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"
)

// name is the hidden command of antctl.
const name = "performance-peer"

// ServerCommand is the command of a server in the agent's image.
func ServerCommand(port int) []string {
	return []string{"antctl", name, "serve", fmt.Sprintf("--port=%d", port)}
}

// ClientCommand is the command of a client in the agent's image. It prints Metrics in JSON.
func ClientCommand(workload, to string, duration time.Duration) []string {
	return []string{"antctl", name, "measure", "--workload=" + workload, "--to=" + to, "--duration=" + duration.String()}
}

// NewCommand returns the command that ServerCommand and ClientCommand call.
func NewCommand() *cobra.Command {
	group := &cobra.Command{Use: name, Short: "Run in the Pods of antctl check performance", Hidden: true, Args: cobra.NoArgs}
	var port int
	serve := &cobra.Command{
		Use: "serve", Short: "Answer clients", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			server, err := Listen(fmt.Sprintf(":%d", port))
			if err != nil {
				return err
			}
			return server.Serve(cmd.Context())
		},
	}
	serve.Flags().IntVar(&port, "port", 0, "Port for TCP and UDP")
	var workload, to string
	var duration time.Duration
	measure := &cobra.Command{
		Use: "measure", Short: "Measure one workload", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			metrics, err := Measure(cmd.Context(), workload, to, duration)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(metrics)
		},
	}
	measure.Flags().StringVar(&workload, "workload", "", fmt.Sprintf("One of %v", Workloads))
	measure.Flags().StringVar(&to, "to", "", "Address and port of the server")
	measure.Flags().DurationVar(&duration, "duration", time.Second, "Time of the measurement")
	group.AddCommand(serve, measure)
	return group
}
