// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"net"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
)

// host checks traffic between a Node's own network and Pods: to the server, to a port of the server's Node as clients outside of the cluster
// use it, and from a Pod to the Kubernetes API.
func (b *bed) host(ctx context.Context, from string, server *corev1.Pod) {
	b.connectBy(ctx, "host", b.hostClient(from), hostPort(server), true)
	b.nodePort(ctx, from, server)
	b.kubernetesAPI(ctx, from)
}

func (b *bed) hostClient(node string) *corev1.Pod {
	client := b.pod("host-client-"+rand.String(5), node, corev1.Container{})
	client.Spec.HostNetwork = true
	return client
}

// nodePort reaches the server through its Node's address.
func (b *bed) nodePort(ctx context.Context, from string, server *corev1.Pod) {
	const check = "node port"
	service, err := b.makeService(ctx, "node-port", corev1.ServiceTypeNodePort)
	if err != nil {
		b.Report.Fail(check, "making the Service: %v", err)
		return
	}
	node, err := b.Kube.CoreV1().Nodes().Get(ctx, server.Spec.NodeName, metav1.GetOptions{})
	if err != nil {
		b.Report.Fail(check, "reading Node %s: %v", server.Spec.NodeName, err)
		return
	}
	address := sameFamily(node, service.Spec.ClusterIP)
	if address == "" {
		b.Report.Warn(check, "not tried: Node %s has no InternalIP of the IP version of the Service's address %s", node.Name, service.Spec.ClusterIP)
		return
	}
	port := strconv.Itoa(int(service.Spec.Ports[0].NodePort))
	if !b.connectBy(ctx, check, b.hostClient(from), net.JoinHostPort(address, port), true) {
		b.Report.Warn(check, "ports of Nodes need kube-proxy or antreaProxy.proxyAll: true, and a network between the Nodes that lets them pass")
	}
}

// sameFamily returns the Node's InternalIP that has the IP version of another address; empty if there is none.
func sameFamily(node *corev1.Node, other string) string {
	ip, err := netip.ParseAddr(other)
	if err != nil {
		return ""
	}
	for _, a := range node.Status.Addresses {
		if own, err := netip.ParseAddr(a.Address); err == nil && a.Type == corev1.NodeInternalIP && own.Is4() == ip.Is4() {
			return a.Address
		}
	}
	return ""
}

// kubernetesAPI reaches the Kubernetes API as programs in Pods do. It is usually on the network of a Node.
func (b *bed) kubernetesAPI(ctx context.Context, from string) {
	const check = "kubernetes api"
	service, err := b.Kube.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err) || err == nil && len(service.Spec.Ports) == 0:
		b.Report.Warn(check, "not tried: there is no Service %s/kubernetes with a port", metav1.NamespaceDefault)
	case err != nil:
		b.Report.Fail(check, "reading Service %s/kubernetes: %v", metav1.NamespaceDefault, err)
	default:
		b.connect(ctx, check, from, net.JoinHostPort(service.Spec.ClusterIP, strconv.Itoa(int(service.Spec.Ports[0].Port))), true)
	}
}
