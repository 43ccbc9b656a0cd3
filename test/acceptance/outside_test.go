// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// outside makes a host outside of the cluster: a network namespace of a Node with an address of no Node or Pod, on a network where the Node has some
// addresses, of which the first is the host's router. All are with the length of their prefix. Commands run there by outsideCommand, in the returned Pod.
func (c *cluster) outside(t *testing.T, namespace, node, address string, nodeAddresses ...string) *corev1.Pod {
	t.Helper()
	pod := c.pod(t, namespace, "outside-"+node, node, podOptions{image: agnhostImage, hostNetwork: true, privileged: true})
	t.Cleanup(func() {
		const remove = "ip netns delete outside; ip link delete outside 2>/dev/null; true"
		_, stderr, err := c.run(context.Background(), pod, "", "/bin/bash", "-c", remove)
		require.NoError(t, err, stderr)
	})
	script := []string{"set -e; ip netns add outside; ip link add outside type veth peer name eth0 netns outside"}
	for _, nodeAddress := range nodeAddresses {
		script = append(script, "ip addr add "+nodeAddress+" dev outside")
	}
	router, _, _ := strings.Cut(nodeAddresses[0], "/")
	script = append(script, "ip link set outside up", "ip -n outside addr add "+address+" dev eth0", "ip -n outside link set eth0 up",
		"ip -n outside link set lo up", "ip -n outside route add default via "+router, "sysctl -qw net.ipv4.ip_forward=1")
	c.exec(t, pod, "", "/bin/bash", "-c", strings.Join(script, "\n"))
	return pod
}

// outsideCommand is a command in the network namespace of outside.
func outsideCommand(command ...string) []string {
	return append([]string{"ip", "netns", "exec", "outside"}, command...)
}

// serveOutside answers HTTP on a port of the host of outside, until the Pod ends.
func (c *cluster) serveOutside(t *testing.T, pod *corev1.Pod, port int) {
	t.Helper()
	server := strings.Join(outsideCommand("/agnhost", "netexec", fmt.Sprintf("--http-port=%d", port), "--udp-port=-1"), " ")
	c.exec(t, pod, "", "/bin/bash", "-c", server+" >/tmp/netexec.log 2>&1 </dev/null &")
}

// source runs a command that prints address:port, and returns the address: the source that the server sees, which is agnhost.
func (c *cluster) source(t *testing.T, from *corev1.Pod, command ...string) (string, error) {
	t.Helper()
	stdout, stderr, err := c.run(t.Context(), from, "", command...)
	if err != nil {
		return "", fmt.Errorf("%v in %s: %w: %s", command, from.Name, err, stderr)
	}
	source, _, found := strings.Cut(strings.TrimSpace(stdout), ":")
	if !found {
		return "", fmt.Errorf("%v in %s: answer %q, want address:port", command, from.Name, stdout)
	}
	return source, nil
}

// askClientIP is the command that asks an agnhost at an IPv4 address and a port for the source that it sees.
func askClientIP(address string, port int) []string {
	return []string{"curl", "-sS", "--max-time", "3", fmt.Sprintf("http://%s:%d/clientip", address, port)}
}

// needsProxyAll skips a test of what is handled outside of Open vSwitch unless AntreaProxy does so.
func (c *cluster) needsProxyAll(t *testing.T) {
	t.Helper()
	config, err := c.client.CoreV1().ConfigMaps(systemNamespace).Get(t.Context(), configMap, metav1.GetOptions{})
	require.NoError(t, err)
	if !strings.Contains(config.Data[agentConfigKey], "proxyAll: true") {
		t.Skip("antreaProxy.proxyAll is off: AntreaProxy does not handle the ports of Nodes, and external addresses")
	}
}
