// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/antrea-oncache/antrea/pkg/antctl/performance"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
)

// performancePort is not among the ports of Antrea and Kubernetes.
const performancePort = 10399

// formatSVG is a format of this command only.
const formatSVG Format = "svg"

func newPerformance(s *session) *cobra.Command {
	test := &performance.Test{Limits: testpods.Limits{Interval: time.Second}}
	var output string
	cmd := &cobra.Command{
		Use: "performance", Short: "Measure what the overlay costs between two Nodes, and what the fast path gains",
		Long: "Measure round trips, throughput and connections between two Nodes, in alternating rounds: from host to host, and from Pod to Pod without and with the\n" +
			"fast path. The Pods have the agent's image and are removed. Meanwhile the mode of the fast path (antctl oncache mode) changes on both Nodes, for all\n" +
			"their Pods; no packet is lost, and it is restored at the end. Without the feature gate ONCache only hosts and Pods are compared.\n" +
			"antctl check cluster --image says what makes tunnels slow on these Nodes.",
		Example: "  antctl check performance\n  antctl check performance --nodes node-1,node-2 --rounds 20 -o json\n  antctl check performance -o svg >gain.svg",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.checkPerformance(cmd, test, Format(output)); err != nil {
				return cleanError{err}
			}
			return nil
		},
	}
	f := cmd.Flags()
	f.StringVarP(&output, "output", "o", string(FormatTable), "Output format: table, json (all measurements) or svg (a picture)")
	f.StringSliceVar(&test.Nodes, "nodes", nil, "Names of two Nodes, of the clients and of the servers")
	f.IntVar(&test.Rounds, "rounds", 7, fmt.Sprintf("Number of measurements of each workload in each state; a confidence interval needs %d", performance.FewestRounds))
	f.DurationVar(&test.Duration, "duration", 2*time.Second, "Time of one measurement")
	f.IntVar(&test.Port, "port", performancePort, "Port of the servers, TCP and UDP, on the hosts as well")
	f.DurationVar(&test.Patience, "patience", time.Minute, "Time limit for a Pod to start")
	return cmd
}

func (s *session) checkPerformance(cmd *cobra.Command, test *performance.Test, format Format) (err error) {
	if format != FormatTable && format != FormatJSON && format != formatSVG {
		return fmt.Errorf("--output: %q is not a format; allowed: %s, %s, %s", format, FormatTable, FormatJSON, formatSVG)
	}
	if test.Rounds < 1 || test.Duration <= 0 {
		return fmt.Errorf("--rounds %d and --duration %s must be positive", test.Rounds, test.Duration)
	}
	ctx := cmd.Context()
	if s.conn.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.conn.timeout)
		defer cancel()
	}
	if test.Kube, err = s.clientset(); err != nil {
		return err
	}
	kubernetes, err := newKubernetesClient(s.conn)
	if err != nil {
		return err
	}
	test.Agents = &agents{kubernetes: kubernetes, found: map[string]*component{}}
	test.Exec = executor{kubernetes.config, test.Kube.CoreV1().RESTClient()}.exec
	test.Progress = cleanWriter{cmd.ErrOrStderr()}
	result, err := test.Run(ctx)
	if result == nil {
		return err
	}
	return errors.Join(err, printPerformance(cleanWriter{cmd.OutOrStdout()}, result, format))
}

func printPerformance(out io.Writer, result *performance.Result, format Format) error {
	switch format {
	case FormatTable:
		return result.Print(out)
	case formatSVG:
		_, err := io.WriteString(out, result.Picture())
		return err
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

// executor runs commands in Pods through the Kubernetes API. The user needs the right to create pods/exec.
type executor struct {
	config *rest.Config
	client rest.Interface
}

func (e executor) exec(ctx context.Context, pod types.NamespacedName, command ...string) ([]byte, error) {
	target := e.client.Post().Resource("pods").Namespace(pod.Namespace).Name(pod.Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Command: command, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	// As for port forwarding, SPDY is for what does not speak WebSocket.
	webSocket, err := remotecommand.NewWebSocketExecutor(e.config, "GET", target.String())
	if err != nil {
		return nil, err
	}
	older, err := remotecommand.NewSPDYExecutor(e.config, "POST", target)
	if err != nil {
		return nil, err
	}
	both, err := remotecommand.NewFallbackExecutor(webSocket, older, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	if err != nil {
		return nil, err
	}
	var stdout, stderr bytes.Buffer
	err = both.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr})
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return stdout.Bytes(), nil
}
