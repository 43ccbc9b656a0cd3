// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodefacts

import (
	"encoding/json"
	"net"
	"net/netip"

	"github.com/spf13/cobra"
)

// name is the hidden command of antctl.
const name = "node-facts"

// Command is the command of a Pod that has mounted the Node's files at root. address is the Node's. It prints Facts in JSON.
func Command(root, address string) []string {
	return []string{"antctl", name, "--root=" + root, "--address=" + address}
}

// NewCommand returns the command that Command calls.
func NewCommand() *cobra.Command {
	var root string
	var address net.IP
	cmd := &cobra.Command{
		Use: name, Short: "Run in the Pods of antctl check cluster", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// Without an address, the uplink is unknown.
			at, _ := netip.AddrFromSlice(address)
			facts, err := Read(cmd.Context(), root, at.Unmap())
			if err != nil {
				return err
			}
			return json.NewEncoder(cmd.OutOrStdout()).Encode(facts)
		},
	}
	cmd.Flags().StringVar(&root, "root", "/", "Directory of the Node's files")
	cmd.Flags().IPVar(&address, "address", nil, "The Node's address")
	return cmd
}
