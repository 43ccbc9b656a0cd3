// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/restmapper"

	"github.com/antrea-oncache/antrea/multicluster/manifest"
	"github.com/antrea-oncache/antrea/pkg/antctl/multicluster"
	"github.com/antrea-oncache/antrea/pkg/version"
)

// mcDeploy are the flags of antctl mc deploy.
type mcDeploy struct {
	namespace, version, file string
	wait                     time.Duration
}

func newMCDeploy(s *session, role, short string) *cobra.Command {
	f := &mcDeploy{}
	cmd := &cobra.Command{
		Use: role, Short: short,
		Long: short + " in a Namespace, which is made if it is missing, and wait until it works. It can be run again.\n" +
			"The manifest is part of antctl; --manifest-file names another one.",
		Example: "  antctl mc deploy " + role + " -n " + mcNamespaces[role],
		Args:    cobra.NoArgs,
	}
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return s.mc(cmd, f.wait, func(ctx context.Context, c *multicluster.Cluster) error { return f.run(ctx, c, role) })
	}
	addNamespace(cmd, &f.namespace, "", "The controller's Namespace, such as "+mcNamespaces[role]+" (required)")
	cmd.Flags().StringVar(&f.version, "antrea-version", "latest", "The version of the controller, which is antctl's own")
	cmd.Flags().StringVarP(&f.file, "manifest-file", "f", "", "A manifest instead of antctl's own")
	cmd.Flags().DurationVar(&f.wait, "wait", 2*time.Minute, "Time limit for the controller to work")
	return cmd
}

var mcNamespaces = map[string]string{manifest.Leader: manifest.LeaderNamespace, manifest.Member: manifest.MemberNamespace}

func (f *mcDeploy) run(ctx context.Context, c *multicluster.Cluster, role string) error {
	content, source, err := f.manifest(role)
	if err != nil {
		return err
	}
	objects, err := multicluster.ParseManifest(content)
	if err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	groups, err := restmapper.GetAPIGroupResources(c.Kube.Discovery())
	if err != nil {
		return fmt.Errorf("asking the Kubernetes API for its resources: %w", err)
	}
	return c.Deploy(ctx, f.namespace, objects, restmapper.NewDiscoveryRESTMapper(groups))
}

// manifest returns the manifest and its name.
func (f *mcDeploy) manifest(role string) (content []byte, source string, err error) {
	if f.file != "" {
		content, err = os.ReadFile(f.file)
		return content, f.file, err
	}
	if f.version != "latest" && f.version != version.Version {
		return nil, "", fmt.Errorf("--antrea-version: this antctl has the manifest of %s only, not of %q; use antctl of that version, or --manifest-file", version.Version, f.version)
	}
	if f.namespace == "" {
		return nil, "", errors.New("--namespace is missing")
	}
	content, err = manifest.Render(role, f.namespace)
	return content, "the manifest of " + role, err
}
