// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// agentsAtOnce is the number of agents that are asked at the same time.
const agentsAtOnce = 16

// agentInfosPath lists the agents that have reported.
const agentInfosPath = "/apis/crd.antrea.io/v1beta1/antreaagentinfos"

// newNodeCommand makes a command that asks the agent of one Node (--node) or the agents of all Nodes (--all-nodes) from outside their Pods.
// Without one of these flags it asks the controller, if that has the command.
func (s *session) newNodeCommand(d *Definition) *cobra.Command {
	cmd := newSubcommand(d, d.Agent, nil)
	cmd.Flags().StringVar(&s.node, "node", "", "Ask the agent of this Node")
	all := cmd.Flags().BoolP("all-nodes", "A", false, "Ask the agents of all Nodes")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := s.executeOnNodes(cmd, args, d, *all); err != nil {
			return cleanError{err}
		}
		return nil
	}
	if d.Watch {
		addWatch(cmd, d, s)
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		watched := cmd.Flags().Changed("watch")
		switch {
		case s.node != "" && *all:
			return errors.New("--node and --all-nodes exclude each other")
		case s.node == "" && watched:
			return errors.New("--watch shows one Node: name it with --node")
		case s.node == "" && !*all && d.Controller == nil:
			return fmt.Errorf("%q asks an agent: name its Node with --node, ask all with --all-nodes, or run it in the agent's Pod", cmd.CommandPath())
		}
		return nil
	}
	return cmd
}

func (s *session) executeOnNodes(cmd *cobra.Command, args []string, d *Definition, all bool) error {
	output := FormatYAML
	if d.Group != Flat {
		output = FormatTable
	}
	switch {
	case all:
		return s.executeOnAll(cmd, args, d, output)
	case s.node != "":
		return d.execute(cmd, args, d.Agent, output, s.asker(d.Agent, s.client))
	default:
		return d.execute(cmd, args, d.Controller, output, s.asker(d.Controller, s.client))
	}
}

// executeOnAll prints the answers of all agents as one. Nodes without an answer are an error after these.
func (s *session) executeOnAll(cmd *cobra.Command, args []string, d *Definition, format Format) error {
	format, err := d.Agent.format(cmd, format)
	if err != nil {
		return err
	}
	query, err := d.query(cmd, args)
	if err != nil {
		return err
	}
	kubernetes, err := newKubernetesClient(s.conn)
	if err != nil {
		return err
	}
	nodes, err := listAgents(cmd.Context(), kubernetes)
	if err != nil {
		return err
	}
	answers := s.askAll(cmd.Context(), kubernetes, nodes, func(ctx context.Context, ask func(context.Context, url.Values) ([]byte, error)) (Result, error) {
		return d.result(ctx, d.Agent, query, ask)
	}, d.Agent)
	merged, failed := mergeAnswers(answers)
	if len(merged.Data.(map[string]any)) == 0 {
		return failed
	}
	return errors.Join(d.Agent.print(cmd, merged, format), failed)
}

// listAgents returns the names of the Nodes whose agents have reported, sorted.
func listAgents(ctx context.Context, kubernetes *client) ([]string, error) {
	var list struct {
		Items []struct {
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		} `json:"items"`
	}
	if err := kubernetes.get(ctx, agentInfosPath, &list); err != nil {
		return nil, fmt.Errorf("finding the agents: %w", err)
	}
	if len(list.Items) == 0 {
		return nil, errors.New("finding the agents: there is no AntreaAgentInfo; has an agent started?")
	}
	var nodes []string
	for _, item := range list.Items {
		nodes = append(nodes, item.Metadata.Name)
	}
	slices.Sort(nodes)
	return nodes, nil
}

// nodeAnswer is the answer of the agent of a Node, or the reason for its absence.
type nodeAnswer struct {
	node   string
	result Result
	err    error
}

// askAll asks the agents of nodes at the same time, and returns their answers in the order of nodes.
func (s *session) askAll(ctx context.Context, kubernetes *client, nodes []string,
	result func(context.Context, func(context.Context, url.Values) ([]byte, error)) (Result, error), endpoint *Endpoint) []nodeAnswer {
	answers := make([]nodeAnswer, len(nodes))
	forAll(nodes, func(i int, node string) {
		connect := func(ctx context.Context, _ *Endpoint) (*client, error) { return agentClient(ctx, kubernetes, node) }
		answer, err := result(ctx, s.asker(endpoint, connect))
		answers[i] = nodeAnswer{node, answer, err}
	})
	return answers
}

// forAll calls ask for all Nodes, some at the same time.
func forAll(nodes []string, ask func(i int, node string)) {
	var group errgroup.Group
	group.SetLimit(agentsAtOnce)
	for i, node := range nodes {
		group.Go(func() error {
			ask(i, node)
			return nil
		})
	}
	_ = group.Wait() // no function fails
}

// mergeAnswers makes one result of answers: a table with a first column NODE, data by Node, texts one below the other. The error names the
// Nodes without an answer.
func mergeAnswers(answers []nodeAnswer) (Result, error) {
	data := map[string]any{}
	merged := Result{Data: data}
	var failed []string
	for _, a := range answers {
		if a.err != nil {
			failed = append(failed, "node "+a.node+": "+a.err.Error())
			continue
		}
		data[a.node] = a.result.Data
		if a.result.Text != "" {
			merged.Text += "Node " + a.node + "\n" + a.result.Text
		}
		merged.Table.Header = append([]string{"NODE"}, a.result.Table.Header...)
		merged.Table.Unsorted = a.result.Table.Unsorted
		for _, row := range a.result.Table.Rows {
			merged.Table.Rows = append(merged.Table.Rows, append([]string{a.node}, row...))
		}
	}
	if len(failed) > 0 {
		return merged, errors.New(strings.Join(failed, "; "))
	}
	return merged, nil
}
