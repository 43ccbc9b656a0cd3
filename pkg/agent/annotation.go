// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
)

// transportAddressesAnnotation tells peers where to send tunnel packets, when that is not the Node's address.
const transportAddressesAnnotation = "node.antrea.io/transport-addresses"

// transportAnnotation is the value that the annotation should have: the comma-separated transport addresses, or empty (no
// annotation) when they are addresses of the Node object, which peers know.
func transportAnnotation(uplink *config.Uplink, nodeAddresses []netip.Addr) string {
	var addresses []string
	known := true
	for _, prefix := range []netip.Prefix{uplink.IPv4, uplink.IPv6} {
		if prefix.IsValid() {
			addresses = append(addresses, prefix.Addr().String())
			known = known && slices.Contains(nodeAddresses, prefix.Addr())
		}
	}
	if known {
		return ""
	}
	return strings.Join(addresses, ",")
}

// tunnelAddresses are all addresses that peers may choose for tunnel packets.
func tunnelAddresses(uplink *config.Uplink, nodeAddresses []netip.Addr) []netip.Addr {
	addresses := slices.Clone(nodeAddresses)
	for _, prefix := range []netip.Prefix{uplink.IPv4, uplink.IPv6} {
		if prefix.IsValid() && !slices.Contains(addresses, prefix.Addr()) {
			addresses = append(addresses, prefix.Addr())
		}
	}
	return addresses
}

// AnnotateNode sets an annotation to value, or removes it when value is empty.
func AnnotateNode(ctx context.Context, kube kubernetes.Interface, name, annotation, value string) error {
	var v any
	if value != "" {
		v = value
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{annotation: v}},
	})
	if err != nil {
		return fmt.Errorf("encode annotation %s=%q: %w", annotation, value, err)
	}
	if _, err := kube.CoreV1().Nodes().Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("set annotation %s=%q on Node %q: %w", annotation, value, name, err)
	}
	klog.InfoS("Changed an annotation of the Node", "node", name, "annotation", annotation, "value", value)
	return nil
}
