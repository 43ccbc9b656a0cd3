// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

const (
	// statusPatience limits the time for the answers of one Node without --timeout.
	statusPatience = 10 * time.Second
	// statusInterval is the time between two looks of --wait.
	statusInterval = 2 * time.Second
)

// clusterStatus is the output of antctl status.
type clusterStatus struct {
	Healthy bool `json:"healthy"`
	// Controller is the controller's version and state, or why it has none.
	Controller string       `json:"controller"`
	Nodes      []nodeStatus `json:"nodes"`
}

// nodeStatus is the state of a Node, from its agent. Without an answer only Node and Error are set.
type nodeStatus struct {
	Node    string `json:"node"`
	Version string `json:"version,omitempty"`
	Healthy bool   `json:"healthy"`
	// ONCache is the state of the cache, or Off without the gate; Reason says why it is not Active.
	ONCache string `json:"oncache,omitempty"`
	Reason  string `json:"reason,omitempty"`
	// Hits and Misses are packets of both directions since the agent's start; Flows is the number of entries.
	Hits     uint64         `json:"hits"`
	Misses   uint64         `json:"misses"`
	Flows    int            `json:"flows"`
	Policies int32          `json:"policies"`
	Pods     int32          `json:"pods"`
	Problems []apis.Problem `json:"problems,omitempty"`
	Error    string         `json:"error,omitempty"`
}

func newStatus(s *session) *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use: "status", Args: cobra.NoArgs,
		Short: "Print the state of all Nodes, one per line",
		Long: "Print the state of the controller and of all Nodes, one per line. The command fails if an agent or the controller does not answer or is not healthy,\n" +
			"or if an agent reports a problem (antctl get problems).",
		Example: "  antctl status\n  antctl status --wait 5m\n  antctl status -o json",
	}
	cmd.Flags().DurationVar(&patience, "wait", 0, "Time to wait at most until all is healthy, for example 5m")
	addOutputFlags(cmd.Flags(), FormatTable)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		format, err := outputFormat(cmd.Flags())
		if err != nil {
			return err
		}
		if err := s.printStatus(cmd, format, patience); err != nil {
			return cleanError{err}
		}
		return nil
	}
	return cmd
}

func (s *session) printStatus(cmd *cobra.Command, format Format, patience time.Duration) error {
	kubernetes, err := newKubernetesClient(s.conn)
	if err != nil {
		return err
	}
	var status clusterStatus
	look := func(ctx context.Context) (bool, error) {
		status, err = s.clusterStatus(ctx, kubernetes)
		return err == nil && status.Healthy, nil
	}
	if patience == 0 {
		_, _ = look(cmd.Context()) // its error is err
	} else if waited := wait.PollUntilContextTimeout(cmd.Context(), statusInterval, patience, true, look); waited != nil && cmd.Context().Err() != nil {
		return waited
	}
	if err != nil {
		return err
	}
	if err := write(cmd.OutOrStdout(), status.result(), format); err != nil {
		return err
	}
	if !status.Healthy {
		return errors.New("not healthy, see above")
	}
	return nil
}

// clusterStatus asks the controller and the agents of all Nodes. It fails only without the Kubernetes API.
func (s *session) clusterStatus(ctx context.Context, kubernetes *client) (clusterStatus, error) {
	var nodes corev1.NodeList
	if err := kubernetes.get(ctx, "/api/v1/nodes", &nodes); err != nil {
		return clusterStatus{}, fmt.Errorf("listing the Nodes: %w", err)
	}
	var names []string
	for i := range nodes.Items {
		names = append(names, nodes.Items[i].Name)
	}
	slices.Sort(names)
	status := clusterStatus{Healthy: true}
	var controller controllerInfo
	if err := kubernetes.get(ctx, controllerInfoPath, &controller); err != nil {
		status.Controller, status.Healthy = "no answer: "+err.Error(), false
	} else {
		state := controllerStatus(controller)
		status.Healthy = state == healthText(corev1.ConditionTrue)
		status.Controller = fmt.Sprintf("%s, %s, %d connected agents", controller.Version, state, controller.ConnectedAgentNum)
	}
	answers := make([]nodeStatus, len(names))
	forAll(names, func(i int, name string) { answers[i] = s.nodeStatus(ctx, kubernetes, name) })
	status.Nodes = answers
	for _, node := range answers {
		status.Healthy = status.Healthy && node.Healthy && node.Error == "" && len(node.Problems) == 0
	}
	return status, nil
}

// nodeStatus asks the agent of one Node.
func (s *session) nodeStatus(ctx context.Context, kubernetes *client, name string) nodeStatus {
	status := nodeStatus{Node: name}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.conn.timeout, statusPatience))
	defer cancel()
	c, err := agentClient(ctx, kubernetes, name)
	if err == nil {
		defer c.http.CloseIdleConnections()
		err = status.ask(ctx, c)
	}
	if err != nil {
		return nodeStatus{Node: name, Error: err.Error()}
	}
	return status
}

func (n *nodeStatus) ask(ctx context.Context, c *client) error {
	var info apis.AgentInfo
	if err := c.get(ctx, "/agentinfo", &info); err != nil {
		return err
	}
	n.Version, n.Healthy = info.Version, agentStatus(info) == healthText(corev1.ConditionTrue)
	n.Policies, n.Pods = info.NetworkPolicyControllerInfo.NetworkPolicyNum, info.LocalPodNum
	if err := c.get(ctx, "/problems", &n.Problems); err != nil {
		return err
	}
	body, err := c.do(ctx, http.MethodGet, "/oncache", nil)
	if refused := (*refusal)(nil); errors.As(err, &refused) && refused.code == http.StatusServiceUnavailable {
		n.ONCache = "Off"
		return nil
	}
	if err != nil {
		return err
	}
	var cache api.Status
	if err := json.Unmarshal(body, &cache); err != nil {
		return fmt.Errorf("decoding /oncache: %w", err)
	}
	n.ONCache, n.Reason, n.Flows = cache.State, cache.Reason, cache.Egress.Entries+cache.Ingress.Entries
	n.Hits, n.Misses = cache.Egress.Hits+cache.Ingress.Hits, cache.Egress.Misses+cache.Ingress.Misses
	return nil
}

// result lays out the status: a line for the controller, a table of the Nodes, a line for each reason, problem and error, and one with the sum.
func (c clusterStatus) result() Result {
	t := Table{Header: []string{"NODE", "VERSION", "HEALTHY", "ONCACHE", "HIT-RATE", "FLOWS", "PODS", "POLICIES", "PROBLEMS"}, Unsorted: true}
	details, accelerating := "", 0
	for _, n := range c.Nodes {
		if n.Error != "" {
			t.Rows = append(t.Rows, []string{n.Node, "-", "no answer", "-", "-", "-", "-", "-", "-"})
			details += n.Node + ": " + n.Error + "\n"
			continue
		}
		healthy := "yes"
		if !n.Healthy {
			healthy = "no"
		}
		t.Rows = append(t.Rows, []string{n.Node, n.Version, healthy, n.ONCache, percent(n.Hits, n.Hits+n.Misses), fmt.Sprint(n.Flows), fmt.Sprint(n.Pods),
			fmt.Sprint(n.Policies), fmt.Sprint(len(n.Problems))})
		if n.Reason != "" {
			details += n.Node + ": ONCache is " + n.ONCache + ": " + n.Reason + "\n"
		}
		for _, p := range n.Problems {
			details += n.Node + ": " + p.Reason + ": " + p.Message + "\n"
		}
		if n.ONCache == api.StateActive {
			accelerating++
		}
	}
	text := "Controller: " + c.Controller + "\n" + t.String() + details + fmt.Sprintf("ONCache is active on %d of %d Nodes\n", accelerating, len(c.Nodes))
	return Result{Data: c, Text: text}
}
