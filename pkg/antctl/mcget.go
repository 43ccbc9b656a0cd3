// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/pkg/antctl/multicluster"
)

// newMCGet makes the commands of antctl mc get.
func newMCGet(s *session) []*cobra.Command {
	exports := newMCList(s, "resourceexport", []string{"resourceexports", "re"}, "Get what members export, in the leader", (*multicluster.Cluster).ResourceExports)
	exports.Flags().String("cluster-id", "", "Only of this member")
	return []*cobra.Command{
		newMCList(s, "clusterset", []string{"clustersets"}, "Get ClusterSets and the state of their clusters", (*multicluster.Cluster).ClusterSets),
		exports,
		newMCList(s, "resourceimport", []string{"resourceimports", "ri"}, "Get what the leader gives to all members, in the leader", (*multicluster.Cluster).ResourceImports),
		newMCList(s, "membertoken", []string{"membertokens"}, "Get the tokens that antctl has made, in the leader", mcTokens),
		newMCJoinConfig(s),
	}
}

// newMCList makes a command that lists objects of one Namespace or of all.
func newMCList(s *session, use string, aliases []string, short string, list func(*multicluster.Cluster, context.Context, multicluster.Query) (multicluster.Listed, error)) *cobra.Command {
	var namespace string
	var all bool
	cmd := &cobra.Command{Use: use + " [NAME]", Aliases: aliases, Short: short, Args: cobra.MaximumNArgs(1)}
	addNamespace(cmd, &namespace, "", "Only of this Namespace; default: of all")
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "Of all Namespaces")
	addOutputFlags(cmd.Flags(), FormatTable)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		format, err := outputFormat(cmd.Flags())
		if err != nil {
			return err
		}
		if all && namespace != "" {
			return errors.New("--namespace and --all-namespaces: name one of them")
		}
		query := multicluster.Query{Namespace: namespace, Name: strings.Join(args, "")}
		if flag := cmd.Flags().Lookup("cluster-id"); flag != nil {
			query.ClusterID = flag.Value.String()
		}
		return s.mc(cmd, mcPatience, func(ctx context.Context, c *multicluster.Cluster) error {
			l, err := list(c, ctx, query)
			if err != nil {
				return err
			}
			return write(cmd.OutOrStdout(), Result{Data: l.Objects, Table: Table{Header: l.Header, Rows: l.Rows}}, format)
		})
	}
	return cmd
}

// mcTokens lists tokens. They are not shown themselves.
func mcTokens(c *multicluster.Cluster, ctx context.Context, q multicluster.Query) (multicluster.Listed, error) {
	l := multicluster.Listed{Header: []string{"NAMESPACE", "NAME"}, Objects: []map[string]any{}}
	tokens, err := c.Tokens(ctx, q.Namespace, q.Name)
	for _, t := range tokens {
		l.Rows = append(l.Rows, []string{t.Namespace, t.Name})
		object := map[string]any{"namespace": t.Namespace, "name": t.Name, "clusterID": t.ClusterID}
		if len(t.Networks) > 0 {
			object["networks"] = t.Networks
		}
		l.Objects = append(l.Objects, object)
	}
	return l, err
}

func newMCJoinConfig(s *session) *cobra.Command {
	var namespace, token string
	cmd := &cobra.Command{
		Use: "joinconfig", Short: "Print the file for antctl mc join, in the leader",
		Example: "  antctl mc get joinconfig -n antrea-multicluster --member-token east-token",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.mc(cmd, mcPatience, func(ctx context.Context, c *multicluster.Cluster) error {
				file, err := c.JoinFile(ctx, namespace, token)
				if err != nil {
					return err
				}
				_, err = cmd.OutOrStdout().Write(file)
				return err
			})
		},
	}
	addNamespace(cmd, &namespace, "", leaderNamespaceUsage)
	cmd.Flags().StringVar(&token, "member-token", "", "Also print this token of a member: who reads it can act as that member")
	return cmd
}
