// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

type bundleFlags struct {
	directory      string
	since          time.Duration
	controllerOnly bool
	nodeListFile   string
	selector       string
}

func newSupportBundle(s *session) *cobra.Command {
	f := &bundleFlags{}
	cmd := &cobra.Command{
		Use:     "supportbundle",
		Aliases: []string{"supportbundles", "sb"},
		Short:   "Collect logs and state into files",
		Long: "Collect logs and state of the component in this Pod into a file.\n" +
			"Tokens, keys and passwords are removed where they are recognized. Look through the files before you send them to others.",
		Example: "  antctl supportbundle\n  antctl supportbundle -d /tmp/bundle --since 1h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.run(cmd, s, args); err != nil {
				var missing *missingParts
				if errors.As(err, &missing) {
					return missing
				}
				return cleanError{err}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.directory, "dir", "d", "", "Directory for the files; default: support-bundles_ with the time, in the current directory")
	flags.DurationVar(&f.since, "since", 0, "Only log files that were written to within this time, for example 30m or 2h; default: all")
	if s.env.InPod {
		return cmd
	}
	cmd.Use = "supportbundle [nodeName...]"
	cmd.Long = "Collect logs and state of the controller, of the agents, and of the cluster into files.\n" +
		"Arguments select Nodes by name or by pattern, such as 'worker-*'. Of an agent that does not answer, the logs are read from the Kubernetes API.\n" +
		"Tokens, keys and passwords are removed where they are recognized. Look through the files before you send them to others."
	cmd.Example = "  antctl supportbundle\n  antctl supportbundle worker-1 worker-2 --since 1h\n  antctl supportbundle 'worker-*' -d /tmp/bundle\n" +
		"  antctl supportbundle -l kubernetes.io/arch=arm64\n  antctl supportbundle --controller-only"
	cmd.Args = cobra.ArbitraryArgs
	flags.BoolVar(&f.controllerOnly, "controller-only", false, "Only from the controller, and about the cluster")
	flags.StringVar(&f.nodeListFile, "node-list-file", "", "A file with names or patterns of Nodes, one per line")
	flags.StringVarP(&f.selector, "label-selector", "l", "", "Only Nodes with these labels")
	return cmd
}

// run collects everything and names what is missing.
func (f *bundleFlags) run(cmd *cobra.Command, s *session, args []string) error {
	directory, err := f.collect(cmd, s, args)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "Created bundle under %s\n", directory)
	return err
}

// afterFailure collects everything, and says on the standard error what became of it: the standard output is another command's.
func (f *bundleFlags) afterFailure(cmd *cobra.Command, s *session) {
	directory, err := f.collect(cmd, s, nil)
	message := "A check has failed: look through the support bundle under " + directory + " before you send it to others"
	if err != nil {
		message = "The support bundle: " + err.Error()
	}
	// Names and errors come from servers.
	_, _ = fmt.Fprintln(cmd.ErrOrStderr(), strings.TrimSpace(cleanText(message)))
}

// collect returns the directory in which the files are.
func (f *bundleFlags) collect(cmd *cobra.Command, s *session, args []string) (string, error) {
	if f.since < 0 {
		return "", fmt.Errorf("--since: %v is not a time that has passed; allowed: for example 30m or 2h", f.since)
	}
	sources, clusterInfo, err := f.sources(cmd.Context(), s, args)
	if err != nil {
		return "", err
	}
	directory := f.directory
	if directory == "" {
		directory = "support-bundles_" + time.Now().Format("20060102T150405Z0700")
	}
	made, err := makeDirectory(directory)
	if err != nil {
		return "", err
	}
	c := &bundleCollection{directory: directory, since: f.since, limit: s.conn.timeout, progress: newBundleProgress(cmd.ErrOrStderr(), len(sources))}
	failed := c.collect(cmd.Context(), sources)
	if clusterInfo != nil {
		if err := writeFile(filepath.Join(directory, "clusterinfo"), func(w io.Writer) error { return clusterInfo(cmd.Context(), w, cmd.ErrOrStderr()) }); err != nil {
			failed = append(failed, fmt.Errorf("cluster information: %w", err))
		}
	}
	if made {
		// It is empty if nothing could be collected, and only then this succeeds.
		_ = os.Remove(directory)
	}
	if len(failed) > 0 {
		return "", &missingParts{directory: directory, failed: failed}
	}
	return directory, nil
}

// missingParts has an error for each part that is missing. It is safe to print: each is on a line of its own.
type missingParts struct {
	directory string
	failed    []error
}

func (m *missingParts) Error() string {
	parts := fmt.Sprintf("%d parts of the support bundle are", len(m.failed))
	if len(m.failed) == 1 {
		parts = "1 part of the support bundle is"
	}
	lines := []string{clean(fmt.Sprintf("%s missing; the rest is in %s:", parts, m.directory))}
	for _, err := range m.failed {
		lines = append(lines, clean(err.Error()))
	}
	return strings.Join(lines, "\n")
}

// sources are the components to collect from, and a function that describes the cluster, which is nil in a Pod.
func (f *bundleFlags) sources(ctx context.Context, s *session, args []string) ([]bundleSource, func(context.Context, io.Writer, io.Writer) error, error) {
	if s.env.InPod {
		connect := func(context.Context) (*client, error) {
			return newLoopbackClient(s.env.Mode, s.conn.server, s.tokenFile)
		}
		component := string(s.env.Mode)
		return []bundleSource{{name: component, component: component, file: component + ".tar.gz", connect: connect}}, nil, nil
	}
	kubernetes, err := newKubernetesClient(s.conn)
	if err != nil {
		return nil, nil, err
	}
	patterns := args
	if f.nodeListFile != "" {
		listed, err := readList(f.nodeListFile)
		if err != nil {
			return nil, nil, err
		}
		patterns = append(patterns, listed...)
	}
	if f.controllerOnly && (len(patterns) > 0 || f.nodeListFile != "" || f.selector != "") {
		return nil, nil, errors.New("--controller-only: no Nodes can be selected with it; leave out the names, --node-list-file and --label-selector")
	}
	logs := podLogs{kubernetes: kubernetes, component: "antrea-controller"}
	sources := []bundleSource{{name: "controller", component: "controller", file: "controller.tar.gz", logs: &logs, connect: func(ctx context.Context) (*client, error) {
		controller, err := findController(ctx, kubernetes)
		if err != nil {
			return nil, err
		}
		return controller.client(ctx)
	}}}
	if !f.controllerOnly {
		nodes, err := selectNodes(ctx, kubernetes, patterns, f.selector)
		if err != nil {
			return nil, nil, err
		}
		for _, node := range nodes {
			logs := podLogs{kubernetes: kubernetes, component: "antrea-agent", node: node}
			sources = append(sources, bundleSource{name: "Node " + node, component: "agent", file: "agent_" + node + ".tar.gz", logs: &logs, connect: func(ctx context.Context) (*client, error) {
				agent, err := findAgent(ctx, kubernetes, node)
				if err != nil {
					return nil, err
				}
				return agent.client(ctx)
			}})
		}
	}
	return sources, func(ctx context.Context, w, log io.Writer) error { return writeClusterInfo(ctx, kubernetes, w, log) }, nil
}

// readList reads the lines of a file; empty ones and those that begin with # are left out.
func readList(file string) ([]string, error) {
	content, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("--node-list-file: %w", err)
	}
	defer content.Close()
	var list []string
	for lines := bufio.NewScanner(content); lines.Scan(); {
		if line := strings.TrimSpace(lines.Text()); line != "" && !strings.HasPrefix(line, "#") {
			list = append(list, line)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("--node-list-file: %s has no name of a Node", file)
	}
	return list, nil
}

// selectNodes returns the names of the Nodes that match one of the patterns, if there are any, and the selector.
func selectNodes(ctx context.Context, kubernetes *client, patterns []string, selector string) ([]string, error) {
	if _, err := labels.Parse(selector); err != nil {
		return nil, fmt.Errorf("--label-selector: %w", err)
	}
	query := url.Values{}
	if selector != "" {
		query.Set("labelSelector", selector)
	}
	var list corev1.NodeList
	if err := kubernetes.getWith(ctx, "/api/v1/nodes", query, &list); err != nil {
		return nil, fmt.Errorf("listing the Nodes: %w", err)
	}
	var names []string
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	slices.Sort(names)
	if len(patterns) == 0 {
		return names, nil
	}
	chosen := map[string]bool{}
	for _, pattern := range patterns {
		found := false
		for _, name := range names {
			matches, err := path.Match(pattern, name)
			if err != nil {
				return nil, fmt.Errorf("%q is not the name of a Node or a pattern: %w", pattern, err)
			}
			if matches {
				chosen[name], found = true, true
			}
		}
		if !found {
			return nil, fmt.Errorf("no Node has the name %q; there are: %s", pattern, Summary(names))
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return !chosen[name] }), nil
}

// makeDirectory reports whether the directory did not exist.
func makeDirectory(directory string) (made bool, err error) {
	if _, err := os.Stat(directory); errors.Is(err, os.ErrNotExist) {
		made = true
	}
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return false, fmt.Errorf("--dir: %w", err)
	}
	return made, nil
}

// writeFile makes a file that only the user can read, or none: it has its name once it is complete. It replaces regular files only: a rename over
// /dev/null or /dev/stdout would take the device from everyone.
func writeFile(name string, content func(io.Writer) error) error {
	if err := checkReplaceable(name); err != nil {
		return err
	}
	partial, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".partial-")
	if err != nil {
		return err
	}
	err = content(partial)
	err = errors.Join(err, partial.Close())
	if err == nil {
		err = os.Rename(partial.Name(), name)
	}
	if err != nil {
		_ = os.Remove(partial.Name())
	}
	return err
}

func checkReplaceable(name string) error {
	info, err := os.Lstat(name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s exists and is not a regular file (its mode is %s); give the name of a file", name, info.Mode())
	}
	return nil
}
