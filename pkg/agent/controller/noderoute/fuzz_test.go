// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// FuzzNode feeds Nodes with arbitrary annotation, Pod CIDRs and addresses (separated by spaces) to the reader. The values that it accepts are
// usable and bounded, and it reports the others.
func FuzzNode(f *testing.F) {
	f.Add("", "10.10.1.0/24", "192.168.1.1", "")
	f.Add("192.168.1.1, fd00::1", "10.10.1.0/24 fd00:10::/64", "192.168.1.1 fd00::1 name", "1.2.3.4")
	f.Add("none", "10.10.1.7/24 10.10.2.0/24", "0.0.0.0 ::ffff:10.0.0.1", "fe80::1%eth0")
	f.Add(strings.Repeat("1.1.1.1,", 40)+"1.1.1.1", "::/0 0.0.0.0/0", "127.0.0.1", "255.255.255.255 224.0.0.1")
	f.Add("2001:db8::1%"+strings.Repeat("z", 2000), "10.10.1.0/24", "192.168.1.1", "")
	f.Fuzz(func(t *testing.T, annotation, cidrs, internal, external string) {
		node := &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{TransportAddressesAnnotation: annotation}},
			Spec:       corev1.NodeSpec{PodCIDRs: strings.Fields(cidrs)},
		}
		for kind, texts := range map[corev1.NodeAddressType]string{corev1.NodeInternalIP: internal, corev1.NodeExternalIP: external} {
			for _, text := range strings.Fields(texts) {
				node.Status.Addresses = append(node.Status.Addresses, corev1.NodeAddress{Type: kind, Address: text})
			}
		}
		var o *object
		appetite.Bounded(t, len(annotation)+len(cidrs)+len(internal)+len(external), 1024, func() { o = readNode(node) })
		require.LessOrEqual(t, len(o.cidrs), 2)
		for _, cidr := range o.cidrs {
			require.Equal(t, cidr.Masked(), cidr)
			require.True(t, cidr.Contains(gatewayOf(cidr)), "%v", cidr)
		}
		require.LessOrEqual(t, len(o.allAddresses()), maxAddresses)
		for _, addr := range o.allAddresses() {
			require.False(t, addr.IsUnspecified() || addr.IsLoopback() || addr.IsMulticast() || addr.Is4In6() || addr.Zone() != "", "%v", addr)
		}
		for _, found := range o.findings {
			require.NotEmpty(t, found.reason)
			require.Less(t, len(found.text), 1024)
		}
		// Every agent reads the annotations of other agents.
		var written []string
		for _, addr := range o.addresses[0] {
			written = append(written, addr.String())
		}
		again, err := parseAddresses(strings.Join(written, ","))
		require.NoError(t, err)
		require.Equal(t, o.addresses[0], append([]netip.Addr(nil), again...))
		if !o.unreadable {
			return
		}
		require.NotEmpty(t, o.findings, "an annotation that cannot be read")
	})
}
