// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
)

const (
	nodeNameEnv = "NODE_NAME"
	// nodePollInterval is the time between two looks at a Node object that is not complete yet.
	nodePollInterval = time.Second
	// waitLogInterval is the time between two messages that say what is waited for.
	waitLogInterval = 10 * time.Second
)

// NodeName returns the name of the Node that this process runs on: the environment variable NODE_NAME, else the host
// name in lower case, as the kubelet registers it.
func NodeName() (string, error) {
	if name := os.Getenv(nodeNameEnv); name != "" {
		return name, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("environment variable %s is not set and the host name cannot be read: %w", nodeNameEnv, err)
	}
	name := strings.ToLower(strings.TrimSpace(host))
	if name == "" {
		return "", fmt.Errorf("environment variable %s is not set and the host name is empty", nodeNameEnv)
	}
	return name, nil
}

// nodeInfo is what the Node object tells.
type nodeInfo struct {
	// podIPv4CIDR, podIPv6CIDR are the Pod networks; zero when the family is absent.
	podIPv4CIDR, podIPv6CIDR netip.Prefix
	// addresses are all usable addresses: internal ones first, each kind in the object's order.
	addresses []netip.Addr
	// transportAnnotation is the present value of the annotation with the transport addresses.
	transportAnnotation string
}

// nodeIP is the address that peers use when no transport address is configured: the first IPv4 address, else the first.
func (n *nodeInfo) nodeIP() netip.Addr {
	for _, addr := range n.addresses {
		if addr.Is4() {
			return addr
		}
	}
	return n.addresses[0]
}

// waitForNode reads the Node object until parseNode accepts it or ctx ends.
func waitForNode(ctx context.Context, kube kubernetes.Interface, name string, fallback []netip.Prefix, interval time.Duration) (*nodeInfo, error) {
	var lastLog time.Time
	for {
		node, err := kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		var info *nodeInfo
		if err == nil {
			info, err = parseNode(node, fallback)
		}
		if err == nil {
			return info, nil
		}
		if time.Since(lastLog) >= waitLogInterval {
			klog.InfoS("Waiting for the Node object", "node", name, "reason", err)
			lastLog = time.Now()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for Node %q: %w (last: %w)", name, ctx.Err(), err)
		case <-time.After(interval):
		}
	}
}

// parseNode fails, with what is missing, as long as the Node object lacks something that will come later.
func parseNode(node *corev1.Node, fallback []netip.Prefix) (*nodeInfo, error) {
	info := &nodeInfo{transportAnnotation: node.Annotations[transportAddressesAnnotation]}
	cidrs, err := podCIDRs(node)
	if err != nil {
		return nil, err
	}
	if len(cidrs) == 0 {
		cidrs = fallback
	}
	for _, cidr := range cidrs {
		switch {
		case cidr.Addr().Is4() && !info.podIPv4CIDR.IsValid():
			info.podIPv4CIDR = cidr.Masked()
		case cidr.Addr().Is6() && !info.podIPv6CIDR.IsValid():
			info.podIPv6CIDR = cidr.Masked()
		}
	}
	if len(cidrs) == 0 {
		return nil, errors.New("spec.podCIDR is empty; kube-controller-manager sets it when run with --allocate-node-cidrs")
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, address := range node.Status.Addresses {
			if address.Type != kind {
				continue
			}
			addr, err := netip.ParseAddr(address.Address)
			if err != nil {
				return nil, fmt.Errorf("status.addresses: %s %q: %w", kind, address.Address, err)
			}
			info.addresses = append(info.addresses, addr.Unmap())
		}
	}
	if len(info.addresses) == 0 {
		return nil, errors.New("status.addresses has no InternalIP or ExternalIP; the kubelet sets it")
	}
	return info, nil
}

func podCIDRs(node *corev1.Node) ([]netip.Prefix, error) {
	texts := node.Spec.PodCIDRs
	if len(texts) == 0 && node.Spec.PodCIDR != "" {
		texts = []string{node.Spec.PodCIDR}
	}
	var cidrs []netip.Prefix
	for _, text := range texts {
		cidr, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("spec.podCIDRs: %w", err)
		}
		cidrs = append(cidrs, cidr)
	}
	return cidrs, nil
}
