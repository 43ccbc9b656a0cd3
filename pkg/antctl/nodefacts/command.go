// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodefacts

import (
	"encoding/json"

	"github.com/spf13/cobra"
)

// name is the hidden command of antctl.
const name = "node-facts"

// Command is the command of a Pod that has mounted the Node's files at root. It prints Facts in JSON.
func Command(root string) []string { return []string{"antctl", name, "--root=" + root} }

// NewCommand returns the command that Command calls.
func NewCommand() *cobra.Command {
	var root string
	cmd := &cobra.Command{
		Use: name, Short: "Run in the Pods of antctl check cluster", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			facts, err := Read(root)
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(facts)
		},
	}
	cmd.Flags().StringVar(&root, "root", "/", "Directory of the Node's files")
	return cmd
}
