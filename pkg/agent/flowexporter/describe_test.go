// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

// describer returns a Describer for a Node with two Pods and the Pod network 10.0.1.0/24.
func describer() *Describer {
	store := interfacestore.NewInterfaceStore()
	for name, ip := range map[string]string{"web": "10.0.1.2", "db": "10.0.1.3"} {
		store.AddInterface(&interfacestore.InterfaceConfig{
			Type: interfacestore.ContainerInterface, InterfaceName: name, IPs: []netip.Addr{netip.MustParseAddr(ip)},
			ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodName: name, PodNamespace: "shop", ContainerID: name, IFDev: "eth0"},
		})
	}
	store.AddInterface(&interfacestore.InterfaceConfig{
		Type: interfacestore.GatewayInterface, InterfaceName: "antrea-gw0", IPs: []netip.Addr{netip.MustParseAddr("10.0.1.1")},
	})
	return &Describer{
		Node: "node-1", Interfaces: store,
		PodNetworks: func() []netip.Prefix {
			return []netip.Prefix{netip.MustParsePrefix("10.0.1.0/24"), netip.MustParsePrefix("10.0.2.0/24")}
		},
		Rules: func() map[uint32]v1beta2.NetworkPolicyReference {
			return map[uint32]v1beta2.NetworkPolicyReference{
				7: {Type: v1beta2.K8sNetworkPolicy, Namespace: "shop", Name: "in", UID: "u-in"},
				8: {Type: v1beta2.AntreaClusterNetworkPolicy, Name: "out", UID: "u-out"},
			}
		},
		Egresses: func() func(pod, destination netip.Addr) flows.Egress {
			return func(pod, destination netip.Addr) (e flows.Egress) {
				if pod.String() == "10.0.1.2" && destination.String() != "192.0.2.2" {
					e = flows.Egress{Name: "shop", IP: "203.0.113.9", Node: "node-2"}
				}
				return e
			}
		},
		RuleNames: func() map[uint32]string { return map[uint32]string{8: "to-db"} },
		ServicePort: func(protocol corev1.Protocol, address netip.AddrPort) string {
			if protocol == corev1.ProtocolTCP && address.String() == "10.96.0.1:80" {
				return "shop/db:sql"
			}
			return ""
		},
	}
}

func between(client, dialed, server string, labels uint64) *conntrack.Connection {
	c := &conntrack.Connection{Labels: [2]uint64{labels}}
	c.Original = tuple(6, netip.MustParseAddrPort(client), netip.MustParseAddrPort(dialed))
	c.Reply = tuple(6, netip.MustParseAddrPort(server), netip.MustParseAddrPort(client))
	return c
}

func TestDescribe(t *testing.T) {
	web, db := flows.Pod{Namespace: "shop", Name: "web"}, flows.Pod{Namespace: "shop", Name: "db"}
	for name, tc := range map[string]struct {
		c    *conntrack.Connection
		want flows.Info
	}{
		"on this Node": {
			between("10.0.1.2:1", "10.0.1.3:2", "10.0.1.3:2", 8<<32|7),
			flows.Info{Source: web, Destination: db, SourceNode: "node-1", DestinationNode: "node-1", FlowType: 1,
				Ingress: flows.Policy{Type: 1, Action: 1, Namespace: "shop", Name: "in", UID: "u-in"}, Egress: flows.Policy{Type: 3, Action: 1, Name: "out", UID: "u-out", Rule: "to-db"}},
		},
		"to a Service on another Node": {
			between("10.0.1.2:1", "10.96.0.1:80", "10.0.2.3:8080", 99),
			flows.Info{Source: web, SourceNode: "node-1", FlowType: 2, ServicePortName: "shop/db:sql"},
		},
		"from another Node": {between("10.0.2.2:1", "10.0.1.3:2", "10.0.1.3:2", 0), flows.Info{Destination: db, DestinationNode: "node-1", FlowType: 2}},
		"to the world": {
			between("10.0.1.2:1", "192.0.2.1:443", "192.0.2.1:443", 0),
			flows.Info{Source: web, SourceNode: "node-1", FlowType: 3, SNAT: flows.Egress{Name: "shop", IP: "203.0.113.9", Node: "node-2"}},
		},
		"past the Egress":    {between("10.0.1.2:1", "192.0.2.2:443", "192.0.2.2:443", 0), flows.Info{Source: web, SourceNode: "node-1", FlowType: 3}},
		"from the world":     {between("192.0.2.1:1", "10.0.1.3:2", "10.0.1.3:2", 0), flows.Info{Destination: db, DestinationNode: "node-1", FlowType: 4}},
		"from this Node":     {between("10.0.1.1:1", "10.0.1.3:2", "10.0.1.3:2", 0), flows.Info{Destination: db, DestinationNode: "node-1", FlowType: 4}},
		"to an unknown port": {between("10.0.1.2:1", "10.96.0.1:81", "10.0.2.3:8080", 0), flows.Info{Source: web, SourceNode: "node-1", FlowType: 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := describer().Begin()(tc.c)
			require.True(t, ok)
			require.Equal(t, tc.want, got)
		})
	}
	_, ok := describer().Begin()(between("10.0.1.1:1", "10.0.2.3:2", "10.0.2.3:2", 0))
	require.False(t, ok, "not of a local Pod")
	d := describer()
	d.Protocols = []uint8{17}
	_, ok = d.Begin()(between("10.0.1.2:1", "10.0.1.3:2", "10.0.1.3:2", 0))
	require.False(t, ok, "not a protocol that is exported")
}

type flowMaps struct{ flows []datapath.Flow }

func (m flowMaps) EachFlow(yield func(datapath.Flow) bool) error {
	for _, f := range m.flows {
		yield(f)
	}
	return nil
}

func (flowMaps) Started() <-chan struct{} { return nil }

func (flowMaps) WatchRetired(context.Context, func(), func(datapath.Retired)) error { return nil }

// The cache counts frames, conntrack IP packets.
func TestCache(t *testing.T) {
	pod, service, endpoint := netip.MustParseAddrPort("10.0.1.2:1"), netip.MustParseAddrPort("10.96.0.1:80"), netip.MustParseAddrPort("10.0.2.3:8080")
	near := netip.MustParseAddrPort("10.0.1.3:8080") // a Pod of this Node: what it sends is counted by its address, as in a reply
	c := CacheOf(flowMaps{[]datapath.Flow{
		{Direction: datapath.DirectionEgress, Protocol: 6, Source: pod, Destination: service, Translated: endpoint, Packets: 2, Bytes: 2*14 + 100, Created: 5},
		{Direction: datapath.DirectionIngress, Protocol: 6, Source: endpoint, Destination: pod, Translated: service, SourceTranslated: true, Packets: 1, Bytes: 14 + 40, Created: 6},
		{Direction: datapath.DirectionEgress, Protocol: 6, Source: near, Destination: pod, Translated: service, SourceTranslated: true, Local: true, Packets: 1, Bytes: 14 + 40, Created: 7},
	}})
	entries, err := c.Entries()
	require.NoError(t, err)
	require.Equal(t, []flows.Entry{
		{Sent: tuple(6, pod, service), Egress: true, Created: 5, Count: flows.Count{Packets: 2, Bytes: 100}},
		{Sent: tuple(6, pod, service), Created: 6, Count: flows.Count{Packets: 1, Bytes: 40}},
		{Sent: tuple(6, near, pod), Egress: true, Created: 7, Count: flows.Count{Packets: 1, Bytes: 40}},
	}, entries)
	require.NoError(t, c.WatchRetired(t.Context(), nil, nil), "the cache is not available")
}

func TestCollectorIsFound(t *testing.T) {
	kube := fake.NewClientset()
	c := &Collector{FlowCollector: agentconfig.FlowCollector{Namespace: "ns", Service: "sink", Port: 1, Protocol: "tls"}, Kube: kube}
	_, err := c.Dial(t.Context())
	require.ErrorContains(t, err, "find the flow collector ns/sink: the agent knows Services only with AntreaProxy")
	c.ClusterIP = func(namespace, name string) (string, error) {
		return "", errors.New(namespace + "/" + name + " is not there")
	}
	_, err = c.Dial(t.Context())
	require.ErrorContains(t, err, "ns/sink is not there")
	c.ClusterIP = func(string, string) (string, error) { return "127.0.0.1", nil }
	_, err = c.Dial(t.Context())
	require.ErrorContains(t, err, "read the CA of the flow collector")
	ca := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: caConfigMap}, Data: map[string]string{caKey: "ca"}}
	_, err = kube.CoreV1().ConfigMaps("ns").Create(t.Context(), ca, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.Dial(t.Context())
	require.ErrorContains(t, err, "read the agent's certificate for the flow collector")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: clientSecret}, Data: map[string][]byte{"tls.crt": []byte("c")}}
	_, err = kube.CoreV1().Secrets("ns").Create(t.Context(), secret, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = c.credentials(t.Context())
	require.ErrorContains(t, err, "needs the key ca.crt, Secret ns/flow-aggregator-client-tls the keys tls.crt and tls.key")
	secret.Data["tls.key"] = []byte("k")
	_, err = kube.CoreV1().Secrets("ns").Update(t.Context(), secret, metav1.UpdateOptions{})
	require.NoError(t, err)
	credentials, err := c.credentials(t.Context())
	require.NoError(t, err)
	require.Equal(t, "sink.ns.svc", credentials.ServerName)
}
