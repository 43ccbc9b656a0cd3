// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// staticEgress is an Egress without a pool, for Pods with the label egress=NAME.
type staticEgress struct {
	name     string
	egresses dynamic.ResourceInterface
	// delete may be called again.
	delete func()
}

// createStaticEgress makes an Egress, until it is deleted or the test ends.
func (s *suite) createStaticEgress(t *testing.T, name string, addr netip.Addr) *staticEgress {
	t.Helper()
	client, err := dynamic.NewForConfig(s.Config)
	require.NoError(t, err)
	e := &staticEgress{name: name, egresses: client.Resource(crd.Egresses)}
	object := crd.New(v1beta1.EgressKind, name)
	require.NoError(t, crd.Fill(object, &v1beta1.Egress{Spec: v1beta1.EgressSpec{
		EgressIP: addr.String(), AppliedTo: v1beta1.AppliedTo{PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"egress": name}}},
	}}))
	object.Object["status"] = nil
	_, err = e.egresses.Create(t.Context(), object, metav1.CreateOptions{})
	require.NoError(t, err)
	e.delete = sync.OnceFunc(func() { require.NoError(t, e.egresses.Delete(context.Background(), name, metav1.DeleteOptions{})) })
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

// addAddress gives an address to a Node as an administrator does, until it is removed or the test ends.
func addAddress(t *testing.T, node *cluster.Node, addr netip.Addr) (remove func()) {
	t.Helper()
	change := func(verb string) {
		succeeds(t, node.Space, "ip", "address", verb, netip.PrefixFrom(addr, addr.BitLen()).String(), "dev", "lo")
	}
	change("add")
	remove = sync.OnceFunc(func() { change("del") })
	t.Cleanup(remove)
	return remove
}
