// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/wireguard"
)

// fakeDevice encrypts for peers, except for clusters in fails.
type fakeDevice struct {
	own     wgtypes.Key
	address netip.Addr
	peers   map[netip.Addr]wireguard.ClusterPeer
	fails   map[string]bool
	gone    error
}

func (d *fakeDevice) Set(address netip.Addr, peers []wireguard.ClusterPeer) (wgtypes.Key, map[string]error, error) {
	failed := map[string]error{}
	d.address, d.peers = address, map[netip.Addr]wireguard.ClusterPeer{}
	for _, p := range peers {
		switch {
		case d.gone != nil:
			failed[p.Cluster] = d.gone
		case d.fails[p.Cluster] || p.Key == d.own:
			failed[p.Cluster] = errors.New("the kernel refuses it")
		default:
			d.peers[p.Address] = p
		}
	}
	if d.gone != nil {
		return wgtypes.Key{}, failed, d.gone
	}
	return d.own, failed, nil
}

func (d *fakeDevice) Remove() error {
	d.address, d.peers = netip.Addr{}, nil
	return nil
}

// check requires that nothing can leave in clear for a cluster to which flows lead, or come from it.
func (d *fakeDevice) check(r *recorder, c openflow.Cluster) {
	if c.Peer.IsValid() && !slices.Contains(r.guarded, c.Gateway) {
		r.t.Errorf("flows lead to %v, but only %v are guarded", c.Gateway, r.guarded)
	}
}

// checkPeer requires that a cluster to which flows are to lead is encrypted. Later it may cease to be: the device drops what has no peer.
func (d *fakeDevice) checkPeer(r *recorder, c openflow.Cluster) {
	if !c.Peer.IsValid() {
		return
	}
	if _, encrypted := d.peers[c.Peer]; r.source.IsValid() && !encrypted {
		r.t.Errorf("flows lead to %v, which is not encrypted: %v", c.Peer, d.peers)
	}
}

func keyOf(b byte) (key wgtypes.Key) {
	key[0] = b
	return key
}

// secretImport is the import of a cluster with the Service network 10.N.0.0/16.
func secretImport(n byte, key string) *v1alpha1.ClusterInfoImport {
	i := importOf(fmt.Sprint("c", n), fmt.Sprintf("10.%d.0.0/16", n), fmt.Sprintf("172.19.0.%d", n), int64(100-n))
	if key != "" {
		i.Spec.WireGuard = &v1alpha1.WireGuardInfo{PublicKey: key}
	}
	return i
}

func secretWorld(node string, imports ...*v1alpha1.ClusterInfoImport) input {
	in := world(node, imports...)
	in.port, in.podToPod = 51821, true
	return in
}

func TestDecideEncrypted(t *testing.T) {
	good, none := secretImport(120, keyOf(1).String()), secretImport(121, "")
	bad, zero, thief := secretImport(122, "nonsense"), secretImport(123, wgtypes.Key{}.String()), secretImport(124, keyOf(1).String())
	good.Spec.PodCIDRs = []string{"10.40.0.0/16"}
	all := []*v1alpha1.ClusterInfoImport{thief, zero, bad, none, good}
	base := addr("10.120.0.0")
	networks := []netip.Prefix{netip.MustParsePrefix("10.120.0.0/16"), netip.MustParsePrefix("10.40.0.0/16")}
	for node, peer := range map[string]netip.Addr{"n1": base, "n2": addr("172.18.0.2")} {
		t.Run(node, func(t *testing.T) {
			d := decide(secretWorld(node, all...))
			require.Len(t, d.clusters, 5)
			require.Equal(t, openflow.Cluster{Name: "c120", Networks: networks, Gateway: base, Peer: peer}, d.clusters[0])
			for _, c := range d.clusters[1:] {
				require.Equal(t, c.Networks[0].Addr(), c.Gateway)
				require.False(t, c.Peer.IsValid(), c.Name)
			}
			for cluster, why := range map[string]string{
				"c121": "spec.wireGuard.publicKey is empty", "c122": `is "nonsense", want a key of WireGuard`, "c123": "all zero", "c124": "of cluster c120, want one of its own",
			} {
				err := d.refused[object{v1alpha1.ClusterInfoImportKind, v1alpha1.ClusterInfoName(cluster)}]
				require.ErrorContains(t, err, why)
				require.ErrorContains(t, err, "packets to it and from it are dropped")
			}
			require.Len(t, d.refused, 4)
			require.Len(t, d.secret.guarded, 10)
			require.Contains(t, d.secret.guarded, base)
			require.Contains(t, d.secret.guarded, addr("172.19.0.120"))
			if node == "n2" {
				require.False(t, d.source.IsValid())
				require.Empty(t, d.secret.peers)
				return
			}
			require.Equal(t, addr("10.96.0.0"), d.source)
			require.Equal(t, []wireguard.ClusterPeer{{Cluster: "c120", Key: keyOf(1), Endpoint: netip.MustParseAddrPort("172.19.0.120:51821"), Address: base}}, d.secret.peers)
		})
	}
}

// sealed is a controller of n1 that does not run.
type sealed struct {
	*Controller
	*recorder
	problems *problem.Recorder
}

func newSealed(t *testing.T, encrypted bool, gateway *v1alpha1.Gateway) *sealed {
	t.Helper()
	r := &recorder{t: t, tracked: map[uint16][]*conntrack.Connection{}}
	objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{v1alpha1.Gateways: "GatewayList"})
	s := &sealed{recorder: r, problems: problem.NewRecorder()}
	s.Controller = &Controller{reported: map[object]bool{}, Config: Config{
		NodeName: "n1", Namespace: "kube-system", Objects: objects, Flows: r, Host: r, End: r.End, Problems: s.problems,
	}}
	if encrypted {
		r.device = &fakeDevice{own: keyOf(99)}
		s.Device, s.Port = r.device, 51821
	}
	_, err := objects.Resource(v1alpha1.Gateways).Namespace("kube-system").Create(t.Context(), encode(t, v1alpha1.GatewayKind, gateway), metav1.CreateOptions{})
	require.NoError(t, err)
	return s
}

// published is the public key in the Gateway, empty for none.
func (s *sealed) published(t *testing.T) string {
	t.Helper()
	o, err := s.Objects.Resource(v1alpha1.Gateways).Namespace(s.Namespace).Get(t.Context(), "n1", metav1.GetOptions{})
	require.NoError(t, err)
	info, _ := o.Object["wireGuard"].(map[string]any)
	key, _ := info["publicKey"].(string)
	return key
}

func TestKeyIsPublished(t *testing.T) {
	gateway := gatewayOf("n1", "192.0.2.1", "172.18.0.2")
	s := newSealed(t, true, gateway)
	in := secretWorld("n1", secretImport(120, keyOf(1).String()))
	require.NoError(t, s.realize(t.Context(), decide(in)))
	require.Equal(t, keyOf(99).String(), s.published(t))
	require.Equal(t, addr("10.96.0.0"), s.device.address)

	s.device.gone = errors.New("the kernel has no WireGuard")
	require.ErrorContains(t, s.realize(t.Context(), decide(in)), "the kernel has no WireGuard")
	require.Equal(t, keyOf(99).String(), s.published(t))
	require.False(t, s.clusters[0].Peer.IsValid())
	s.device.gone, s.device.own = nil, keyOf(98)
	require.NoError(t, s.realize(t.Context(), decide(in)))
	require.Equal(t, keyOf(98).String(), s.published(t), "a new device has a new key")
	require.True(t, s.clusters[0].Peer.IsValid())

	in.gateways = []*v1alpha1.Gateway{gatewayOf("n2", "172.18.0.3", "172.18.0.3")}
	require.NoError(t, s.realize(t.Context(), decide(in)))
	require.Nil(t, s.device.peers, "another Node is the gateway Node")
	require.Equal(t, addr("172.18.0.3"), s.clusters[0].Peer)

	gateway.WireGuard = &v1alpha1.WireGuardInfo{PublicKey: keyOf(98).String()}
	off, plain := newSealed(t, false, gateway), world("n1")
	plain.gateways = []*v1alpha1.Gateway{gateway}
	require.NoError(t, off.realize(t.Context(), decide(plain)))
	require.Empty(t, off.published(t), "without encryption")
}

// TestOwnFaultIsProblem: a device that fails, a host that guards nothing and a key that cannot be published are problems of the Gateway, without any other
// cluster as well, until they are mended.
func TestOwnFaultIsProblem(t *testing.T) {
	for name, fault := range map[string]func(s *sealed, broken bool){
		"device": func(s *sealed, broken bool) {
			if s.device.gone = nil; broken {
				s.device.gone = errors.New("the fault")
			}
		},
		"guard": func(s *sealed, broken bool) {
			if s.unguard = nil; broken {
				s.unguard = errors.New("the fault")
			}
		},
		"key": func(s *sealed, broken bool) {
			objects := s.Objects.(*dynamicfake.FakeDynamicClient)
			if !broken {
				objects.ReactionChain = objects.ReactionChain[1:]
				return
			}
			objects.PrependReactor("patch", "gateways", func(k8stesting.Action) (bool, runtime.Object, error) {
				return true, nil, errors.New("the fault")
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSealed(t, true, gatewayOf("n1", "192.0.2.1", "172.18.0.2"))
			fault(s, true)
			require.Error(t, s.realize(t.Context(), decide(secretWorld("n1"))))
			problems, _ := s.problems.List()
			require.Len(t, problems, 1)
			require.Equal(t, problem.Subject{Kind: v1alpha1.GatewayKind, Namespace: "kube-system", Name: "n1"}, problems[0].Subject)
			require.Contains(t, problems[0].Message, "the fault")
			fault(s, false)
			require.NoError(t, s.realize(t.Context(), decide(secretWorld("n1"))))
			problems, _ = s.problems.List()
			require.Empty(t, problems)
		})
	}
}

// TestNothingIsGuarded: if the host cannot drop what is in clear, nothing crosses.
func TestNothingIsGuarded(t *testing.T) {
	s := newSealed(t, true, gatewayOf("n1", "192.0.2.1", "172.18.0.2"))
	in := secretWorld("n1", secretImport(120, keyOf(1).String()))
	s.unguard = errors.New("the kernel has no ipset")
	require.ErrorContains(t, s.realize(t.Context(), decide(in)), "no ipset")
	require.Len(t, s.clusters, 1)
	require.False(t, s.clusters[0].Peer.IsValid())
	s.unguard = nil
	require.NoError(t, s.realize(t.Context(), decide(in)))
	require.True(t, s.clusters[0].Peer.IsValid())
}

// TestEncryptionUnderChanges: whatever clusters, keys, gateway Nodes and failures there are, flows lead only to clusters that are encrypted and guarded
// (recorder.check), and to all that have a key of their own for which the device works.
func TestEncryptionUnderChanges(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 39))
		s := newSealed(t, true, gatewayOf("n1", "192.0.2.1", "172.18.0.2"))
		for step := range 20 {
			in, wanted := randomWorld(r, s.device)
			s.fail, s.unguard = nil, nil
			switch r.IntN(8) {
			case 0:
				s.fail = errForever
			case 1:
				s.unguard = errors.New("the kernel refuses the set")
			}
			_ = s.realize(t.Context(), decide(in)) // a device that refuses a cluster is an error
			if s.unguard != nil || s.fail != nil {
				continue
			}
			open := map[string]bool{}
			for _, c := range s.clusters {
				open[c.Name] = c.Peer.IsValid()
			}
			for cluster, want := range wanted {
				require.Equal(t, want, open[cluster], "seed %d, step %d: %s", seed, step, cluster)
			}
			require.Equal(t, s.source.IsValid(), s.device.peers != nil, "the device is on the gateway Node only")
		}
	}
}

// randomWorld returns an input, and which clusters must be connected.
func randomWorld(r *rand.Rand, device *fakeDevice) (in input, wanted map[string]bool) {
	device.fails, device.gone, wanted = map[string]bool{}, nil, map[string]bool{}
	if r.IntN(6) == 0 {
		device.gone = errors.New("the device is gone")
	}
	gateway := []string{"n1", "n1", "n2"}[r.IntN(3)]
	owned := map[byte]bool{}
	var imports []*v1alpha1.ClusterInfoImport
	for n := byte(120); n < 125; n++ {
		key := byte(r.IntN(8))
		text, name := keyOf(key).String(), fmt.Sprint("c", n)
		if key == 7 {
			text = keyOf(99).String() // this cluster's own
		}
		device.fails[name] = r.IntN(6) == 0
		works := key != 7 && !device.fails[name] && device.gone == nil || gateway == "n2"
		wanted[name] = key != 0 && !owned[key] && works
		owned[key] = true
		imports = append(imports, secretImport(n, text))
	}
	in = secretWorld("n1", imports...)
	if gateway == "n2" {
		in.gateways = []*v1alpha1.Gateway{gatewayOf("n2", "172.18.0.3", "172.18.0.3")}
	}
	return in, wanted
}
