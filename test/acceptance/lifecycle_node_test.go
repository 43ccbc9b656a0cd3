// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cleanupLabels are the labels of the DaemonSet that cleans the Nodes up.
const cleanupLabels = "app=antrea,component=antrea-cleanup"

// nodeState prints everything that an installation may change on a Node. It leaves out kube-proxy's rules, which follow
// Services, counters and ages, built-in chains of iptables, which listing them makes, and devices' own settings.
const nodeState = `
ip -o link | awk '{ print "link", $2 }'
ip -o address | awk '{ print "address", $2, $4 }'
ip route | sed 's/^/route /'
ip -6 route | sed 's/ metric.*//; s/ expires.*//; s/^/route /'
ip rule | sed 's/^/rule /'
ip neighbor show nud permanent | sed 's/^/neighbor /'
for program in iptables-save ip6tables-save; do $program 2>/dev/null | grep -e '^-A' -e ' - ' | grep -v KUBE- | sed "s/\[.*//; s/^/$program /"; done
ipset list -n | sed 's/^/ipset /'
tc qdisc | sed 's/refcnt.*//; s/^/qdisc /'
for device in $(ls /sys/class/net); do for hook in ingress egress; do tc filter show dev $device $hook | sed "s/^/filter $device $hook /"; done; done
find /sys/fs/bpf -mindepth 1 | sed 's/^/pin /'
find /etc/cni /opt/cni -type f -exec sha256sum {} + 2>/dev/null | sed 's/^/file /'
find /var/run/antrea /var/log/antrea 2>/dev/null | sed 's/^/file /'
cd /proc/sys/net && grep -rs . ipv4/ip_forward ipv4/conf/all ipv4/conf/default ipv6/conf/all ipv6/conf/default netfilter core | grep -v -e nf_conntrack_count -e mtu_expires -e stable_secret | sed 's/^/sysctl /'
grep -c -e zone=65520 -e zone=65510 /proc/net/nf_conntrack 2>/dev/null | sed 's/^/connections /'
true
`

// state is the state of a Node, in order.
func (l *life) state(t *testing.T, node string) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(l.onNode(t, node, nodeState)), "\n")
	slices.Sort(lines)
	return lines
}

// testUninstallation uninstalls as docs/operate/uninstall.md says, and compares the Nodes with what they were before the installation.
func (l *life) testUninstallation(t *testing.T) {
	for _, node := range l.nodes {
		require.Contains(t, l.bare, node, "no case has installed the plugin")
	}
	manifest := filepath.Join(filepath.Dir(filepath.Dir(l.chart)), "yamls", "antrea-cleanup.yml")
	// Too early: nothing is removed.
	l.command(t, l.kubectl, "apply", "-f", manifest)
	eventually(t, cleanupTimeout, func() error {
		return l.cleanupSays(t, "the Node is not cleaned up: Antrea is still installed")
	})
	require.NoError(t, l.allReady(t.Context(), agentLabels, len(l.nodes)))
	l.checkMesh(t)
	// With its Pods, which are looked for below.
	l.command(t, l.kubectl, "delete", "--cascade=foreground", "-f", manifest)

	l.command(t, l.helm, "uninstall", "antrea", "--namespace", systemNamespace, "--wait")
	l.command(t, l.kubectl, "apply", "-f", manifest)
	begun := time.Now()
	l.command(t, l.kubectl, "-n", systemNamespace, "wait", "pod", "-l", cleanupLabels, "--for=condition=Initialized", "--timeout="+cleanupTimeout.String())
	t.Logf("the Nodes are clean after %.1f s", time.Since(begun).Seconds())
	require.NoError(t, l.cleanupSays(t, "removed all of Antrea from this Node"))
	l.command(t, l.kubectl, "delete", "--cascade=foreground", "-f", manifest)
	for _, node := range l.nodes {
		require.Empty(t, cmp.Diff(l.bare[node], l.state(t, node)), "Node %s: - before the installation, + after the cleanup", node)
	}
	l.requireNoObjects(t)
}

// requireNoObjects deletes from the API what Helm does not know, as docs/operate/uninstall.md says, and checks that nothing is left.
func (l *life) requireNoObjects(t *testing.T) {
	t.Helper()
	l.command(t, l.kubectl, "delete", "crd", "antreaagentinfos.crd.antrea.io", "antreacontrollerinfos.crd.antrea.io", "traceflows.crd.antrea.io",
		"clusternetworkpolicies.crd.antrea.io", "networkpolicies.crd.antrea.io", "tiers.crd.antrea.io", "clustergroups.crd.antrea.io", "groups.crd.antrea.io",
		"egresses.crd.antrea.io", "externalippools.crd.antrea.io")
	l.command(t, l.kubectl, "-n", systemNamespace, "delete", "configmap/antrea-ca", "configmap/antrea-cluster-identity", "secret/antrea-controller-tls",
		"secret/antrea-memberlist-keys", "lease/antrea-controller")
	l.command(t, l.kubectl, "annotate", "nodes", "--all", "node.antrea.io/transport-addresses-", "node.antrea.io/wireguard-public-key-")
	for _, kinds := range []string{
		"configmaps,secrets,services,serviceaccounts,daemonsets,deployments,pods,leases,roles,rolebindings",
		"clusterroles,clusterrolebindings,customresourcedefinitions,apiservices,priorityclasses,mutatingwebhookconfigurations,validatingwebhookconfigurations",
	} {
		for line := range strings.Lines(l.command(t, l.kubectl, "-n", systemNamespace, "get", kinds, "-o", "name")) {
			require.NotRegexp(t, "antrea|antctl", line)
		}
	}
	require.NotContains(t, l.command(t, l.kubectl, "get", "nodes", "-o", "yaml"), "antrea.io")
}

// cleanupSays fails until the cleanup of each Node has said something.
func (l *life) cleanupSays(t *testing.T, want string) error {
	list, err := l.client.CoreV1().Pods(systemNamespace).List(t.Context(), metav1.ListOptions{LabelSelector: cleanupLabels})
	if err != nil {
		return err
	}
	if len(list.Items) != len(l.nodes) {
		return fmt.Errorf("%d Pods clean up, want %d", len(list.Items), len(l.nodes))
	}
	for i := range list.Items {
		pod := &list.Items[i]
		if log := l.containerLog(t.Context(), pod, "cleanup"); !strings.Contains(log, want) {
			return fmt.Errorf("%s on Node %s has not said %q (%s):\n%s", pod.Name, pod.Spec.NodeName, want, containerStates(pod), log)
		}
	}
	return nil
}
