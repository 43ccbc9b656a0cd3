// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/antctl/multicluster"
)

func newMCInit(s *session) *cobra.Command {
	var namespace, set, id, file string
	cmd := &cobra.Command{
		Use: "init", Short: "Make this cluster the leader of a new ClusterSet",
		Example: "  antctl mc init --clusterset cs1 --clusterid north -n antrea-multicluster -j join.yml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.mc(cmd, mcPatience, func(ctx context.Context, c *multicluster.Cluster) error {
				return c.Init(ctx, namespace, set, id, func(content []byte) error {
					if file == "" {
						return nil
					}
					// It contains no secret.
					return writeNew(file, content, 0o644)
				})
			})
		},
	}
	addNamespace(cmd, &namespace, "", leaderNamespaceUsage)
	cmd.Flags().StringVar(&set, "clusterset", "", "ID of the ClusterSet (required)")
	cmd.Flags().StringVar(&id, "clusterid", "", "ID of this cluster (required)")
	cmd.Flags().StringVarP(&file, "join-config-file", "j", "", "File to write for antctl mc join; it has no token")
	return cmd
}

// mcJoin are the flags of antctl mc join. Values of the file count more.
type mcJoin struct {
	multicluster.JoinConfig
	file string
}

func newMCJoin(s *session) *cobra.Command {
	f := &mcJoin{}
	cmd := &cobra.Command{
		Use: "join", Short: "Make this cluster a member of a ClusterSet",
		Long:    "Make this cluster a member of a ClusterSet, and wait until it is connected with the leader. If it is not, nothing is left.",
		Example: "  antctl mc join --config-file join.yml --clusterid east --token-secret-file east.yml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, secret, err := f.read()
			if err != nil {
				return cleanError{err}
			}
			return s.mc(cmd, mcPatience, func(ctx context.Context, c *multicluster.Cluster) error {
				if err := c.Join(ctx, config, secret); err != nil {
					return err
				}
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "Member cluster joined successfully")
				return err
			})
		},
	}
	addNamespace(cmd, &f.Namespace, multicluster.DefaultMemberNamespace, "Namespace of the member's controller")
	flags := cmd.Flags()
	flags.StringVar(&f.ClusterSetID, "clusterset", "", "ID of the ClusterSet")
	flags.StringVar(&f.ClusterID, "clusterid", "", "ID of this cluster, for which the token was made")
	flags.StringVar(&f.LeaderClusterID, "leader-clusterid", "", "ID of the leader")
	flags.StringVar(&f.LeaderNamespace, "leader-namespace", "", "Namespace of the leader's controller")
	flags.StringVar(&f.LeaderAPIServer, "leader-apiserver", "", "URL of the leader's Kubernetes API")
	flags.StringVar(&f.TokenSecretName, "token-secret-name", "", "Secret in this cluster that has the token")
	flags.StringVar(&f.TokenSecretFile, "token-secret-file", "", "File with the Secret that has the token, which antctl makes")
	flags.StringVarP(&f.file, "config-file", "f", "", "File of antctl mc init or get joinconfig; what it contains counts more than flags")
	return cmd
}

// read returns what to join, and the Secret to make, if there is one.
func (f *mcJoin) read() (multicluster.JoinConfig, *corev1.Secret, error) {
	config := f.JoinConfig
	var secret *corev1.Secret
	if f.file != "" {
		err := readInput(f.file, func(r io.Reader) error {
			in, included, err := multicluster.ReadJoin(r)
			secret = included
			for to, from := range map[*string]string{
				&config.ClusterSetID: in.ClusterSetID, &config.ClusterID: in.ClusterID, &config.Namespace: in.Namespace,
				&config.LeaderClusterID: in.LeaderClusterID, &config.LeaderNamespace: in.LeaderNamespace, &config.LeaderAPIServer: in.LeaderAPIServer,
				&config.TokenSecretName: in.TokenSecretName, &config.TokenSecretFile: in.TokenSecretFile,
			} {
				if from != "" {
					*to = from
				}
			}
			return err
		})
		if err != nil {
			return config, nil, fmt.Errorf("--config-file: %w", err)
		}
	}
	switch {
	case config.TokenSecretName != "":
		return config, nil, nil
	case config.TokenSecretFile != "":
		err := readInput(config.TokenSecretFile, func(r io.Reader) (err error) {
			secret, err = multicluster.ReadSecret(r)
			return err
		})
		if err != nil {
			return config, nil, fmt.Errorf("--token-secret-file: %w", err)
		}
	}
	return config, secret, nil
}

// readInput reads a file. Its name is part of errors.
func readInput(name string, read func(io.Reader) error) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := read(file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// writeNew writes a file, which it makes or replaces as a whole.
func writeNew(name string, content []byte, mode os.FileMode) error {
	return writeFile(name, func(w io.Writer) error {
		_, err := w.Write(content)
		if file, ok := w.(*os.File); ok && err == nil {
			err = file.Chmod(mode)
		}
		return err
	})
}

func newMCLeave(s *session) *cobra.Command {
	return newMCEnd(s, "leave", "End this cluster's membership in a ClusterSet", multicluster.DefaultMemberNamespace, (*multicluster.Cluster).Leave)
}

func newMCDestroy(s *session) *cobra.Command {
	return newMCEnd(s, "destroy", "End a ClusterSet in its leader, which has no members any more", "", (*multicluster.Cluster).Destroy)
}

func newMCEnd(s *session, use, short, namespaceDefault string, end func(*multicluster.Cluster, context.Context, string, string) error) *cobra.Command {
	var namespace, set string
	cmd := &cobra.Command{
		Use: use, Short: short, Long: short + ". Secrets, ServiceAccounts and RoleBindings that antctl mc has made in the Namespace are deleted.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.mc(cmd, mcPatience, func(ctx context.Context, c *multicluster.Cluster) error { return end(c, ctx, namespace, set) })
		},
	}
	usage := "The member's Namespace"
	if namespaceDefault == "" {
		usage = leaderNamespaceUsage
	}
	addNamespace(cmd, &namespace, namespaceDefault, usage)
	cmd.Flags().StringVar(&set, "clusterset", "", "ID of the ClusterSet (required)")
	return cmd
}
