// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package performance measures, for antctl check performance, what the overlay costs on a user's own Nodes and what the fast path gains: between
// two Nodes, from host to host and from Pod to Pod with the fast path off and on, in alternating rounds. Its Pods run antctl from the agent's image
// (package peer). All comparisons are between measurements of one round, because machines are busy with other things (package stats).
package performance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/antctl/performance/peer"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
)

// Agents asks the agent of a Node. The error of a path of a feature that is off ends with "is not enabled".
type Agents interface {
	Get(ctx context.Context, node, path string, query url.Values, answer any) error
	// SetMode changes the mode of the cache, until the agent restarts.
	SetMode(ctx context.Context, node, mode string) error
}

// Exec runs a command in a container of a Pod and returns its standard output.
type Exec func(ctx context.Context, pod types.NamespacedName, command ...string) ([]byte, error)

// State is a way between the Nodes.
type State string

// The states.
const (
	// Host is from host to host.
	Host State = "host"
	// Slow is from Pod to Pod with all packets on Open vSwitch, Fast with the fast path.
	Slow State = "slow"
	Fast State = "fast"
)

// Test measures.
type Test struct {
	Kube   kubernetes.Interface
	Agents Agents
	Exec   Exec
	testpods.Limits
	// Nodes are two Nodes, client and server; without them two are chosen.
	Nodes []string
	// Rounds is the number of measurements of each workload in each state, Duration the time of one.
	Rounds   int
	Duration time.Duration
	// Port is the servers' port, which must be free on the hosts.
	Port int
	// Progress gets a line for each step.
	Progress io.Writer
}

// pods are the Pods of a run: a server and a client for the hosts, and for the overlay.
type pods struct {
	namespace *testpods.Namespace
	// clients and servers are by host network or not.
	clients, servers map[bool]*corev1.Pod
}

// Run measures, and removes what it made. The modes of the caches are as before at its end.
func (t *Test) Run(ctx context.Context) (result *Result, err error) {
	agents, err := t.chooseNodes(ctx)
	if err != nil {
		return nil, err
	}
	caches, err := t.caches(ctx)
	if err != nil {
		return nil, err
	}
	// The Pods on the hosts' network need this where a cluster refuses them otherwise.
	namespace, err := testpods.New(ctx, t.Kube, map[string]string{"pod-security.kubernetes.io/enforce": "privileged"}, t.Limits)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, namespace.Delete(ctx)) }()
	p, err := t.startPods(ctx, namespace, agents)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, caches.restore(ctx)) }()
	result = newResult(t, caches)
	return result, t.measure(ctx, p, caches, result)
}

// measure makes the rounds, after one whose results are discarded.
func (t *Test) measure(ctx context.Context, p *pods, caches *caches, result *Result) error {
	for round := -1; round < t.Rounds; round++ {
		if round < 0 {
			fmt.Fprintln(t.Progress, "warming up")
		} else {
			fmt.Fprintf(t.Progress, "round %d of %d\n", round+1, t.Rounds)
		}
		// The first state of a round finds another machine than the last one: each is first equally often.
		for _, state := range rotate(result.States, max(round, 0)) {
			if err := t.measureState(ctx, p, caches, state, func(workload string, m peer.Metrics) {
				if round >= 0 {
					result.add(workload, state, m)
				}
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// rotate returns s beginning with its element by%len(s).
func rotate[T any](s []T, by int) []T {
	by %= len(s)
	return slices.Concat(s[by:], s[:by])
}

func (t *Test) measureState(ctx context.Context, p *pods, caches *caches, state State, add func(string, peer.Metrics)) error {
	if err := caches.enter(ctx, state); err != nil {
		return err
	}
	client, server := p.clients[state == Host], p.servers[state == Host]
	to := net.JoinHostPort(server.Status.PodIP, strconv.Itoa(t.Port))
	for _, workload := range peer.Workloads {
		output, err := t.Exec(ctx, types.NamespacedName{Namespace: client.Namespace, Name: client.Name}, peer.ClientCommand(workload, to, t.Duration)...)
		if err != nil {
			return fmt.Errorf("measuring %s, state %s, from Node %s to %s on Node %s: %w", workload, state, client.Spec.NodeName, to, server.Spec.NodeName, err)
		}
		var m peer.Metrics
		if err := json.Unmarshal(output, &m); err != nil {
			return fmt.Errorf("decoding %q, which a client has measured: %w", output, err)
		}
		add(workload, m)
	}
	return caches.leave(ctx, state)
}

// startPods starts all Pods. agents are the agents' Pods by Node.
func (t *Test) startPods(ctx context.Context, namespace *testpods.Namespace, agents map[string]*corev1.Pod) (*pods, error) {
	if err := namespace.WaitForServiceAccount(ctx); err != nil {
		return nil, err
	}
	p := &pods{namespace, map[bool]*corev1.Pod{}, map[bool]*corev1.Pod{}}
	for _, host := range []bool{true, false} {
		for i, role := range []map[bool]*corev1.Pod{p.clients, p.servers} {
			node := t.Nodes[i]
			fmt.Fprintf(t.Progress, "starting a Pod on Node %s, host network: %t\n", node, host)
			started, err := namespace.Start(ctx, t.pod(namespace, node, host, agents[node]), func(pod *corev1.Pod) bool { return testpods.IsReady(pod) || hasFailed(pod) })
			if err != nil {
				return nil, err
			}
			if hasFailed(started) {
				return nil, fmt.Errorf("pod %s on Node %s has ended (is port %d free there? --port names another one): %s", started.Name, node, t.Port, testpods.Output(started))
			}
			role[host] = started
		}
	}
	return p, nil
}

// hasFailed reports whether the Pod's server has ended.
func hasFailed(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed }

// pod is a Pod with the image of the agent on the same Node, which is there.
func (t *Test) pod(namespace *testpods.Namespace, node string, host bool, agent *corev1.Pod) *corev1.Pod {
	name := map[bool]string{true: "host", false: "pod"}[host] + "-" + node
	no, yes, user := false, true, int64(65532)
	pod := namespace.Pod(name, node, corev1.Container{
		Name: "antctl", Image: agentContainer(agent).Image, ImagePullPolicy: corev1.PullIfNotPresent, Command: peer.ServerCommand(t.Port),
		ReadinessProbe: &corev1.Probe{PeriodSeconds: 1, ProbeHandler: corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt(t.Port)}}},
		SecurityContext: &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, RunAsNonRoot: &yes, RunAsUser: &user, ReadOnlyRootFilesystem: &yes,
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	})
	pod.Spec.HostNetwork, pod.Spec.ImagePullSecrets = host, agent.Spec.ImagePullSecrets
	return pod
}

// agentContainer is the container of the agent in its Pod.
func agentContainer(agent *corev1.Pod) corev1.Container {
	for _, c := range agent.Spec.Containers {
		if c.Name == "antrea-agent" {
			return c
		}
	}
	return agent.Spec.Containers[0]
}

// sortedNodes returns the names of agents' Nodes.
func sortedNodes(agents map[string]*corev1.Pod) []string { return slices.Sorted(maps.Keys(agents)) }
