// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

const localPods, peerPods, groupCount = 5, 5, 4

func localName(i int) string { return fmt.Sprintf("l%d", i) }

func localIP(i int) string { return fmt.Sprintf("10.0.0.%d", i+1) }

func localInterface(i int) *interfacestore.InterfaceConfig {
	return iface(localName(i), localName(i), uint32(i+1), localIP(i))
}

func peerIP(i int) string { return fmt.Sprintf("10.0.1.%d", i+1) }

// randomSet makes objects and events as antrea-controller may send them.
type randomSet struct {
	*rand.Rand
	// tiers is set if all policies but the first have a tier.
	tiers bool
	// present are the objects that exist, by resource and name.
	present map[Resource]map[string]runtime.Object
}

func newRandomSet(rng *rand.Rand, tiers bool) *randomSet {
	s := &randomSet{Rand: rng, tiers: tiers, present: map[Resource]map[string]runtime.Object{NetworkPolicies: {}, AddressGroups: {}, AppliedToGroups: {}}}
	for i := range groupCount {
		s.put(s.addressGroup(i))
		s.put(s.appliedToGroup(i))
		s.put(s.policy(i))
	}
	return s
}

func (s *randomSet) put(o runtime.Object) { s.present[resourceOf(o)][o.(metav1.Object).GetName()] = o }

func (s *randomSet) some(n int, of func(int) v1beta2.GroupMember) []v1beta2.GroupMember {
	var members []v1beta2.GroupMember
	for i := range n {
		if s.IntN(2) == 0 {
			members = append(members, of(i))
		}
	}
	return members
}

// A Pod has the same ports in all groups.
func (s *randomSet) local(i int) v1beta2.GroupMember {
	return memberOf(localName(i), fmt.Sprintf("http:TCP:%d", 80+i%2))
}

func (s *randomSet) peer(i int) v1beta2.GroupMember {
	return memberOf(fmt.Sprintf("p%d", i), peerIP(i), fmt.Sprintf("http:TCP:%d", 80+i%2))
}

// A peer is always the same kind of member: the first one is a Node if policies have tiers.
func (s *randomSet) peerMember(i int) v1beta2.GroupMember {
	m := s.peer(i)
	if s.tiers && i == 0 {
		m.Pod, m.Node, m.Ports = nil, &v1beta2.NodeReference{Name: m.Pod.Name}, nil
	}
	return m
}

func (s *randomSet) addressGroup(i int) *v1beta2.AddressGroup {
	return addressGroup(fmt.Sprintf("peers%d", i), s.some(peerPods, s.peerMember)...)
}

func (s *randomSet) appliedToGroup(i int) *v1beta2.AppliedToGroup {
	return appliedToGroup(fmt.Sprintf("applied%d", i), s.some(localPods, s.local)...)
}

func (s *randomSet) policy(i int) *v1beta2.NetworkPolicy {
	np := networkPolicy(fmt.Sprintf("np%d", i), fmt.Sprintf("applied%d", s.IntN(groupCount)))
	if s.IntN(3) == 0 {
		np.AppliedToGroups = append(np.AppliedToGroups, fmt.Sprintf("applied%d", s.IntN(groupCount)))
	}
	for range 1 + s.IntN(3) {
		peer := []v1beta2.NetworkPolicyPeer{
			{}, groups(fmt.Sprintf("peers%d", s.IntN(groupCount))), block("10.0.1.0/24", "10.0.1.2/32"),
			groups(fmt.Sprintf("peers%d", s.IntN(groupCount)), fmt.Sprintf("peers%d", s.IntN(groupCount))),
		}[s.IntN(4)]
		services := [][]v1beta2.Service{nil, {service("TCP", 80)}, {service("TCP", "http")}, {service("UDP", nil)}}[s.IntN(4)]
		if s.IntN(2) == 0 {
			np.Rules = append(np.Rules, in(peer, services...))
		} else {
			np.Rules = append(np.Rules, out(peer, services...))
		}
	}
	if s.tiers && i > 0 {
		s.intoTier(np)
	}
	return np
}

// intoTier makes a policy of Antrea of a policy. The index of rules counts each direction.
func (s *randomSet) intoTier(np *v1beta2.NetworkPolicy) {
	np.SourceRef.Type = v1beta2.AntreaNetworkPolicy
	np.TierPriority, np.Priority = ptr([]int32{0, 50, 50, 253}[s.IntN(4)]), ptr(float64(s.IntN(3)))
	actions := []v1beta2.RuleAction{v1beta2.RuleActionAllow, v1beta2.RuleActionDrop, v1beta2.RuleActionReject, v1beta2.RuleActionPass}
	if *np.TierPriority == policy.TierBaseline {
		actions = actions[:3]
	}
	index := map[v1beta2.Direction]int32{}
	perRule := s.IntN(4) == 0
	for i := range np.Rules {
		rule := &np.Rules[i]
		rule.Action, rule.Priority, rule.Name = &actions[s.IntN(len(actions))], index[rule.Direction], fmt.Sprint("rule", i)
		index[rule.Direction]++
		if s.IntN(4) == 0 {
			rule.Services = [][]v1beta2.Service{{icmp(8)}, {fromPorts(service("TCP", nil), 0, 1023)}}[s.IntN(2)]
		}
		if perRule {
			rule.AppliedToGroups = []string{fmt.Sprintf("applied%d", s.IntN(groupCount))}
		}
	}
	if perRule {
		np.AppliedToGroups = nil
	}
}

// event changes the present objects.
func (s *randomSet) event() watch.Event {
	i := s.IntN(groupCount)
	switch s.IntN(5) {
	case 0:
		name := fmt.Sprintf("np%d", i)
		if old := s.present[NetworkPolicies][name]; old != nil && s.IntN(3) == 0 {
			delete(s.present[NetworkPolicies], name)
			return watch.Event{Type: watch.Deleted, Object: old}
		}
		np := s.policy(i)
		s.put(np)
		return watch.Event{Type: watch.Modified, Object: np}
	case 1, 2:
		p := &v1beta2.AddressGroupPatch{AddedGroupMembers: s.some(peerPods, s.peerMember), RemovedGroupMembers: s.some(peerPods, s.peerMember)}
		p.Name = fmt.Sprintf("peers%d", i)
		return watch.Event{Type: watch.Modified, Object: p}
	default:
		p := &v1beta2.AppliedToGroupPatch{AddedGroupMembers: s.some(localPods, s.local), RemovedGroupMembers: s.some(localPods, s.local)}
		p.Name = fmt.Sprintf("applied%d", i)
		return watch.Event{Type: watch.Modified, Object: p}
	}
}

func (a *agent) watcher(r Resource) *watcher {
	return a.watchers[slices.IndexFunc(a.watchers, func(w *watcher) bool { return w.resource == r })]
}

func eventResource(o runtime.Object) Resource {
	switch o.(type) {
	case *v1beta2.AddressGroupPatch:
		return AddressGroups
	case *v1beta2.AppliedToGroupPatch:
		return AppliedToGroups
	}
	return resourceOf(o)
}

// answer makes antrea-controller answer for one resource.
func (a *agent) answer(r Resource, objects ...any) {
	require.NoError(a.t, a.watcher(r).replace(objects, 0))
}

func (s *randomSet) answer(a *agent) {
	for r, objects := range s.present {
		var all []any
		for _, o := range objects {
			all = append(all, o)
		}
		a.answer(r, all...)
	}
}

// fallBackAll makes an agent use the stored objects.
func (a *agent) fallBackAll() {
	for _, w := range a.watchers {
		w.fallBack(errors.New("away"))
	}
	require.NoError(a.t, a.realize())
}

func (f *fakeFlows) all() []*policy.Rule {
	f.mu.Lock()
	defer f.mu.Unlock()
	var rules []*policy.Rule
	for _, r := range f.rules {
		rules = append(rules, r)
	}
	return rules
}

// verdicts returns what rules allow each local Pod: by Pod, then "Ingress 10.0.1.1 6:80<5000".
func verdicts(rules []*policy.Rule) [localPods]map[string]bool {
	var all [localPods]map[string]bool
	for i := range localPods {
		all[i] = map[string]bool{}
		local := netip.MustParseAddr(localIP(i))
		for p := range peerPods + 1 { // One is in no group, but in the blocks.
			peer := netip.MustParseAddr(peerIP(p))
			for _, to := range []policy.Connection{{Protocol: of.IPProtoTCP, DestinationPort: 80}, {Protocol: of.IPProtoTCP, DestinationPort: 81}, {Protocol: of.IPProtoUDP, DestinationPort: 53},
				{Protocol: of.IPProtoTCP, SourcePort: 5000, DestinationPort: 80}, {Protocol: of.IPProtoICMP, ICMPType: 8}} {
				to.Source, to.Destination = peer, local
				all[i][fmt.Sprintf("Ingress %v %d:%d<%d", peer, to.Protocol, to.DestinationPort, to.SourcePort)] = policy.Evaluate(rules, policy.Ingress, to).Allowed()
				to.Source, to.Destination = local, peer
				all[i][fmt.Sprintf("Egress %v %d:%d<%d", peer, to.Protocol, to.DestinationPort, to.SourcePort)] = policy.Evaluate(rules, policy.Egress, to).Allowed()
			}
		}
	}
	return all
}

// storeFiles returns the paths of all stored files below dir, relative to it: first the inventories.
func storeFiles(t *testing.T, dir string) (inventories, objects []string) {
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		if strings.HasSuffix(path, inventorySuffix) {
			inventories = append(inventories, relative)
		} else {
			objects = append(objects, relative)
		}
		return err
	}))
	return inventories, objects
}

// damages change a file in place. older is the directory as it was some changes ago, other is another file of it.
var damages = map[string]func(t *testing.T, rng *rand.Rand, path, other, older string){
	"truncated": func(t *testing.T, rng *rand.Rand, path, _, _ string) {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.NoError(t, os.Truncate(path, rng.Int64N(info.Size())))
	},
	"truncated by a record": func(t *testing.T, _ *rand.Rand, path, _, _ string) {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		payloads, err := decodeJournal(content)
		require.NoError(t, err)
		last := payloads[len(payloads)-1]
		require.NoError(t, os.Truncate(path, int64(len(content)-len(last)-recordHeaderSize)))
	},
	"bits flipped": func(t *testing.T, rng *rand.Rand, path, _, _ string) {
		edit(t, path, func(content []byte) []byte {
			for range 1 + rng.IntN(3) {
				content[rng.IntN(len(content))] ^= 1 << rng.IntN(8)
			}
			return content
		})
	},
	"bytes inserted": func(t *testing.T, rng *rand.Rand, path, _, _ string) {
		edit(t, path, func(content []byte) []byte {
			return slices.Insert(content, rng.IntN(len(content)+1), []byte("null")...)
		})
	},
	"deleted": func(t *testing.T, _ *rand.Rand, path, _, _ string) { require.NoError(t, os.Remove(path)) },
	"empty":   func(t *testing.T, _ *rand.Rand, path, _, _ string) { require.NoError(t, os.Truncate(path, 0)) },
	"another version": func(t *testing.T, _ *rand.Rand, path, _, _ string) {
		edit(t, path, func(content []byte) []byte { content[len(journalMagic)-1]++; return content })
	},
	"another schema": func(t *testing.T, _ *rand.Rand, path, _, _ string) {
		edit(t, path, func(content []byte) []byte {
			payloads, err := decodeJournal(content)
			require.NoError(t, err)
			payloads[0] = append([]byte(`{"tier":"emergency",`), payloads[0][1:]...)
			return encodeJournal(payloads...)
		})
	},
	"upstream Antrea's": func(t *testing.T, _ *rand.Rand, path, _, _ string) {
		// A NetworkPolicy as Kubernetes encodes it in protobuf: magic, then runtime.Unknown with the kind and the object.
		require.NoError(t, os.WriteFile(path, []byte("k8s\x00\n3\n!controlplane.antrea.io/v1beta2\x12\x0eNetworkPolicy\x12\x0c\n\x0a\n\x03np0\x12\x00\x1a\x00"), 0o640))
	},
	"the former agent's": func(t *testing.T, _ *rand.Rand, path, _, _ string) {
		require.NoError(t, os.WriteFile(path, []byte(`{"metadata":{"name":"np0"},"appliedToGroups":["applied0"]}`), 0o640))
	},
	"huge": func(t *testing.T, _ *rand.Rand, path, _, _ string) { require.NoError(t, os.Truncate(path, 1<<40)) },
	"binary": func(t *testing.T, rng *rand.Rand, path, _, _ string) {
		edit(t, path, func(content []byte) []byte {
			for i := range content {
				content[i] = byte(rng.IntN(256))
			}
			return content
		})
	},
	"another file's": func(t *testing.T, _ *rand.Rand, path, other, _ string) {
		content, err := os.ReadFile(other)
		if err == nil {
			require.NoError(t, os.WriteFile(path, content, 0o640))
		}
	},
	"older": func(t *testing.T, _ *rand.Rand, path, _, older string) {
		if content, err := os.ReadFile(older); err == nil {
			require.NoError(t, os.WriteFile(path, content, 0o640))
		}
	},
	"a directory": func(t *testing.T, _ *rand.Rand, path, _, _ string) {
		require.NoError(t, os.Remove(path))
		require.NoError(t, os.MkdirAll(filepath.Join(path, "inside"), 0o750))
	},
}

func edit(t *testing.T, path string, change func([]byte) []byte) {
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, change(content), 0o640))
}

// concerned returns the local Pods that a damaged file may make less open: only those that it concerns.
func (s *randomSet) concerned(a *agent, file string) (pods [localPods]bool) {
	resource, name := filepath.Split(file)
	for _, p := range a.state.policies {
		related := slices.Contains(addressGroupsOf(p.latest), name) && resource == directories[AddressGroups]+"/" ||
			p.latest.Name == name || slices.Contains(appliedToGroupsOf(p.latest), name)
		if !related {
			continue
		}
		for i := range localPods {
			if _, applied := a.state.appliedPods(p.latest)[podName{Namespace: "ns", Name: localName(i)}]; applied {
				pods[i] = true
			}
		}
	}
	return pods
}

func requireNoProblems(t *testing.T, a *agent) {
	t.Helper()
	problems, _ := a.problems.List()
	require.Empty(t, problems)
}
