// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/multicluster/manifest"
	"github.com/antrea-oncache/antrea/pkg/antctl/multicluster"
)

// mcPatience is the time that antctl mc waits for a controller, unless a flag says otherwise.
const mcPatience = time.Minute

// newMulticluster makes antctl mc.
func newMulticluster(s *session) *cobra.Command {
	group := newGroup("mc", "Connect clusters to a ClusterSet (Multi-cluster)")
	group.Aliases = []string{"multicluster"}
	deploy := newGroup("deploy", "Install the Multi-cluster controller")
	deploy.AddCommand(newMCDeploy(s, manifest.Leader, "Install the controller of a leader"), newMCDeploy(s, manifest.Member, "Install the controller of a member"))
	create := newGroup("create", "Make the token of a member")
	create.AddCommand(newMCCreateToken(s))
	remove := newGroup("delete", "Delete the token of a member")
	remove.AddCommand(newMCDeleteToken(s))
	get := newGroup("get", "Get what clusters exchange, tokens, and the file to join with")
	get.AddCommand(newMCGet(s)...)
	group.AddCommand(deploy, create, remove, get, newMCInit(s), newMCJoin(s), newMCLeave(s), newMCDestroy(s))
	return group
}

// mc runs a command of antctl mc. Servers contribute to the text of errors.
func (s *session) mc(cmd *cobra.Command, patience time.Duration, run func(context.Context, *multicluster.Cluster) error) error {
	ctx := cmd.Context()
	if s.conn.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.conn.timeout)
		defer cancel()
	}
	kubernetes, err := newKubernetesClient(s.conn)
	if err != nil {
		return cleanError{err}
	}
	kube, err := s.clientset()
	if err != nil {
		return cleanError{err}
	}
	client, err := dynamic.NewForConfig(kubernetes.config)
	if err != nil {
		return cleanError{fmt.Errorf("connecting to the Kubernetes API %s: %w", kubernetes.base, err)}
	}
	cluster := &multicluster.Cluster{
		Kube: kube, Dynamic: client, Server: strings.TrimSuffix(kubernetes.base.String(), "/"), Interval: time.Second, Patience: patience,
		// The standard output is for what a command is asked for.
		Say: func(format string, args ...any) {
			_, _ = fmt.Fprintln(cmd.ErrOrStderr(), clean(fmt.Sprintf(format, args...)))
		},
	}
	if err := run(ctx, cluster); err != nil {
		return cleanError{err}
	}
	return nil
}

// addNamespace adds the flag -n.
func addNamespace(cmd *cobra.Command, namespace *string, value, usage string) {
	cmd.Flags().StringVarP(namespace, "namespace", "n", value, usage)
}

const leaderNamespaceUsage = "The leader's Namespace, such as antrea-multicluster (required)"
