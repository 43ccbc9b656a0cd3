// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/pkg/antctl/multicluster"
)

func newMCCreateToken(s *session) *cobra.Command {
	var token multicluster.Token
	var file string
	cmd := &cobra.Command{
		Use: "membertoken NAME", Aliases: []string{"membertokens"}, Short: "Make the token of a member, in the leader",
		Long:    "Make the token with which one member connects with this leader: a ServiceAccount, a RoleBinding and a Secret called NAME.\nThe member can act under its own ID only.",
		Example: "  antctl mc create membertoken east-token --cluster-id east -n antrea-multicluster -o east.yml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			token.Name = strings.Join(args, "")
			return s.mc(cmd, mcPatience, func(ctx context.Context, c *multicluster.Cluster) error {
				return c.CreateToken(ctx, token, func(secret []byte) error {
					if file == "" {
						return nil
					}
					return writeNew(file, secret, 0o600)
				})
			})
		},
	}
	addNamespace(cmd, &token.Namespace, "", leaderNamespaceUsage)
	cmd.Flags().StringVar(&token.ClusterID, "cluster-id", "", "ID of the member (required)")
	cmd.Flags().StringSliceVar(&token.Networks, "networks", nil, "Networks of Services, Pods and gateway Nodes that the member may claim, and export Endpoints in; by default it may claim any that no other member has")
	cmd.Flags().StringVarP(&file, "output-file", "o", "", "File to write for antctl mc join --token-secret-file; only you can read it")
	return cmd
}

func newMCDeleteToken(s *session) *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use: "membertoken NAME", Aliases: []string{"membertokens"}, Short: "Delete the token of a member, in the leader",
		Long: "Delete the ServiceAccount, the RoleBinding and the Secret of a member, if antctl has made them. The member loses its rights at once, and the leader deletes what it exports. Its imports stay until it leaves.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.mc(cmd, mcPatience, func(ctx context.Context, c *multicluster.Cluster) error {
				return c.DeleteToken(ctx, namespace, strings.Join(args, ""))
			})
		},
	}
	addNamespace(cmd, &namespace, "", leaderNamespaceUsage)
	return cmd
}
