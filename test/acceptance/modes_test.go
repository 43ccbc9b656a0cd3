// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Modes of traffic between Nodes: trafficEncapMode or, for encryption in encap mode, trafficEncryptionMode.
const (
	encap     = "encap"
	noEncap   = "noEncap"
	hybrid    = "hybrid"
	wireGuard = "wireGuard"
)

// modeValues are the chart's values of each mode. The Nodes of the test cluster are in one subnet, so hybrid also sends without the tunnel.
var modeValues = map[string][]string{
	encap:     {"trafficEncapMode=encap", "trafficEncryptionMode=none", "oncache.direct=false"},
	noEncap:   {"trafficEncapMode=noEncap", "trafficEncryptionMode=none", "oncache.direct=true"},
	hybrid:    {"trafficEncapMode=hybrid", "trafficEncryptionMode=none", "oncache.direct=true"},
	wireGuard: {"trafficEncapMode=encap", "trafficEncryptionMode=wireGuard", "oncache.direct=false"},
}

// modeOf reads the mode from the agents' configuration.
func (c *cluster) modeOf(ctx context.Context) (string, error) {
	object, err := c.client.CoreV1().ConfigMaps(systemNamespace).Get(ctx, configMap, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	var settings struct {
		Encap      string `json:"trafficEncapMode"`
		Encryption string `json:"trafficEncryptionMode"`
	}
	if err := yaml.Unmarshal([]byte(object.Data[agentConfigKey]), &settings); err != nil {
		return "", fmt.Errorf("%s of ConfigMap %s: %w", agentConfigKey, configMap, err)
	}
	if settings.Encryption == wireGuard {
		return wireGuard, nil
	}
	return cmp.Or(settings.Encap, encap), nil
}

// hits reports whether packets between two Pods can take the fast path.
func (c *cluster) hits(a, b *corev1.Pod) bool {
	return c.gate && (c.mode != wireGuard || a.Spec.NodeName == b.Spec.NodeName)
}

// ownProtocol marks the agent's routes.
const ownProtocol = "proto 170 "

// nodeRoutes are the routes on a Node that the agent regards as its own: by their device or, without one, by their protocol number.
func (c *cluster) nodeRoutes(t *testing.T, node string) (routes []string) {
	t.Helper()
	mark := map[string]string{encap: "dev " + gateway + " ", wireGuard: "dev antrea-wg0 "}[c.mode]
	out := c.exec(t, c.agentOn(t, node), agentContainer, "ip", "route", "list")
	for line := range strings.Lines(out) {
		line = strings.Join(strings.Fields(line), " ") + " "
		if strings.Contains(line, cmp.Or(mark, ownProtocol)) && strings.Contains(line, "/") && !strings.Contains(line, "proto kernel") {
			routes = append(routes, line)
		}
	}
	return routes
}

// requireWay requires that the route of each Node to the Pods of the others is one of the mode.
func (c *cluster) requireWay(t *testing.T) {
	t.Helper()
	want := map[string]string{encap: " dev " + gateway + " ", wireGuard: " dev antrea-wg0 "}[c.mode]
	for _, node := range c.nodes {
		for _, other := range c.nodes {
			if other == node {
				continue
			}
			object, err := c.client.CoreV1().Nodes().Get(t.Context(), other, metav1.GetOptions{})
			require.NoError(t, err)
			way := want
			if way == "" {
				way = " via " + c.agentOn(t, other).Status.HostIP + " "
			}
			route := c.exec(t, c.agentOn(t, node), agentContainer, "ip", "route", "show", "exact", object.Spec.PodCIDR)
			require.Containsf(t, strings.ReplaceAll(route, "\n", " "), way, "Node %s to the Pods of Node %s, mode %s", node, other, c.mode)
		}
	}
}
