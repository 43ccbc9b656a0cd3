// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Move gives the Node another IPv4 address, from a network with prefix length 24, and its default route the gateway there. The Node must have IPv4
// first, and its agent must not run.
func (n *Node) Move(ctx context.Context, to, gateway netip.Addr) error {
	former := n.IPv4
	// The address stays when a former one of its subnet goes.
	if err := n.WriteFile("/proc/sys/net/ipv4/conf/"+Uplink+"/promote_secondaries", []byte("1")); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"address", "add", netip.PrefixFrom(to, 24).String(), "dev", Uplink},
		{"route", "replace", "default", "via", gateway.String()},
	} {
		if _, err := n.Exec(ctx, append([]string{"ip"}, args...)...); err != nil {
			return err
		}
	}
	if err := n.readdress(ctx, former, to); err != nil {
		return err
	}
	_, err := n.Exec(ctx, "ip", "address", "del", netip.PrefixFrom(former, 24).String(), "dev", Uplink)
	n.IP, n.IPv4, n.IPs[0] = to, to, to
	return err
}

// readdress changes an address in the Node's object.
func (n *Node) readdress(ctx context.Context, from, to netip.Addr) error {
	nodes, found := n.cluster.Client.CoreV1().Nodes(), false
	object, err := nodes.Get(ctx, n.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i, a := range object.Status.Addresses {
		if a.Type == corev1.NodeInternalIP && a.Address == from.String() {
			object.Status.Addresses[i].Address, found = to.String(), true
		}
	}
	if !found {
		return fmt.Errorf("the object of %s does not have its address %s: %v", n.Name, from, object.Status.Addresses)
	}
	_, err = nodes.UpdateStatus(ctx, object, metav1.UpdateOptions{})
	return err
}
