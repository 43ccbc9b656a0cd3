// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceexternalip

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
)

var addr = netip.MustParseAddr

func service(name, pool, ip string, policy corev1.ServiceExternalTrafficPolicy, age int) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: map[string]string{}, CreationTimestamp: metav1.NewTime(time.Unix(int64(-age), 0))},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, ExternalTrafficPolicy: policy},
	}
	if pool != "" {
		s.Annotations[externalip.PoolAnnotation] = pool
	}
	if ip != "" {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: ip}}
	}
	return s
}

// endpoints makes a slice; a Node may have a suffix: "-" is not ready, "~" terminates and serves.
func endpoints(service string, family discoveryv1.AddressType, nodes ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: service + "-x", Labels: map[string]string{discoveryv1.LabelServiceName: service}}, AddressType: family,
	}
	for _, node := range nodes {
		e := discoveryv1.Endpoint{}
		switch node[len(node)-1] {
		case '-':
			node, e.Conditions.Ready = node[:len(node)-1], ptr.To(false)
		case '~':
			node, e.Conditions.Ready, e.Conditions.Serving = node[:len(node)-1], ptr.To(false), ptr.To(true)
		}
		e.NodeName = &node
		slice.Endpoints = append(slice.Endpoints, e)
	}
	return slice
}

// members is a cluster whose pool p selects all Nodes, and pool q only node-2. In p, node-2 owns 169.254.100.1 and node-1 169.254.100.2.
func members(nodes ...string) *memberlist.Snapshot {
	return &memberlist.Snapshot{Alive: sets.New(nodes...), Rings: map[string]*memberlist.Ring{
		"": memberlist.NewRing(nodes), "p": memberlist.NewRing(nodes), "q": memberlist.NewRing([]string{"node-2"}),
	}}
}

// pools have addresses of their own, and 169.254.100.9 in common.
func pools() map[string]externalip.Addresses {
	of := func(first, last string) externalip.Addresses {
		return externalip.AddressesOf(&v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{IPRanges: []v1beta1.IPRange{{Start: first, End: last}}}})
	}
	return map[string]externalip.Addresses{"p": of("169.254.100.1", "169.254.100.9"), "q": of("169.254.100.9", "169.254.100.20")}
}

const (
	cluster = corev1.ServiceExternalTrafficPolicyCluster
	local   = corev1.ServiceExternalTrafficPolicyLocal
	ipv4    = discoveryv1.AddressTypeIPv4
)

func TestOwners(t *testing.T) {
	const first, second = "169.254.100.1", "169.254.100.2"
	none := memberlist.ErrNoNode.Error()
	for _, test := range []struct {
		name     string
		services []*corev1.Service
		slices   []*discoveryv1.EndpointSlice
		members  *memberlist.Snapshot
		// want has the owner of first, or the failure.
		want string
	}{
		{"the ring's", []*corev1.Service{service("a", "p", first, cluster, 1)}, nil, members("node-1", "node-2"), "node-2"},
		{"the other has ended", []*corev1.Service{service("a", "p", first, cluster, 1)}, nil, members("node-1"), "node-1"},
		{"no pool", []*corev1.Service{service("a", "gone", first, cluster, 1)}, nil, members("node-1"),
			"shown by Service ns/a, but ExternalIPPool gone does not contain it, or does not exist"},
		{"another pool's", []*corev1.Service{service("a", "q", first, cluster, 1)}, nil, members("node-1", "node-2"),
			"shown by Service ns/a, but ExternalIPPool q does not contain it, or does not exist"},
		{"one of two has it from its pool", []*corev1.Service{service("a", "q", first, cluster, 2), service("b", "p", first, cluster, 1), service("c", "gone", first, cluster, 0)},
			nil, members("node-1"), "node-1"},
		{"not ours", []*corev1.Service{service("a", "", first, cluster, 1)}, nil, members("node-1"), ""},
		{"an Endpoint elsewhere", []*corev1.Service{service("a", "p", first, local, 1)}, []*discoveryv1.EndpointSlice{endpoints("a", ipv4, "node-2-", "node-1")},
			members("node-1", "node-2"), "node-1"},
		{"it still serves", []*corev1.Service{service("a", "p", first, local, 1)}, []*discoveryv1.EndpointSlice{endpoints("a", ipv4, "node-1~")}, members("node-1", "node-2"), "node-1"},
		{"other Service's, other family's", []*corev1.Service{service("a", "p", first, local, 1)},
			[]*discoveryv1.EndpointSlice{endpoints("b", ipv4, "node-1"), endpoints("a", discoveryv1.AddressTypeIPv6, "node-1")}, members("node-1", "node-2"), none},
		{"shared, one is bound to a Node", []*corev1.Service{service("a", "p", first, cluster, 2), service("b", "p", first, local, 1)},
			[]*discoveryv1.EndpointSlice{endpoints("b", ipv4, "node-1")}, members("node-1", "node-2"), "node-1"},
		{"shared, no Node is right for both", []*corev1.Service{service("a", "p", first, local, 1), service("b", "p", first, local, 2)},
			[]*discoveryv1.EndpointSlice{endpoints("a", ipv4, "node-2"), endpoints("b", ipv4, "node-1")}, members("node-1", "node-2"), "node-1"},
		{"shared, one has no Endpoints", []*corev1.Service{service("a", "p", first, cluster, 1), service("b", "p", first, local, 2)}, nil, members("node-1", "node-2"), "node-2"},
		{"other address", []*corev1.Service{service("a", "p", second, cluster, 1)}, nil, members("node-1", "node-2"), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, node := range []string{"node-1", "node-2"} {
				d := decide(input{node: node, services: test.services, slices: test.slices, pools: pools(), members: test.members, refuse: func(netip.Addr) error { return nil }})
				got := d.owners[addr(first)]
				if err := d.failures[addr(first)]; err != nil {
					got = err.Error()
				}
				require.Equal(t, test.want, got)
				require.Equal(t, got == node, d.mine.Has(addr(first)))
			}
		})
	}
}

// TestNodesOfThePool: the Nodes of the Service's pool count, not the Nodes of another one that contains the address.
func TestNodesOfThePool(t *testing.T) {
	shared := "169.254.100.9"
	for pool, want := range map[string]string{"p": "node-1", "q": "node-2"} {
		all := members("node-1")
		all.Rings["q"] = memberlist.NewRing([]string{"node-2"})
		d := decide(input{node: "node-1", services: []*corev1.Service{service("a", pool, shared, cluster, 1)}, pools: pools(), members: all, refuse: func(netip.Addr) error { return nil }})
		require.Equal(t, want, d.owners[addr(shared)])
	}
}

// TestUnknownMembers: what is answered for stays until no Service has it, or no Endpoint is here where that counts; nothing comes.
func TestUnknownMembers(t *testing.T) {
	in := input{
		node: "node-1", members: &memberlist.Snapshot{Unknown: errors.New("no key")}, present: sets.New(addr("169.254.100.1"), addr("169.254.100.2"), addr("169.254.100.4")),
		services: []*corev1.Service{service("a", "p", "169.254.100.1", cluster, 1), service("b", "p", "169.254.100.3", cluster, 1), service("c", "p", "169.254.100.4", local, 1)},
		slices:   []*discoveryv1.EndpointSlice{endpoints("b", ipv4, "node-1"), endpoints("c", ipv4, "node-1", "node-2")},
		pools:    pools(), refuse: func(netip.Addr) error { return nil },
	}
	require.Equal(t, sets.New(addr("169.254.100.1"), addr("169.254.100.4")), decide(in).mine)
	elsewhere := in
	for _, nodes := range [][]string{nil, {"node-2"}, {"node-1-", "node-2"}} {
		elsewhere.slices = []*discoveryv1.EndpointSlice{endpoints("c", ipv4, nodes...)}
		require.Equal(t, sets.New(addr("169.254.100.1")), decide(elsewhere).mine, "%v: packets to c would be dropped here", nodes)
	}
	// Of two that share, the Node stays that is right for both; the older one's if there is none.
	elsewhere.services = []*corev1.Service{service("a", "p", "169.254.100.1", local, 2), service("c", "p", "169.254.100.1", local, 1)}
	for _, test := range []struct {
		older, younger string
		stays          bool
	}{{"node-1", "node-1", true}, {"node-2", "node-1", false}, {"node-1", "node-2", true}} {
		elsewhere.slices = []*discoveryv1.EndpointSlice{endpoints("a", ipv4, test.older), endpoints("c", ipv4, test.younger)}
		require.Equal(t, test.stays, decide(elsewhere).mine.Has(addr("169.254.100.1")), "%v", test)
	}
	without := in
	without.pools = nil
	require.Empty(t, decide(without).mine, "no pool has them")
	in.refuse = func(a netip.Addr) error { return errors.New("a next hop") }
	require.Empty(t, decide(in).mine)
}
