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

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	nodeNameEnv = "NODE_NAME"
	// nodePollInterval is the first delay between two looks at a Node object that is not complete yet.
	nodePollInterval = time.Second
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

// nodeInfo is the part of the Node object that the agent needs.
type nodeInfo struct {
	// podIPv4CIDR, podIPv6CIDR are the Pod networks; zero when the family is absent.
	podIPv4CIDR, podIPv6CIDR netip.Prefix
	// addresses are all usable addresses: internal ones first, each kind in the object's order.
	addresses []netip.Addr
	// transportAnnotation is the present value of the annotation with the transport addresses.
	transportAnnotation string
	// keyAnnotation is the public key for WireGuard that peers know.
	keyAnnotation string
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

// nodeAttempt bounds one attempt to read the Node object. After a reboot the agent may be faster than kube-proxy. The packets of a connection that
// was begun before kube-proxy had installed the Service's rules never follow them, and the next attempt makes a connection of its own.
const nodeAttempt = 5 * time.Second

func getNode(ctx context.Context, kube kubernetes.Interface, name string) (*corev1.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, nodeAttempt)
	defer cancel()
	return kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
}

// waitForNode reads the Node object until parseNode accepts it or ctx ends. Delays grow from interval to 30 times that: many Nodes
// may wait for the same thing, such as a kube-controller-manager that gives out Pod networks. The log has a line for each reason.
func waitForNode(ctx context.Context, kube kubernetes.Interface, name string, fallback []netip.Prefix, interval time.Duration) (*nodeInfo, error) {
	delays := retry.Delays{Backoff: retry.Backoff{Min: interval, Max: 30 * interval}}
	logged := ""
	for {
		node, err := getNode(ctx, kube, name)
		var info *nodeInfo
		if err == nil {
			info, err = parseNode(node, fallback)
		}
		if err == nil {
			return info, nil
		}
		if reason := err.Error(); reason != logged {
			klog.InfoS("Waiting for the Node object", "node", name, "reason", reason)
			logged = reason
		}
		if ctxErr := retry.Sleep(ctx, delays.Next()); ctxErr != nil {
			return nil, fmt.Errorf("wait for Node %q: %w (last: %w)", name, ctxErr, err)
		}
	}
}

// parseNode fails, with what is missing, as long as the Node object lacks something that will come later.
func parseNode(node *corev1.Node, fallback []netip.Prefix) (*nodeInfo, error) {
	info := &nodeInfo{transportAnnotation: node.Annotations[transportAddressesAnnotation], keyAnnotation: node.Annotations[wireguard.KeyAnnotation]}
	cidrs, err := podCIDRs(node)
	if len(cidrs) == 0 {
		if err != nil {
			return nil, err
		}
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
	var wrong []error
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, address := range node.Status.Addresses {
			if address.Type != kind {
				continue
			}
			addr, err := netip.ParseAddr(address.Address)
			if err == nil {
				err = config.CheckNodeAddress(addr)
			}
			if err != nil {
				wrong = append(wrong, fmt.Errorf("status.addresses: %s %q: %w", kind, address.Address, err))
				continue
			}
			info.addresses = append(info.addresses, addr.Unmap())
		}
	}
	if len(info.addresses) == 0 {
		return nil, errors.Join(append(wrong, errors.New("status.addresses has no usable InternalIP or ExternalIP; the kubelet sets it"))...)
	}
	return info, nil
}

// podCIDRs returns the Pod networks that a Node can have, without an error if there are others beside them: peers read the
// object in the same way (package noderoute), and report what is wrong with it.
func podCIDRs(node *corev1.Node) (cidrs []netip.Prefix, err error) {
	texts := node.Spec.PodCIDRs
	if len(texts) == 0 && node.Spec.PodCIDR != "" {
		texts = []string{node.Spec.PodCIDR}
	}
	var wrong []error
	for _, text := range texts {
		cidr, err := netip.ParsePrefix(text)
		if err == nil {
			err = config.CheckPodCIDR(cidr)
		}
		if err != nil {
			wrong = append(wrong, fmt.Errorf("spec.podCIDRs: %q: %w", text, err))
			continue
		}
		cidrs = append(cidrs, cidr)
	}
	if len(cidrs) == 0 {
		return nil, errors.Join(wrong...)
	}
	return cidrs, nil
}
