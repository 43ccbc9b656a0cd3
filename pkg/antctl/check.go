// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/antctl/check"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
)

// defaultTestImage is the image of the Pods of antctl check installation: Kubernetes' own for tests.
const defaultTestImage = "registry.k8s.io/e2e-test-images/agnhost:2.40"

var checkFormats = []string{check.FormatText, check.FormatJSON, check.FormatJUnit}

func newCheck(s *session) *cobra.Command {
	group := &cobra.Command{
		Use: "check", Short: "Check a cluster, or an installed Antrea", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	group.PersistentFlags().StringP("output", "o", check.FormatText, "Output format: text, json or junit")
	group.AddCommand(newCheckCluster(s), &cobra.Command{
		Use: "migration", Short: "Check what a cluster with upstream Antrea would lose",
		Long: "Check which settings, objects and annotations of a cluster with upstream Antrea have no effect in this version, or keep it from starting.\n" +
			"Nothing is changed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.check(cmd, s.checkObjects(check.Migration)) },
	})
	group.AddCommand(newCheckInstallation(s), newPerformance(s))
	return group
}

func newCheckInstallation(s *session) *cobra.Command {
	installation, bundle := &check.Installation{Limits: testpods.Limits{Interval: time.Second}}, &bundleFlags{}
	cmd := &cobra.Command{
		Use: "installation", Short: "Check whether an installed Antrea works",
		Long: "Check whether controller and agents work, and send traffic between Pods, which are made for that in a Namespace of their own\n" +
			"and removed. With the feature gate ONCache, traffic between Nodes must take the fast path.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.check(cmd, func(ctx context.Context, r *check.Report) error {
				installation.Report = r
				if bundle.directory != "" {
					installation.Collect = func() { bundle.afterFailure(cmd, s) }
				}
				return s.checkInstallation(ctx, installation)
			})
		},
	}
	cmd.Flags().StringVar(&installation.Image, "test-image", defaultTestImage, "Image of the Pods: agnhost, with sh and curl")
	cmd.Flags().DurationVar(&installation.Patience, "patience", time.Minute, "Time limit for a Pod to start, and for its work")
	cmd.Flags().StringVar(&bundle.directory, "bundle", "", "Directory for a support bundle, which is collected if a check fails")
	return cmd
}

func newCheckCluster(s *session) *cobra.Command {
	files := &check.NodeFiles{Limits: testpods.Limits{Interval: time.Second}}
	cmd := &cobra.Command{
		Use: "cluster", Short: "Check whether Antrea can be installed in the cluster",
		Long: "Check whether Antrea can be installed in the cluster, by objects of the Kubernetes API. Nothing is changed.\n" +
			"With --image, also look at the Nodes, by a Pod on each, which only reads and is removed: kernel modules, bpffs, CNI configuration, Open vSwitch and ports;\n" +
			"and what makes tunnels slow: receive queues, offloads, MTU, busy CPUs.",
		Example: "  antctl check cluster\n  antctl check cluster --image registry.example.com/network/antrea-agent-ubuntu:v0.1.0",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return s.check(cmd, func(ctx context.Context, r *check.Report) error {
				if err := s.checkObjects(check.Cluster)(ctx, r); err != nil || files.Image == "" {
					return err
				}
				files.Report = r
				return s.checkNodes(ctx, files)
			})
		},
	}
	cmd.Flags().StringVar(&files.Image, "image", "", "The agent's image, which the Nodes have or can pull; looks at the Nodes themselves")
	cmd.Flags().DurationVar(&files.Patience, "patience", time.Minute, "Time limit for a Pod to start, and for its work")
	return cmd
}

func (s *session) checkNodes(ctx context.Context, files *check.NodeFiles) (err error) {
	if files.Kube, err = s.clientset(); err != nil {
		return err
	}
	files.Logs = func(ctx context.Context, pod *corev1.Pod) ([]byte, error) {
		return files.Kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	}
	return files.Run(ctx)
}

// check runs checks and prints their results. It fails when one of them has failed.
func (s *session) check(cmd *cobra.Command, checks func(context.Context, *check.Report) error) error {
	ctx := cmd.Context()
	if s.conn.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.conn.timeout)
		defer cancel()
	}
	format, err := cmd.Flags().GetString("output")
	if err != nil {
		return err
	}
	if !slices.Contains(checkFormats, format) {
		return fmt.Errorf("--output: %q is not a format; allowed: %s", format, strings.Join(checkFormats, ", "))
	}
	report := &check.Report{Out: cleanWriter{cmd.OutOrStdout()}, Format: format}
	if err := checks(ctx, report); err != nil {
		return cleanError{err}
	}
	if err := report.End(); err != nil {
		return err
	}
	return report.Err()
}

func (s *session) clientset() (kubernetes.Interface, error) {
	config, err := restConfig(s.conn)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
	}
	return kube, nil
}

// checkObjects returns checks that read objects of the Kubernetes API.
func (s *session) checkObjects(checks func(context.Context, kubernetes.Interface, dynamic.Interface, *check.Report) error) func(context.Context, *check.Report) error {
	return func(ctx context.Context, r *check.Report) error {
		kube, err := s.clientset()
		if err != nil {
			return err
		}
		config, err := restConfig(s.conn)
		if err != nil {
			return err
		}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
		}
		return checks(ctx, kube, client, r)
	}
}

func (s *session) checkInstallation(ctx context.Context, i *check.Installation) (err error) {
	if i.Kube, err = s.clientset(); err != nil {
		return err
	}
	kubernetes, err := newKubernetesClient(s.conn)
	if err != nil {
		return err
	}
	i.Agents = &agents{kubernetes: kubernetes, found: map[string]*component{}}
	return i.Run(ctx)
}

// agents asks agents from anywhere.
type agents struct {
	kubernetes *client
	found      map[string]*component
}

// Get asks the agent of a Node.
func (a *agents) Get(ctx context.Context, node, path string, query url.Values, answer any) error {
	body, err := a.send(ctx, node, http.MethodGet, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("decoding %s of the agent of Node %s: %w", path, node, err)
	}
	return nil
}

// SetMode changes the mode of the cache of a Node.
func (a *agents) SetMode(ctx context.Context, node, mode string) error {
	endpoint := oncacheModeDefinition.Agent
	_, err := a.send(ctx, node, http.MethodPut, endpoint.Path, url.Values{endpoint.ChangedBy: {mode}})
	return err
}

func (a *agents) send(ctx context.Context, node, method, path string, query url.Values) ([]byte, error) {
	agent := a.found[node]
	if agent == nil {
		var err error
		if agent, err = findAgent(ctx, a.kubernetes, node); err != nil {
			return nil, err
		}
		a.found[node] = agent
	}
	c, err := agent.client(ctx)
	if err != nil {
		return nil, err
	}
	defer c.http.CloseIdleConnections()
	return c.do(ctx, method, path, query)
}
