// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
)

func makeService(name, pool, asks string) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("s-" + name), ResourceVersion: "1", Annotations: map[string]string{}},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: asks, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}},
	}
	if pool != "" {
		s.Annotations[externalip.PoolAnnotation] = pool
	}
	return s
}

func sharing(s *corev1.Service) *corev1.Service {
	s.Annotations[externalip.ShareAnnotation] = "true"
	return s
}

// bench is a core with objects whose writes succeed.
type bench struct {
	t        *testing.T
	core     core
	egresses []*v1beta1.Egress
	services []*corev1.Service
	pools    []*v1beta1.ExternalIPPool
	// told are the messages that users have got, by the name of the object.
	told map[string][]string
}

func newBench(t *testing.T, pools ...*v1beta1.ExternalIPPool) *bench {
	return &bench{t: t, core: newCore(), pools: pools, told: map[string][]string{}}
}

func (b *bench) settle() {
	b.t.Helper()
	for range 5 {
		all := claimants(b.egresses)
		for _, s := range b.services {
			all = append(all, serviceClaimant(s, true))
		}
		p := b.core.plan(all, b.pools)
		for _, r := range p.refusals {
			b.told[r.GetName()] = append(b.told[r.GetName()], r.message)
		}
		if len(p.addresses)+len(p.statuses)+len(p.usages) == 0 {
			return
		}
		p.write()
	}
	b.t.Fatal("there is always something to write")
}

// requires settles and compares the addresses of Services; "" is none.
func (b *bench) requires(want ...string) {
	b.t.Helper()
	b.settle()
	var got []string
	for _, s := range b.services {
		text := ""
		if addr := externalip.Address(s); addr.IsValid() {
			text = addr.String()
		}
		got = append(got, text)
	}
	require.Equal(b.t, want, got)
}

// TestServices: Services get addresses beside Egresses, and lose them with annotation, type, pool and request.
func TestServices(t *testing.T) {
	pool := makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/29"})
	b := newBench(t, pool)
	e := makeEgress("e", "p", "")
	plain, free, asking, outside, taken, lost := makeService("a", "", ""), makeService("b", "p", ""), makeService("c", "p", "10.0.0.5"),
		makeService("d", "p", "10.0.1.1"), makeService("e", "p", "10.0.0.5"), makeService("f", "gone", "")
	plain.Status.LoadBalancer = loadBalancer(netip.MustParseAddr("10.0.0.2")) // another load balancer's
	b.egresses, b.services = []*v1beta1.Egress{e}, []*corev1.Service{plain, free, asking, outside, taken, lost}
	b.requires("10.0.0.2", "10.0.0.3", "10.0.0.5", "", "", "")
	require.Equal(t, "10.0.0.1", e.Spec.EgressIP)
	require.Equal(t, v1beta1.IPPoolUsage{Total: 6, Used: 3}, pool.Status.Usage)
	require.Equal(t, map[string][]string{
		"d": {"IP 10.0.1.1 is not within the IP range of ExternalIPPool p"}, "e": {"IP 10.0.0.5 is allocated to Service ns/c"},
		"f": {"ExternalIPPool gone does not exist"},
	}, b.told, "each failure is told once")

	asking.Spec.LoadBalancerIP, outside.Spec.LoadBalancerIP, taken.Spec.LoadBalancerIP = "", "x", "10.0.0.1"
	b.requires("10.0.0.2", "10.0.0.3", "10.0.0.5", "", "", "")
	require.Equal(t, "IP x is not valid", b.told["d"][1])
	require.Equal(t, "IP 10.0.0.1 is allocated to Egress e", b.told["e"][1])

	// Requests that can be met later, and what is given up.
	delete(free.Annotations, externalip.PoolAnnotation)
	asking.Spec.Type, taken.Spec.LoadBalancerIP, outside.Spec.LoadBalancerIP = corev1.ServiceTypeClusterIP, "10.0.0.5", ""
	b.requires("10.0.0.2", "", "", "10.0.0.4", "10.0.0.5", "") // 10.0.0.3 is free when no object shows it
	require.Equal(t, int64(3), pool.Status.Usage.Used)

	// A request that cannot be met any more clears the status.
	taken.Spec.LoadBalancerIP = "10.0.0.1"
	b.requires("10.0.0.2", "", "", "10.0.0.4", "", "")
	b.pools = nil
	b.requires("10.0.0.2", "", "", "", "", "")
	require.Equal(t, "ExternalIPPool p does not exist", b.told["e"][len(b.told["e"])-1])
}

// TestFamilies: a Service gets an address that it can use.
func TestFamilies(t *testing.T) {
	b := newBench(t, makePool("p", v1beta1.IPRange{Start: "10.0.0.1", End: "10.0.0.9"}, v1beta1.IPRange{Start: "fd00::1", End: "fd00::9"}))
	six, four, asking := makeService("a", "p", ""), makeService("b", "p", ""), makeService("c", "p", "fd00::9")
	six.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol}
	b.services = []*corev1.Service{six, four, asking}
	b.requires("fd00::1", "10.0.0.1", "")
	require.Equal(t, []string{"IP fd00::9 is not of an IP family of the Service"}, b.told["c"])
}

// TestShares: an address has several Services if all may share, and is free when the last one goes.
func TestShares(t *testing.T) {
	pool, other := makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/30"}), makePool("q", v1beta1.IPRange{Start: "10.0.0.1", End: "10.0.0.2"})
	b := newBench(t, pool, other)
	first, second, alone, elsewhere := sharing(makeService("a", "p", "10.0.0.1")), sharing(makeService("b", "p", "10.0.0.1")),
		makeService("c", "p", "10.0.0.1"), sharing(makeService("d", "q", "10.0.0.1"))
	b.services = []*corev1.Service{first, second, alone, elsewhere}
	b.requires("10.0.0.1", "10.0.0.1", "", "")
	require.Equal(t, int64(1), pool.Status.Usage.Used, "one address")
	sharing(alone)
	b.requires("10.0.0.1", "10.0.0.1", "10.0.0.1", "")
	delete(first.Annotations, externalip.ShareAnnotation)
	b.requires("10.0.0.1", "10.0.0.1", "10.0.0.1", "")
	b.core = newCore()
	b.requires("10.0.0.1", "10.0.0.1", "10.0.0.1", "")
	e := makeEgress("e", "p", "10.0.0.1")
	b.egresses, b.services = []*v1beta1.Egress{e}, b.services[1:3]
	b.settle()
	require.Contains(t, condition(e, v1beta1.IPAllocated), "IP 10.0.0.1 is allocated to Service ns/b")
	b.services = nil
	b.settle()
	require.Equal(t, isAllocated, condition(e, v1beta1.IPAllocated))
}

// TestEgressWaitsForTheFormerService: an Egress does not have the address of a Service that still shows it. Once the Egress has it, it keeps it, whatever
// shows it later.
func TestEgressWaitsForTheFormerService(t *testing.T) {
	b := newBench(t, makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/29"}))
	former, other := makeService("a", "p", "10.0.0.1"), makeService("b", "p", "")
	b.services = []*corev1.Service{former, other}
	b.requires("10.0.0.1", "10.0.0.2")
	former.Spec.LoadBalancerIP = "10.0.0.3"
	e := makeEgress("e", "p", "10.0.0.1")
	b.egresses = []*v1beta1.Egress{e}
	// decided returns what one plan says of the Egress, before the Services are written.
	decided := func() string {
		p := b.core.plan(append(claimants(b.egresses), serviceClaimant(former, true), serviceClaimant(other, true)), b.pools)
		p.addresses = nil
		p.write()
		return condition(e, v1beta1.IPAllocated)
	}
	require.Equal(t, "False AllocationError: Cannot allocate EgressIP from ExternalIPPool: IP 10.0.0.1 is still shown by Service ns/a", decided())
	b.requires("10.0.0.3", "10.0.0.2")
	require.Equal(t, isAllocated, condition(e, v1beta1.IPAllocated))
	other.Status.LoadBalancer = loadBalancer(netip.MustParseAddr("10.0.0.1")) // by another program
	require.Equal(t, isAllocated, decided())
	b.requires("10.0.0.3", "10.0.0.2")
}

// TestNewControllerKeepsAddresses: what a Service shows counts more than what an older one asks for.
func TestNewControllerKeepsAddresses(t *testing.T) {
	b := newBench(t, makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/29"}))
	old, has, second := makeService("a", "p", "10.0.0.3"), makeService("b", "p", ""), makeService("c", "p", "")
	has.Status.LoadBalancer = loadBalancer(netip.MustParseAddr("10.0.0.3"))
	second.Status.LoadBalancer = loadBalancer(netip.MustParseAddr("10.0.9.9")) // not the pool's
	b.services = []*corev1.Service{old, has, second}
	b.requires("", "10.0.0.3", "10.0.0.1")
}

// TestEgressOff: Egresses keep what they have, and nothing is written for them.
func TestEgressOff(t *testing.T) {
	c := newCore()
	all := []*claimant{
		egressClaimant(makeEgress("e", "p", "10.0.0.1"), false), egressClaimant(makeEgress("f", "p", ""), false), serviceClaimant(makeService("a", "p", ""), true),
	}
	p := c.plan(all, []*v1beta1.ExternalIPPool{makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/29"})})
	require.Len(t, p.addresses, 1)
	require.Equal(t, "10.0.0.2", p.addresses[0].addr.String())
	require.Empty(t, p.statuses)
}

// TestAddressesMoveOneByOne: an address that another Service still shows is not written, also if its removal fails, and two Services can exchange
// their addresses.
func TestAddressesMoveOneByOne(t *testing.T) {
	b := newBench(t, makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/29"}))
	first, second := makeService("a", "p", "10.0.0.1"), makeService("b", "p", "10.0.0.2")
	b.services = []*corev1.Service{first, second}
	b.requires("10.0.0.1", "10.0.0.2")
	first.Spec.LoadBalancerIP, second.Spec.LoadBalancerIP = "10.9.9.9", "10.0.0.1"
	p := b.core.plan([]*claimant{serviceClaimant(first, true), serviceClaimant(second, true)}, b.pools)
	for _, change := range p.addresses {
		require.False(t, change.addr.IsValid(), "%s would have %s, which ns/a still shows", change.name, change.addr)
	}
	b.requires("", "10.0.0.1")
	first.Spec.LoadBalancerIP = "10.0.0.2"
	b.requires("10.0.0.2", "10.0.0.1")
	first.Spec.LoadBalancerIP, second.Spec.LoadBalancerIP = "10.0.0.1", "10.0.0.2"
	b.requires("10.0.0.1", "10.0.0.2")
}

// TestGatesAgain: while a gate is off, no other object gets what its objects show, on request either; with the gate on again they have it.
func TestGatesAgain(t *testing.T) {
	pools := []*v1beta1.ExternalIPPool{makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/29"})}
	s, foreign := makeService("a", "p", ""), makeService("b", "", "")
	s.Status.LoadBalancer, foreign.Status.LoadBalancer = loadBalancer(netip.MustParseAddr("10.0.0.1")), loadBalancer(netip.MustParseAddr("10.0.0.2"))
	free, asking, other := makeEgress("e", "p", ""), makeEgress("f", "p", "10.0.0.1"), makeEgress("g", "p", "10.0.0.2")
	settle := func(core core, enabled bool) {
		t.Helper()
		for range 4 {
			all := append(claimants([]*v1beta1.Egress{free, asking, other}), serviceClaimant(s, enabled), serviceClaimant(foreign, enabled))
			p := core.plan(all, pools)
			for _, r := range p.refusals {
				require.Equal(t, "f", r.GetName())
			}
			p.write()
		}
		require.Equal(t, "10.0.0.3", free.Spec.EgressIP)
		require.Contains(t, condition(asking, v1beta1.IPAllocated), "IP 10.0.0.1 is allocated to Service ns/a")
		require.Equal(t, isAllocated, condition(other, v1beta1.IPAllocated), "another load balancer's Services have nothing of a pool")
		require.Equal(t, "10.0.0.1", externalip.Address(s).String())
	}
	settle(newCore(), false)
	settle(newCore(), true)

	// The other way round.
	passive := []*claimant{egressClaimant(free, false), serviceClaimant(makeService("c", "p", "10.0.0.3"), true)}
	core := newCore()
	p := core.plan(passive, pools)
	require.Empty(t, p.addresses)
	require.Equal(t, "IP 10.0.0.3 is allocated to Egress e", p.refusals[0].message)
}

// TestAddressesOfServicesAreUnique: at random, Services come, go and change, writes fail, the informer is late, and controllers take over. No
// address is written for two of them.
func TestAddressesOfServicesAreUnique(t *testing.T) {
	pools := []*v1beta1.ExternalIPPool{makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/29"}), makePool("q", v1beta1.IPRange{Start: "10.0.0.4", End: "10.0.0.9"})}
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 41))
		core, made := newCore(), 0
		stored, shown := map[string]*corev1.Service{}, map[string]*corev1.Service{}
		for range 500 {
			name := fmt.Sprint("s", rng.IntN(8))
			made++
			switch rng.IntN(9) {
			case 0, 1:
				s := makeService(name, []string{"p", "q"}[rng.IntN(2)], "")
				s.UID, s.ResourceVersion, s.CreationTimestamp = types.UID(fmt.Sprint(made)), fmt.Sprint(made), metav1.NewTime(time.Unix(int64(made/2), 0))
				stored[name] = s
			case 2:
				delete(stored, name)
			case 3:
				if s := stored[name]; s != nil {
					s = s.DeepCopy()
					s.ResourceVersion, s.Annotations[externalip.PoolAnnotation] = fmt.Sprint(made), []string{"p", "q", "gone"}[rng.IntN(3)]
					stored[name] = s
				}
			case 8:
				if s := stored[name]; s != nil {
					s = s.DeepCopy()
					s.ResourceVersion, s.Spec.LoadBalancerIP = fmt.Sprint(made), []string{"", "10.0.0.4", "10.0.0.5", "10.0.0.9", "10.9.9.9"}[rng.IntN(5)]
					stored[name] = s
				}
			case 4:
				core = newCore()
				shown = map[string]*corev1.Service{}
				for name, s := range stored {
					shown[name] = s
				}
			case 5:
				if s := stored[name]; s != nil {
					shown[name] = s
				} else {
					delete(shown, name)
				}
			default:
				var all []*claimant
				for _, s := range shown {
					all = append(all, serviceClaimant(s, true))
				}
				for _, change := range core.plan(all, pools).addresses {
					if stored[change.service.Name] != change.service || rng.IntN(8) == 0 {
						continue // a conflict, or a failure
					}
					made++
					s := change.service.DeepCopy()
					s.ResourceVersion, s.Status.LoadBalancer = fmt.Sprint(made), loadBalancer(change.addr)
					stored[s.Name] = s
				}
			}
			owners := map[netip.Addr]string{}
			for name, s := range stored {
				if addr := externalip.Address(s); addr.IsValid() {
					require.Empty(t, owners[addr], "%s and %s have %s", owners[addr], name, addr)
					owners[addr] = name
				}
			}
		}
	}
}
