// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

var testNetworks = []netip.Prefix{netip.MustParsePrefix("10.10.0.0/24"), netip.MustParsePrefix("fd00:10::/64")}

// fakeNode is the switch and the host. fail decides which calls fail. It checks after each call that no packet can get a wrong source.
type fakeNode struct {
	t      *testing.T
	fail   func() bool
	rules  map[uint8]config.EgressMark
	tunnel map[netip.Addr]uint8
	pods   map[string]podFlows
	limits map[uint8]openflow.EgressBandwidth
	// made counts the calls of SetEgressMarks.
	made int
	// noVLAN lets the host have no devices of VLANs.
	noVLAN bool
	// noMeters lets the switch refuse limits.
	noMeters bool
	// stale are the meanings of marks that the datapath may still have, until the time.
	stale map[uint8]staleMark
	now   time.Time
}

type staleMark struct {
	addr  netip.Addr
	until time.Time
}

var errFake = errors.New("fake")

func newFakeNode(t *testing.T) *fakeNode {
	return &fakeNode{
		t: t, fail: func() bool { return false }, rules: map[uint8]config.EgressMark{}, tunnel: map[netip.Addr]uint8{}, pods: map[string]podFlows{},
		stale: map[uint8]staleMark{}, now: time.Unix(0, 0), limits: map[uint8]openflow.EgressBandwidth{},
	}
}

func (*fakeNode) endNone(uint16, func(*conntrack.Connection) bool) error { return nil }

// marked notes that packets may have the mark for an address from now on, and requires that it is not another's.
func (n *fakeNode) marked(mark uint8, addr netip.Addr) {
	if s, ok := n.stale[mark]; ok && s.addr != addr {
		require.False(n.t, n.now.Before(s.until), "mark %d is given to %s while packets for %s may have it", mark, addr, s.addr)
	}
	require.Equal(n.t, addr, n.rules[mark].Addr, "packets have the mark %d before its source is there", mark)
}

func (n *fakeNode) unmarked(mark uint8, addr netip.Addr) {
	n.stale[mark] = staleMark{addr, n.now.Add(1200 * time.Millisecond)}
}

func (n *fakeNode) FormerEgressMarks() map[uint8]config.EgressMark { return maps.Clone(n.rules) }

func (n *fakeNode) SetEgressMarks(_ context.Context, marks map[uint8]config.EgressMark) (map[uint8]error, error) {
	if n.fail() {
		return nil, errFake
	}
	n.rules = maps.Clone(marks)
	n.made++
	for addr, mark := range n.tunnel {
		require.Equal(n.t, addr, n.rules[mark].Addr, "a mark that flows set has lost its source")
	}
	for _, flows := range n.pods {
		for _, s := range flows.sources {
			if s.Mark != 0 {
				require.Equal(n.t, s.Addr, n.rules[s.Mark].Addr, "a mark that a Pod's flow sets has lost its source")
			}
		}
	}
	unreached := map[uint8]error{}
	for mark, meaning := range marks {
		if meaning.Subnet.VLAN != 0 && n.noVLAN {
			unreached[mark] = errFake
		}
	}
	return unreached, nil
}

func (n *fakeNode) InstallSNATMarkFlows(addr netip.Addr, mark uint8) error {
	if n.fail() {
		return errFake
	}
	n.marked(mark, addr)
	n.tunnel[addr] = mark
	return nil
}

func (n *fakeNode) UninstallSNATMarkFlows(addr netip.Addr) error {
	if n.fail() {
		return errFake
	}
	n.unmarked(n.tunnel[addr], addr)
	delete(n.tunnel, addr)
	return nil
}

func (n *fakeNode) InstallPodSNATFlows(name string, ofPort uint32, sources []openflow.EgressSource) error {
	if n.fail() {
		return errFake
	}
	n.release(name)
	for _, s := range sources {
		if s.Mark != 0 {
			n.marked(s.Mark, s.Addr)
		}
	}
	n.pods[name] = podFlows{ofPort, slices.Clone(sources)}
	return nil
}

func (n *fakeNode) UninstallPodSNATFlows(name string) error {
	if n.fail() {
		return errFake
	}
	n.release(name)
	delete(n.pods, name)
	return nil
}

func (n *fakeNode) InstallEgressQoS(mark uint8, limit openflow.EgressBandwidth) error {
	if n.noMeters {
		return openflow.ErrNoBandwidth
	}
	if n.fail() {
		return errFake
	}
	n.limits[mark] = limit
	return nil
}

func (n *fakeNode) UninstallEgressQoS(mark uint8) error {
	if n.fail() {
		return errFake
	}
	delete(n.limits, mark)
	return nil
}

func (n *fakeNode) release(name string) {
	for _, s := range n.pods[name].sources {
		if s.Mark != 0 {
			n.unmarked(s.Mark, s.Addr)
		}
	}
}

func makeEgress(name string, created int64, addr string) *v1beta1.Egress {
	e := &v1beta1.Egress{}
	e.Name, e.CreationTimestamp, e.Spec.EgressIP = name, metav1.Unix(created, 0), addr
	return e
}

func podNamed(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func newTestWorld() *world {
	return &world{egresses: map[string]*v1beta1.Egress{}, groups: map[string]sets.Set[types.NamespacedName]{}, interfaces: map[string]podInterface{}, local: sets.New[netip.Addr]()}
}

// TestDecide: the oldest Egress decides for each IP version, local addresses have marks, others are reached through the tunnel, and what cannot
// be a source is refused.
func TestDecide(t *testing.T) {
	w := newTestWorld()
	local, remote, local6 := netip.MustParseAddr("192.168.1.10"), netip.MustParseAddr("192.168.1.11"), netip.MustParseAddr("2001:db8::1")
	w.local.Insert(local, local6, netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("10.10.0.1"))
	for _, e := range []*v1beta1.Egress{
		makeEgress("young", 3, remote.String()), makeEgress("old", 1, "::ffff:192.168.1.10"), makeEgress("six", 2, local6.String()), makeEgress("waits", 0, ""),
		makeEgress("loopback", 4, "127.0.0.1"), makeEgress("gateway", 5, "10.10.0.1"), makeEgress("group", 6, "224.0.0.1"),
	} {
		w.egresses[e.Name] = e
		w.groups[e.Name] = sets.New(podNamed("all"))
	}
	w.groups["young"].Insert(podNamed("remote"))
	w.groups["loopback"].Insert(podNamed("refused"))
	w.interfaces = map[string]podInterface{"a": {pod: podNamed("all"), ofPort: 1}, "r": {pod: podNamed("remote"), ofPort: 2}, "x": {pod: podNamed("refused"), ofPort: 3}, "n": {pod: podNamed("none"), ofPort: 4}}
	next := uint8(0)
	p := decide(w, testNetworks, func(netip.Addr) (uint8, error) { next++; return next, nil })
	require.Equal(t, map[netip.Addr]uint8{local: 1, local6: 2}, p.marks)
	require.Equal(t, map[string]podFlows{
		"a": {1, []openflow.EgressSource{{Addr: local, Mark: 1}, {Addr: local6, Mark: 2}}},
		"r": {2, []openflow.EgressSource{{Addr: remote}}},
		"x": {3, []openflow.EgressSource{{Addr: netip.MustParseAddr("127.0.0.1"), Refused: true}}},
	}, p.pods)
	require.Len(t, p.refused, 3)

	only4 := decide(w, testNetworks[:1], func(netip.Addr) (uint8, error) { return 1, nil })
	require.ErrorContains(t, only4.refused[local6], "IP version")
}

// TestMarksEnd: the 255th address is refused, others keep theirs, and a mark that was given up rests before another address gets it.
func TestMarksEnd(t *testing.T) {
	now := time.Unix(0, 0)
	m := newMarks(map[uint8]config.EgressMark{2: {Addr: netip.MustParseAddr("10.1.0.0")}})
	mark, err := m.take(netip.MustParseAddr("10.1.0.0"), now)
	require.NoError(t, err)
	require.Equal(t, uint8(2), mark, "of the former agent")
	for i := 1; i < maxMark; i++ {
		_, err := m.take(netip.AddrFrom4([4]byte{10, 1, 0, byte(i)}), now)
		require.NoError(t, err)
	}
	another := netip.MustParseAddr("10.2.0.0")
	_, err = m.take(another, now)
	require.ErrorContains(t, err, "254 Egress addresses")
	m.giveUp(netip.MustParseAddr("10.1.0.9"), now)
	_, err = m.take(another, now.Add(markRest-1))
	require.Error(t, err)
	mark, err = m.take(another, now.Add(markRest))
	require.NoError(t, err)
	require.NotZero(t, mark)
}

// TestPodsNeverHaveAnotherSource: in any order of changes, with calls that fail, fakeNode finds no packet with a mark that has another meaning,
// and once calls succeed the Node does what the plan says.
func TestPodsNeverHaveAnotherSource(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 37))
		n := newFakeNode(t)
		r := newRealizer(n, n, func() time.Time { return n.now }, n.endNone)
		w := newTestWorld()
		w.shaping = true
		for i := range 4 {
			w.interfaces[fmt.Sprint("if", i)] = podInterface{pod: podNamed(fmt.Sprint("pod", i)), ofPort: uint32(10 + i)}
		}
		for range 150 {
			name, addr := fmt.Sprint("e", rng.IntN(4)), netip.AddrFrom4([4]byte{192, 168, 1, byte(rng.IntN(4))})
			switch rng.IntN(6) {
			case 0:
				delete(w.egresses, name)
			case 1:
				w.egresses[name] = makeEgress(name, rng.Int64N(3), addr.String())
				if rng.IntN(2) == 0 {
					w.egresses[name].Spec.Bandwidth = &v1beta1.Bandwidth{Rate: fmt.Sprint(1+rng.IntN(2), "M"), Burst: "2M"}
				}
			case 2, 3:
				w.groups[name] = sets.New(podNamed(fmt.Sprint("pod", rng.IntN(4))), podNamed(fmt.Sprint("pod", rng.IntN(4))))
			case 4:
				w.local.Insert(addr)
			default:
				w.local.Delete(addr)
			}
			if rng.IntN(30) == 0 { // the agent starts again: flows are deleted, rules stay
				clear(n.tunnel)
				clear(n.pods)
				clear(n.limits)
				n.now = n.now.Add(2 * time.Second) // the datapath has followed by then
				r = newRealizer(n, n, func() time.Time { return n.now }, n.endNone)
			}
			n.fail = func() bool { return rng.IntN(4) == 0 }
			_, _, _ = r.realize(t.Context(), w, testNetworks)
			n.fail = func() bool { return false }
			p, failed, err := r.realize(t.Context(), w, testNetworks)
			require.NoError(t, err)
			require.Empty(t, failed)
			require.Equal(t, p.pods, n.pods)
			require.Equal(t, p.marks, n.tunnel)
			for addr, mark := range p.marks {
				require.Equal(t, addr, n.rules[mark].Addr)
			}
			require.Len(t, n.rules, len(p.marks))
			limits := map[uint8]openflow.EgressBandwidth{}
			for addr, b := range p.limits {
				if mark := p.marks[addr]; mark != 0 {
					limits[mark] = b.EgressBandwidth
				}
			}
			require.Equal(t, limits, n.limits)
			n.now = n.now.Add(time.Duration(rng.IntN(3)) * time.Second)
		}
	}
}

// TestRefusedSourceDrops: while a source cannot be made, packets of its Pods are dropped.
func TestRefusedSourceDrops(t *testing.T) {
	n := newFakeNode(t)
	r := newRealizer(n, n, time.Now, n.endNone)
	w := newTestWorld()
	addr := netip.MustParseAddr("192.168.1.1")
	w.egresses["e"], w.groups["e"] = makeEgress("e", 0, addr.String()), sets.New(podNamed("p"))
	w.interfaces["i"] = podInterface{pod: podNamed("p"), ofPort: 1}
	w.local.Insert(addr)
	calls := 0
	n.fail = func() bool { calls++; return calls == 1 }
	p, failed, err := r.realize(t.Context(), w, testNetworks)
	require.ErrorIs(t, err, errFake)
	require.Empty(t, failed)
	require.ErrorIs(t, p.refused[addr], errFake)
	require.Equal(t, []openflow.EgressSource{{Addr: addr, Refused: true}}, n.pods["i"].sources)
	_, _, err = r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.Equal(t, []openflow.EgressSource{{Addr: addr, Mark: 1}}, n.pods["i"].sources)
}

// TestOneInterface: a new interface gets the flows that it has in the whole plan, and other interfaces keep what they have.
func TestOneInterface(t *testing.T) {
	n := newFakeNode(t)
	r := newRealizer(n, n, time.Now, n.endNone)
	w := newTestWorld()
	local, remote := netip.MustParseAddr("192.168.1.1"), netip.MustParseAddr("192.168.1.2")
	w.local.Insert(local)
	w.egresses["l"], w.groups["l"] = makeEgress("l", 0, local.String()), sets.New(podNamed("p"), podNamed("q"))
	w.egresses["r"], w.groups["r"] = makeEgress("r", 1, remote.String()), sets.New(podNamed("p"), podNamed("s"))
	w.interfaces["p"] = podInterface{pod: podNamed("p"), ofPort: 1}
	_, _, err := r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	before := maps.Clone(n.pods)
	for i, name := range []string{"q", "s", "none"} {
		w.interfaces[name] = podInterface{pod: podNamed(name), ofPort: uint32(2 + i)}
		require.NoError(t, r.realizeOne(t.Context(), w.of(name), testNetworks, name))
	}
	require.Equal(t, before["p"], n.pods["p"])
	require.Equal(t, podFlows{2, []openflow.EgressSource{{Addr: local, Mark: 1}}}, n.pods["q"])
	require.Equal(t, podFlows{3, []openflow.EgressSource{{Addr: remote}}}, n.pods["s"])
	require.NotContains(t, n.pods, "none")
	p, _, err := r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.Equal(t, p.pods, n.pods)
	n.fail = func() bool { return true }
	w.interfaces["s"] = podInterface{pod: podNamed("s"), ofPort: 9}
	require.ErrorIs(t, r.realizeOne(t.Context(), w.of("s"), testNetworks, "s"), errFake)
}

// TestStorage: the next agent reads what this one has stored, and a damaged file counts as none.
func TestStorage(t *testing.T) {
	s := storage{file: filepath.Join(t.TempDir(), "run", "egresses")}
	egresses, groups, _ := s.load()
	require.Nil(t, egresses)
	require.Nil(t, groups)
	w := newTestWorld()
	w.egresses["e"], w.groups["e"] = makeEgress("e", 5, "192.168.1.1"), sets.New(podNamed("p"), podNamed("q"))
	w.egresses["elsewhere"] = makeEgress("elsewhere", 5, "192.168.1.2")
	w.egresses["forOthers"] = makeEgress("forOthers", 6, "192.168.1.3")
	w.local.Insert(netip.MustParseAddr("192.168.1.3"))
	w.egresses["e"].Spec.ExternalIPPool = "vlan"
	w.subnets = map[string]poolSubnet{"vlan": {EgressSubnet: config.EgressSubnet{Gateway: netip.MustParsePrefix("172.20.10.1/24"), VLAN: 10}}}
	s.except = []netip.Prefix{netip.MustParsePrefix("172.16.0.0/16")}
	require.NoError(t, s.save(w))
	next := storage{file: s.file}
	egresses, groups, subnets := next.load()
	require.Equal(t, map[string]sets.Set[types.NamespacedName]{"e": w.groups["e"], "forOthers": {}}, groups)
	require.Len(t, egresses, 2)
	require.Equal(t, "192.168.1.1", egresses["e"].Spec.EgressIP)
	require.Equal(t, w.subnets["vlan"], subnets["vlan"])
	require.Equal(t, s.except, next.except)
	require.Equal(t, "vlan", egresses["e"].Spec.ExternalIPPool)
	require.True(t, egresses["e"].CreationTimestamp.Equal(&w.egresses["e"].CreationTimestamp))

	require.NoError(t, os.Remove(s.file))
	require.NoError(t, s.save(w), "the same content is not written again")
	require.NoFileExists(t, s.file)
	clear(w.egresses)
	require.NoError(t, s.save(w))
	_, groups, _ = next.load()
	require.NotNil(t, groups)
	require.Empty(t, groups)
	require.NoError(t, os.WriteFile(s.file, []byte("{"), 0o600))
	_, groups, _ = next.load()
	require.Nil(t, groups)
}

// TestStoredWorld: with what a former agent has stored, Pods have their Egresses, and no source goes that may be in use.
func TestStoredWorld(t *testing.T) {
	n := newFakeNode(t)
	n.rules[7] = config.EgressMark{Addr: netip.MustParseAddr("192.168.1.7")}
	r := newRealizer(n, n, time.Now, n.endNone)
	w := newTestWorld()
	w.stored = true
	_, _, err := r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.Contains(t, n.rules, uint8(7))

	// Stored by an agent without subnets: the mark keeps what the host has.
	separate := config.EgressMark{Addr: netip.MustParseAddr("172.20.10.2"), Subnet: config.EgressSubnet{Gateway: netip.MustParsePrefix("172.20.10.1/24"), VLAN: 10}}
	n.rules[8] = separate
	r = newRealizer(n, n, time.Now, n.endNone)
	w.local.Insert(separate.Addr)
	w.egresses["e"], w.groups["e"] = makeEgress("e", 0, separate.Addr.String()), sets.New(podNamed("p"))
	_, _, err = r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.Equal(t, separate, n.rules[8])

	// Others have removed the rule of its subnet while no agent ran.
	n.rules[8] = config.EgressMark{Addr: separate.Addr}
	r = newRealizer(n, n, time.Now, n.endNone)
	w.egresses["e"].Spec.ExternalIPPool, w.subnets = "vlan", map[string]poolSubnet{"vlan": {EgressSubnet: separate.Subnet}}
	_, _, err = r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.Equal(t, separate, n.rules[8])
	delete(w.egresses, "e")
	w.stored = false
	_, _, err = r.realize(t.Context(), w, testNetworks)
	require.NoError(t, err)
	require.Empty(t, n.rules)
}
