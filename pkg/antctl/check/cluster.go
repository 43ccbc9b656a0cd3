// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

var (
	// From this version on, tokens of Pods name their Node.
	nodeInTokens = version.MustParseGeneric("1.30")
	// The eBPF programs need it.
	fastPathKernel = version.MustParseGeneric("5.13")
)

// otherPlugins are the names of other network plugins' DaemonSets.
var otherPlugins = map[string]string{
	"calico-node": "Calico", "canal": "Canal", "cilium": "Cilium", "kindnet": "kindnet", "kube-flannel-ds": "Flannel",
	"kube-router": "kube-router", "weave-net": "Weave Net",
}

// Cluster checks what can be known of a cluster before Antrea is installed. An error means that the Kubernetes API does not
// answer.
func Cluster(ctx context.Context, kube kubernetes.Interface, client dynamic.Interface, r *Report) error {
	if err := kubernetesVersion(kube, r); err != nil {
		return err
	}
	nodes, err := kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading Nodes: %w", err)
	}
	before := r.failed
	for i := range nodes.Items {
		checkNode(&nodes.Items[i], r)
	}
	checkOverlaps(nodes.Items, r)
	if r.failed == before {
		r.OK("nodes", "%d Nodes have a Pod network, an address, and a system that is supported", len(nodes.Items))
	}
	if err := daemonSets(ctx, kube, r); err != nil {
		return err
	}
	schemas(ctx, client, r)
	policies(ctx, client, r)
	return nil
}

func kubernetesVersion(kube kubernetes.Interface, r *Report) error {
	const check = "kubernetes"
	info, err := kube.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking the Kubernetes API for its version: %w", err)
	}
	v, err := version.ParseGeneric(info.GitVersion)
	switch {
	case err != nil:
		r.Warn(check, "the version %q cannot be read", info.GitVersion)
	case v.LessThan(nodeInTokens):
		r.Warn(check, "version %s; from %s on, tokens name an agent's Node, before that the controller finds it by the Pod", v, nodeInTokens)
	default:
		r.OK(check, "version %s", v)
	}
	return nil
}

func checkNode(node *corev1.Node, r *Report) {
	check, info := "node "+node.Name, node.Status.NodeInfo
	if info.OperatingSystem != "linux" {
		r.Warn(check, "operating system %q: the agent runs on linux only", info.OperatingSystem)
		return
	}
	switch info.Architecture {
	case "amd64":
	case "arm64":
		r.Warn(check, "architecture arm64 was not tested")
	default:
		r.Fail(check, "architecture %q is not supported; supported: amd64, arm64", info.Architecture)
	}
	if kernel, err := version.ParseGeneric(info.KernelVersion); err != nil || kernel.LessThan(fastPathKernel) {
		r.Warn(check, "kernel %q: the fast path (gate ONCache) needs Linux %s", info.KernelVersion, fastPathKernel)
	}
	hasAddress := false
	for _, address := range node.Status.Addresses {
		hasAddress = hasAddress || address.Type == corev1.NodeInternalIP || address.Type == corev1.NodeExternalIP
	}
	if !hasAddress {
		r.Fail(check, "no InternalIP and no ExternalIP: other Nodes would not know where to send packets")
	}
	if len(podNetworks(node)) == 0 {
		r.Fail(check, "no Pod network (spec.podCIDRs): start kube-controller-manager with --allocate-node-cidrs and --cluster-cidr, or set nodeIPAM.enable and nodeIPAM.clusterCIDRs, or podCIDRs in antrea-agent.conf")
	}
}

// podNetworks returns those that can be read.
func podNetworks(node *corev1.Node) []netip.Prefix {
	texts := node.Spec.PodCIDRs
	if len(texts) == 0 && node.Spec.PodCIDR != "" {
		texts = []string{node.Spec.PodCIDR}
	}
	var networks []netip.Prefix
	for _, text := range texts {
		if network, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, network.Masked())
		}
	}
	return networks
}

// checkOverlaps reports each Pod network that overlaps one of another Node, with the smallest of those that contain it.
func checkOverlaps(nodes []corev1.Node, r *Report) {
	type owned struct {
		network netip.Prefix
		node    string
	}
	var all []owned
	for i := range nodes {
		for _, network := range podNetworks(&nodes[i]) {
			all = append(all, owned{network, nodes[i].Name})
		}
	}
	// Networks overlap only if one contains the other. In this order it comes first.
	slices.SortStableFunc(all, func(a, b owned) int {
		return cmp.Or(a.network.Addr().Compare(b.network.Addr()), cmp.Compare(a.network.Bits(), b.network.Bits()))
	})
	var around []owned // each contains the next one
	for _, n := range all {
		for len(around) > 0 && !around[len(around)-1].network.Overlaps(n.network) {
			around = around[:len(around)-1]
		}
		for _, a := range slices.Backward(around) {
			if a.node != n.node {
				r.Fail("nodes", "the Pod networks %s of Node %s and %s of Node %s overlap: only the older Node would be connected", a.network, a.node, n.network, n.node)
				break
			}
		}
		around = append(around, n)
	}
}

// daemonSets looks for other network plugins and for kube-proxy.
func daemonSets(ctx context.Context, kube kubernetes.Interface, r *Report) error {
	sets, err := kube.AppsV1().DaemonSets(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("reading DaemonSets: %w", err)
	}
	proxy, others := false, []string{}
	for _, set := range sets.Items {
		if name, found := otherPlugins[set.Name]; found {
			others = append(others, fmt.Sprintf("%s (DaemonSet %s/%s)", name, set.Namespace, set.Name))
		}
		proxy = proxy || set.Name == "kube-proxy"
	}
	if len(others) > 0 {
		r.Fail("network plugin", "%s is installed: remove it and its configuration in /etc/cni/net.d first", strings.Join(others, ", "))
	} else {
		r.OK("network plugin", "no other found")
	}
	if proxy {
		r.OK("services", "kube-proxy handles what AntreaProxy does not")
	} else {
		r.Warn("services", "no DaemonSet kube-proxy found: Services need it for connections that do not come from Pods, unless antreaProxy.proxyAll is true, or it runs in another way")
	}
	return nil
}
