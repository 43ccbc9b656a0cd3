// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// TestPools: the addresses that a pool has, in order, and their number.
func TestPools(t *testing.T) {
	for _, test := range []struct {
		ranges  []v1beta1.IPRange
		gateway string
		want    []string
		total   int64
	}{
		{[]v1beta1.IPRange{{CIDR: "169.254.100.0/30"}}, "", []string{"169.254.100.1", "169.254.100.2"}, 2},
		{[]v1beta1.IPRange{{CIDR: "169.254.100.2/30"}}, "169.254.100.1", []string{"169.254.100.2"}, 1},
		{[]v1beta1.IPRange{{CIDR: "10.0.0.0/31"}, {CIDR: "10.0.0.4/32"}, {CIDR: "fd00::1/128"}}, "", nil, 0},
		{[]v1beta1.IPRange{{CIDR: "fd00::/127"}}, "", []string{"fd00::1"}, 1},
		{[]v1beta1.IPRange{{CIDR: "2021:1::aaa0/124"}}, "", nil, 15},
		{[]v1beta1.IPRange{{Start: "169.254.101.10", End: "169.254.101.11"}, {CIDR: "10.0.0.0/30"}}, "",
			[]string{"169.254.101.10", "169.254.101.11", "10.0.0.1", "10.0.0.2"}, 4},
		{[]v1beta1.IPRange{{Start: "255.255.255.255", End: "255.255.255.255"}, {Start: "::ffff:10.0.0.1", End: "10.0.0.1"}}, "", []string{"255.255.255.255", "10.0.0.1"}, 2},
		{[]v1beta1.IPRange{{CIDR: "0.0.0.0/0"}}, "", nil, math.MaxUint32 - 1},
		{[]v1beta1.IPRange{{CIDR: "::/0"}}, "", nil, math.MaxInt64},
	} {
		source := &v1beta1.ExternalIPPool{Spec: v1beta1.ExternalIPPoolSpec{IPRanges: test.ranges}}
		if test.gateway != "" {
			source.Spec.SubnetInfo = &v1beta1.SubnetInfo{Gateway: test.gateway, PrefixLength: 30}
		}
		p := newPool(source)
		require.Equal(t, test.total, p.total(), "%v", test.ranges)
		if test.want == nil && test.total > 0 {
			continue
		}
		var got []string
		for {
			addr, err := p.free(anyFamily, func(netip.Addr) bool { return false })
			if err != nil {
				require.ErrorContains(t, err, "no available IP")
				break
			}
			require.True(t, p.Contains(addr))
			got = append(got, addr.String())
		}
		require.Equal(t, test.want, got)
	}
}

func makePool(name string, ranges ...v1beta1.IPRange) *v1beta1.ExternalIPPool {
	return &v1beta1.ExternalIPPool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.ExternalIPPoolSpec{IPRanges: ranges}}
}

func makeEgress(name, pool, addr string) *v1beta1.Egress {
	return &v1beta1.Egress{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: "1"}, Spec: v1beta1.EgressSpec{ExternalIPPool: pool, EgressIP: addr},
	}
}

// write does what a plan says, as if nothing else had changed.
func (p *plan) write() {
	for _, change := range p.addresses {
		text := ""
		if change.addr.IsValid() {
			text = change.addr.String()
		}
		change.SetResourceVersion(change.GetResourceVersion() + "+")
		if change.service != nil {
			change.service.Status.LoadBalancer = loadBalancer(change.addr)
		} else {
			change.egress.Spec.EgressIP = text
		}
	}
	for _, change := range p.statuses {
		for i := range change.conditions {
			if change.conditions[i].LastTransitionTime.IsZero() {
				change.conditions[i].LastTransitionTime = metav1.NewTime(time.Unix(1, 0))
			}
		}
		change.egress.Status.Conditions = change.conditions
	}
	for _, change := range p.usages {
		change.pool.Status.Usage = change.usage
	}
}

func claimants(egresses []*v1beta1.Egress) (all []*claimant) {
	for _, e := range egresses {
		all = append(all, egressClaimant(e, true))
	}
	return all
}

// settled writes plans until there is nothing to write.
func settled(t *testing.T, c *core, egresses []*v1beta1.Egress, pools []*v1beta1.ExternalIPPool) {
	t.Helper()
	for range 4 {
		p := c.plan(claimants(egresses), pools)
		if len(p.addresses)+len(p.statuses)+len(p.usages) == 0 {
			return
		}
		p.write()
	}
	t.Fatal("there is always something to write")
}

// condition returns the status and message of a condition.
func condition(e *v1beta1.Egress, kind v1beta1.EgressConditionType) string {
	for _, c := range e.Status.Conditions {
		if c.Type == kind {
			return string(c.Status) + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

const isAllocated = "True Allocated: EgressIP is successfully allocated"

func TestAllocation(t *testing.T) {
	c := newCore()
	pool := makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/30"})
	overlapping := makePool("q", v1beta1.IPRange{Start: "10.0.0.2", End: "10.0.0.4"})
	pools := []*v1beta1.ExternalIPPool{pool, overlapping}
	static, first, named, waiting, other := makeEgress("static", "", "10.0.0.1"), makeEgress("b", "p", ""), makeEgress("a", "p", "10.0.0.2"),
		makeEgress("c", "p", ""), makeEgress("d", "q", "")
	lost := makeEgress("e", "gone", "10.0.0.9")
	twice, outside := makeEgress("f", "p", "10.0.0.2"), makeEgress("g", "p", "10.0.0.200")
	all := []*v1beta1.Egress{static, first, named, waiting, other, lost, twice, outside}
	settled(t, &c, all, pools)

	require.Equal(t, "10.0.0.1", first.Spec.EgressIP, "the lowest free one")
	require.Equal(t, "10.0.0.2", named.Spec.EgressIP)
	require.Equal(t, "10.0.0.3", other.Spec.EgressIP, "not what another pool has allocated")
	require.Empty(t, lost.Spec.EgressIP)
	require.Equal(t, isAllocated, condition(first, v1beta1.IPAllocated))
	require.Empty(t, condition(first, v1beta1.IPAssigned), "agents report it")
	require.Empty(t, condition(static, v1beta1.IPAllocated))
	const failed = "False AllocationError: Cannot allocate EgressIP from ExternalIPPool: "
	require.Equal(t, failed+"no available IP in ExternalIPPool p", condition(waiting, v1beta1.IPAllocated))
	require.Equal(t, failed+"ExternalIPPool gone does not exist", condition(lost, v1beta1.IPAllocated))
	require.Equal(t, failed+"IP 10.0.0.2 is allocated to Egress a", condition(twice, v1beta1.IPAllocated))
	require.Equal(t, failed+"IP 10.0.0.200 is not within the IP range of ExternalIPPool p", condition(outside, v1beta1.IPAllocated))
	require.Equal(t, v1beta1.IPPoolUsage{Total: 2, Used: 2}, pool.Status.Usage)
	require.Equal(t, v1beta1.IPPoolUsage{Total: 3, Used: 1}, overlapping.Status.Usage)

	pool.Spec.IPRanges = append(pool.Spec.IPRanges, v1beta1.IPRange{CIDR: "nonsense"}, v1beta1.IPRange{CIDR: "10.0.1.0/30"})
	settled(t, &c, all, pools)
	require.Equal(t, "10.0.1.1", waiting.Spec.EgressIP, "a new range")
	require.Equal(t, isAllocated, condition(waiting, v1beta1.IPAllocated))
	twice.Spec.EgressIP = ""
	settled(t, &c, all, pools)
	require.Equal(t, "10.0.1.2", twice.Spec.EgressIP)
	named.Spec.EgressIP = "10.0.0.200"
	settled(t, &c, all, pools)
	require.Contains(t, condition(named, v1beta1.IPAllocated), "not within")
	first.Spec.ExternalIPPool = ""
	settled(t, &c, all, pools)
	require.Equal(t, "10.0.0.1", first.Spec.EgressIP, "now static")
	require.Empty(t, condition(first, v1beta1.IPAllocated))
	require.Equal(t, int64(2), pool.Status.Usage.Used)

	// A pool that is made again with other ranges.
	pool.Spec.IPRanges = []v1beta1.IPRange{{CIDR: "10.0.1.0/30"}, {CIDR: "10.0.2.0/30"}}
	waiting.Spec.EgressIP = "10.0.1.1"
	settled(t, &c, all, pools)
	pool.Spec.IPRanges = pool.Spec.IPRanges[1:]
	settled(t, &c, all, pools)
	require.ElementsMatch(t, []string{"10.0.2.1", "10.0.2.2"}, []string{waiting.Spec.EgressIP, twice.Spec.EgressIP})
	settled(t, &c, all, pools[1:])
	require.Empty(t, waiting.Spec.EgressIP)
	require.Equal(t, failed+"ExternalIPPool p does not exist", condition(waiting, v1beta1.IPAllocated))
}

// TestUsersAreTold: an Egress that loses its address with its pool, or gets none, is told so once, also if the controller starts again.
func TestUsersAreTold(t *testing.T) {
	pool := makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/30"})
	b := newBench(t, pool)
	e := makeEgress("e", "p", "")
	b.egresses = []*v1beta1.Egress{e, makeEgress("static", "", "10.0.0.9")}
	b.settle()
	require.Equal(t, "10.0.0.1", e.Spec.EgressIP)
	require.Empty(t, b.told)
	b.pools = nil
	b.settle()
	require.Empty(t, e.Spec.EgressIP)
	want := map[string][]string{"e": {"ExternalIPPool p does not exist"}}
	require.Equal(t, want, b.told)
	b.settle()
	b.core = newCore()
	b.settle()
	require.Equal(t, want, b.told, "each message once")
	b.pools = []*v1beta1.ExternalIPPool{pool}
	b.settle()
	b.pools = nil
	b.settle()
	require.Len(t, b.told["e"], 2)
	require.Len(t, b.told, 1)
}

// TestConditionsOfOthers: what agents write is left as it is.
func TestConditionsOfOthers(t *testing.T) {
	c := newCore()
	e := makeEgress("e", "p", "")
	assigned := v1beta1.EgressCondition{Type: v1beta1.IPAssigned, Status: corev1.ConditionTrue, Reason: "Assigned"}
	e.Status = v1beta1.EgressStatus{EgressNode: "n", EgressIP: "10.0.0.1", Conditions: []v1beta1.EgressCondition{{Type: "Other"}, assigned}}
	settled(t, &c, []*v1beta1.Egress{e}, []*v1beta1.ExternalIPPool{makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/30"})})
	require.Len(t, e.Status.Conditions, 3)
	require.Equal(t, isAllocated, condition(e, v1beta1.IPAllocated))
	require.Equal(t, "True Assigned: ", condition(e, v1beta1.IPAssigned))
}

// TestAddressesAreUnique: at random, Egresses and pools come, go and change, writes fail, the informer is late, and the
// controller starts again. No address is ever written for two Egresses, and an Egress keeps its address.
func TestAddressesAreUnique(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 37))
		w := &world{t: t, rng: rng, core: newCore(), stored: map[string]*v1beta1.Egress{}, shown: map[string]*v1beta1.Egress{}, pools: map[string]*v1beta1.ExternalIPPool{}}
		for range 500 {
			w.step()
		}
	}
}

// world is a Kubernetes API (stored) with an informer that is late (shown). Objects in both maps are replaced, not changed.
type world struct {
	t      *testing.T
	rng    *rand.Rand
	core   core
	stored map[string]*v1beta1.Egress
	shown  map[string]*v1beta1.Egress
	pools  map[string]*v1beta1.ExternalIPPool
	made   int
}

func (w *world) step() {
	name, pool := fmt.Sprint("e", w.rng.IntN(8)), fmt.Sprint("p", w.rng.IntN(2))
	switch w.rng.IntN(12) {
	case 0, 1, 2:
		w.made++
		e := makeEgress(name, pool, "")
		e.ResourceVersion = fmt.Sprint(w.made)
		e.UID, e.CreationTimestamp = types.UID(fmt.Sprint(w.made)), metav1.NewTime(time.Unix(int64(w.made/2), 0))
		w.stored[name] = e
	case 3:
		delete(w.stored, name)
	case 4:
		w.pools[pool] = makePool(pool, v1beta1.IPRange{CIDR: fmt.Sprintf("10.0.%d.0/29", w.rng.IntN(2))})
	case 5:
		delete(w.pools, pool)
	case 6: // a controller takes over: it waits for its informer
		w.show(1)
		w.core = newCore()
	case 7, 8:
		w.show(0.5)
	default:
		w.plan()
	}
}

// show brings some of what is stored to the informer.
func (w *world) show(part float64) {
	for name := range w.shown {
		if w.stored[name] == nil && w.rng.Float64() <= part {
			delete(w.shown, name)
		}
	}
	for name, e := range w.stored {
		if w.rng.Float64() <= part {
			w.shown[name] = e
		}
	}
}

func (w *world) plan() {
	var egresses []*v1beta1.Egress
	for _, e := range w.shown {
		egresses = append(egresses, e)
	}
	var pools []*v1beta1.ExternalIPPool
	for _, p := range w.pools {
		pools = append(pools, p)
	}
	p := w.core.plan(claimants(egresses), pools)
	for _, change := range p.addresses {
		if now := w.stored[change.egress.Name]; now != change.egress || w.rng.IntN(8) == 0 {
			continue // a conflict, or a failure
		}
		copied := *change.egress
		e := &copied
		w.made++
		e.ResourceVersion = fmt.Sprint(w.made)
		e.Spec.EgressIP = ""
		if change.addr.IsValid() {
			e.Spec.EgressIP = change.addr.String()
		}
		w.stored[e.Name] = e
	}
	owners := map[string]string{}
	for name, e := range w.stored {
		if addr := e.Spec.EgressIP; addr != "" {
			require.Empty(w.t, owners[addr], "%s and %s have %s", owners[addr], name, addr)
			owners[addr] = name
		}
	}
}

// TestPlansAreCheap: a cluster with 5,000 Egresses is planned in a fraction of a second, also when its pool is used up.
func TestPlansAreCheap(t *testing.T) {
	c := newCore()
	var egresses []*v1beta1.Egress
	for i := range 5000 {
		egresses = append(egresses, makeEgress(fmt.Sprint("e", i), "p", ""))
	}
	pools := []*v1beta1.ExternalIPPool{makePool("p", v1beta1.IPRange{CIDR: "10.0.0.0/20"})}
	settled(t, &c, egresses, pools)
	require.Equal(t, v1beta1.IPPoolUsage{Total: 4094, Used: 4094}, pools[0].Status.Usage)
	allocations := testing.AllocsPerRun(1, func() { c.plan(claimants(egresses), pools) })
	require.Less(t, allocations, float64(20*len(egresses)), "the work grows faster than the number of Egresses")
	searches := 0
	p := newPool(pools[0])
	for range 5000 {
		_, _ = p.free(anyFamily, func(netip.Addr) bool { searches++; return true })
	}
	require.LessOrEqual(t, searches, 4094, "a pool that is used up is searched once")
}
