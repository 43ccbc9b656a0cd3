// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// egressAddress returns an address of the Nodes' subnet that an Egress can have.
func (s *suite) egressAddress(host int) netip.Addr {
	if s.ipv6 {
		return netip.MustParseAddr(fmt.Sprintf("fd00:77::%d", host))
	}
	return netip.AddrFrom4([4]byte{192, 168, 77, byte(host)})
}

// staticEgress is an Egress without a pool.
type staticEgress struct {
	name     string
	egresses dynamic.ResourceInterface
	// delete may be called again.
	delete func()
}

// createStaticEgress makes an Egress for Pods with the label egress=LABEL, until it is deleted or the test ends.
func (s *suite) createStaticEgress(t *testing.T, name, label string, addr netip.Addr) *staticEgress {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config)
	require.NoError(t, err)
	e := &staticEgress{name: name, egresses: client.Resource(crd.Egresses)}
	object := crd.New(v1beta1.EgressKind, name)
	require.NoError(t, crd.Fill(object, &v1beta1.Egress{Spec: v1beta1.EgressSpec{
		EgressIP: addr.String(), AppliedTo: v1beta1.AppliedTo{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"egress": label}}},
	}}))
	object.Object["status"] = nil
	_, err = e.egresses.Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	e.delete = once(func() { require.NoError(t, e.egresses.Delete(context.Background(), name, metav1.DeleteOptions{})) })
	t.Cleanup(e.delete)
	return e
}

// eventuallyOn waits until a Node says that it has the address, and returns the time that this took.
func (e *staticEgress) eventuallyOn(t *testing.T, node *cluster.Node, addr netip.Addr) time.Duration {
	t.Helper()
	began := time.Now()
	require.Eventually(t, func() bool {
		shown, err := e.egresses.Get(t.Context(), e.name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		egress, err := crd.Read[v1beta1.Egress](shown)
		return err == nil && egress.Status.EgressNode == node.Name && egress.Status.EgressIP == addr.String()
	}, 20*time.Second, 20*time.Millisecond, "%s says that it has %s", node.Name, addr)
	return time.Since(began)
}

// addAddress gives an address to a Node as an administrator does, until it is removed or the test ends. The kernel answers for an IPv6 address
// on its own device only; there, the Node must not choose it for packets of its own.
func addAddress(t *testing.T, node *cluster.Node, addr netip.Addr) (remove func()) {
	t.Helper()
	where := []string{netip.PrefixFrom(addr, addr.BitLen()).String(), "dev", "lo"}
	options := []string{}
	if addr.Is6() {
		where[2], options = cluster.Uplink, []string{"nodad", "preferred_lft", "0"}
	}
	succeeds(t, node.Space, slices.Concat([]string{"ip", "address", "add"}, where, options)...)
	remove = once(func() { succeeds(t, node.Space, slices.Concat([]string{"ip", "address", "del"}, where)...) })
	t.Cleanup(remove)
	return remove
}
