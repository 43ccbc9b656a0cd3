// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	agentapis "github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/antctl/testpods"
	"github.com/antrea-oncache/antrea/pkg/apis"
)

// Agents asks the agent of a Node. The error of a path of a feature that is off ends with "is not enabled".
type Agents interface {
	Get(ctx context.Context, node, path string, query url.Values, answer any) error
}

// Installation checks an installed Antrea.
type Installation struct {
	Kube   kubernetes.Interface
	Agents Agents
	Report *Report
	// Image has agnhost, sh and curl.
	Image string
	testpods.Limits
	// Collect is called once if something has failed, while the Pods are still there. It may be nil.
	Collect func()
}

// Run does all checks. An error means that they could not be done; failed checks are in the report.
func (i *Installation) Run(ctx context.Context) (err error) {
	defer func() { i.collectIfFailed(err) }()
	nodes, err := i.components(ctx)
	if err != nil {
		return err
	}
	if err := i.encryption(ctx, nodes); err != nil {
		return err
	}
	caches := map[string]*api.Status{}
	healthy := slices.DeleteFunc(nodes, func(node string) bool { return !i.agent(ctx, node, caches) })
	if len(healthy) == 0 {
		i.Report.Fail("traffic", "not tried: no agent is healthy")
		return nil
	}
	return i.traffic(ctx, healthy, caches)
}

// collectIfFailed calls Collect, unless that was done before.
func (i *Installation) collectIfFailed(err error) {
	if collect := i.Collect; collect != nil && (err != nil || i.Report.Err() != nil) {
		i.Collect = nil
		collect()
	}
}

// components checks that controller and agents run, and returns the Nodes of the agents that do.
func (i *Installation) components(ctx context.Context) ([]string, error) {
	deployment, err := i.Kube.AppsV1().Deployments(apis.DefaultNamespace).Get(ctx, "antrea-controller", metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("reading the Deployment of the controller: %w", err)
	}
	if deployment.Status.AvailableReplicas > 0 {
		i.Report.OK("controller", "runs")
	} else {
		i.Report.Fail("controller", "no replica of Deployment %s/antrea-controller is available: see kubectl -n %[1]s describe pods -l component=antrea-controller", apis.DefaultNamespace)
	}
	agents, err := i.Kube.CoreV1().Pods(apis.DefaultNamespace).List(ctx, metav1.ListOptions{LabelSelector: "app=antrea,component=antrea-agent"})
	if err != nil {
		return nil, fmt.Errorf("reading the Pods of the agents: %w", err)
	}
	if len(agents.Items) == 0 {
		i.Report.Fail("agents", "there is no Pod with the labels app=antrea and component=antrea-agent in Namespace %s", apis.DefaultNamespace)
	}
	if err := i.nodesWithoutAgent(ctx, agents.Items); err != nil {
		return nil, err
	}
	var nodes []string
	for _, pod := range agents.Items {
		if testpods.IsReady(&pod) {
			nodes = append(nodes, pod.Spec.NodeName)
		} else {
			i.Report.Fail("agent", "Pod %s on Node %s is not ready: see kubectl -n %s describe pod %[1]s", pod.Name, pod.Spec.NodeName, apis.DefaultNamespace)
		}
	}
	slices.Sort(nodes)
	return nodes, nil
}

// nodesWithoutAgent reports the Nodes with Linux on which Pods can be, but have no network.
func (i *Installation) nodesWithoutAgent(ctx context.Context, agents []corev1.Pod) error {
	nodes, err := i.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading the Nodes: %w", err)
	}
	for _, node := range nodes.Items {
		hasAgent := slices.ContainsFunc(agents, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node.Name })
		if system := node.Status.NodeInfo.OperatingSystem; !hasAgent && (system == "" || system == "linux") {
			i.Report.Fail("agent "+node.Name, "there is none: see agent.nodeSelector, agent.affinity and agent.tolerations of the chart, and kubectl -n %s describe daemonset antrea-agent",
				apis.DefaultNamespace)
		}
	}
	return nil
}

// agent reports what the agent of a Node says about itself, and whether it works. It notes the state of its cache in caches if
// the gate is on.
func (i *Installation) agent(ctx context.Context, node string, caches map[string]*api.Status) bool {
	check := "agent " + node
	var info agentapis.AgentInfo
	if err := i.Agents.Get(ctx, node, "/agentinfo", nil, &info); err != nil {
		i.Report.Fail(check, "does not answer: %v", err)
		return false
	}
	works := true
	for _, c := range info.AgentConditions {
		switch {
		case c.Type == agentapis.Degraded && c.Status == corev1.ConditionTrue:
			i.Report.Warn(check, "has problems, see antctl get problems there and docs/operate/troubleshooting.md: %s", c.Message)
		case c.Type != agentapis.Degraded && c.Status != corev1.ConditionTrue:
			i.Report.Fail(check, "%s is %s: %s", c.Type, c.Status, c.Message)
			works = false
		}
	}
	if works {
		i.Report.OK(check, "works")
	}
	var cache api.Status
	err := i.Agents.Get(ctx, node, "/oncache", nil, &cache)
	switch {
	case err != nil && strings.HasSuffix(err.Error(), "is not enabled"):
	case err != nil:
		i.Report.Fail("fast path "+node, "%v", err)
	default:
		caches[node] = &cache
		i.cache("fast path "+node, &cache)
	}
	return works
}

func (i *Installation) cache(check string, cache *api.Status) {
	switch cache.State {
	case api.StateActive:
		i.Report.OK(check, "active on %s", cache.Uplink)
	case api.StateUnavailable:
		i.Report.Warn(check, "%s: %s. Remedy: %s", cache.State, cache.Reason, remedy(cache.Reason))
	case api.StateSuspended:
		i.Report.Warn(check, "%s: %s", cache.State, cache.Reason)
	default:
		i.Report.Warn(check, "%s by oncache.mode or antctl oncache mode", cache.State)
	}
	if cache.PodsOnOVS > 0 {
		i.Report.Warn(check, "%d Pods are kept on Open vSwitch, see antctl get oncache endpoints there", cache.PodsOnOVS)
	}
}
