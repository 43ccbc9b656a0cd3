// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// fakeFlows is a switch that holds rules.
type fakeFlows struct {
	mu    sync.Mutex
	rules map[uint32]*policy.Rule
	// calls counts accepted changes, bundles all.
	calls, bundles int
	// replaced is set when rules of former rounds are gone.
	replaced bool
	// fail, if set, decides which changes are refused.
	fail func(install []*policy.Rule) error
	// closed are the OpenFlow ports of closed interfaces; failClose, if set, decides which closings are refused.
	closed    map[string]uint32
	failClose func(interfaceName string) error
}

func newFakeFlows() *fakeFlows {
	return &fakeFlows{rules: map[uint32]*policy.Rule{}, closed: map[string]uint32{}}
}

func (f *fakeFlows) ClosePodFlows(_ context.Context, interfaceName string, _ []netip.Addr, _ net.HardwareAddr, ofPort uint32) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failClose != nil {
		if err := f.failClose(interfaceName); err != nil {
			return err
		}
	}
	f.closed[interfaceName] = ofPort
	return nil
}

func (f *fakeFlows) UpdatePolicyRules(install []*policy.Rule, remove []uint32) error {
	return f.update(install, remove, true)
}

func (f *fakeFlows) UpdatePolicyRulesOnTop(install []*policy.Rule, remove []uint32) error {
	return f.update(install, remove, false)
}

func (f *fakeFlows) update(install []*policy.Rule, remove []uint32, replace bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bundles++
	if f.fail != nil {
		if err := f.fail(install); err != nil {
			return err
		}
	}
	f.calls++
	f.replaced = f.replaced || replace
	for _, id := range remove {
		delete(f.rules, id)
	}
	for _, r := range install {
		f.rules[r.FlowID] = r
	}
	return nil
}

// text describes the rules, sorted, one a line: "Ingress a1@1 from 10.0.1.1 6:80".
func (f *fakeFlows) text() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines := []string{}
	for _, r := range f.rules {
		lines = append(lines, ruleText(r))
	}
	slices.Sort(lines)
	return lines
}

func ruleText(r *policy.Rule) string {
	var pods, peers, services []string
	for _, p := range r.AppliedTo {
		pods = append(pods, fmt.Sprintf("%s@%d", p.InterfaceName, p.OFPort))
	}
	for _, p := range r.Peers {
		peers = append(peers, strings.TrimSuffix(p.String(), "/32"))
	}
	for _, addr := range addressesOf(r) {
		peers = append(peers, strings.TrimSuffix(netip.PrefixFrom(addr, addr.BitLen()).String(), "/32"))
	}
	for _, s := range r.Services {
		text := fmt.Sprintf("%d:%d/%x", s.Protocol, s.Port, s.Mask)
		if s.SourceMask != 0 {
			text += fmt.Sprintf("<%d/%x", s.SourcePort, s.SourceMask)
		}
		for _, field := range []*uint8{s.ICMPType, s.ICMPCode} {
			if field != nil {
				text += fmt.Sprintf(":%d", *field)
			}
		}
		services = append(services, text)
	}
	text := fmt.Sprintf("%v [%s] peers [%s] services [%s]", r.Direction, strings.Join(pods, " "), strings.Join(peers, " "), strings.Join(services, " "))
	if len(r.PeerServices)+len(r.AppliedToServices) > 0 {
		text += fmt.Sprintf(" to %v at %v", r.PeerServices, r.AppliedToServices)
	}
	if o := r.Effect.Order; o.Stage != policy.StageKubernetes {
		text += fmt.Sprintf(" %v %d/%v/%d", r.Effect.Action, o.Tier, o.Policy, o.Rule)
	}
	return text
}

// addressesOf returns the members of the rule's peer groups, sorted.
func addressesOf(r *policy.Rule) []netip.Addr {
	var addresses []netip.Addr
	for _, set := range r.PeerAddresses {
		addresses = slices.AppendSeq(addresses, set.All())
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	return slices.Compact(addresses)
}

func pod(name string) *v1beta2.PodReference {
	return &v1beta2.PodReference{Namespace: "ns", Name: name}
}

// memberOf returns a member with addresses, and with named ports such as "http:TCP:80".
func memberOf(name string, parts ...string) v1beta2.GroupMember {
	m := v1beta2.GroupMember{Pod: pod(name)}
	for _, part := range parts {
		if addr, err := netip.ParseAddr(part); err == nil {
			m.IPs = append(m.IPs, addr.AsSlice())
			continue
		}
		var port v1beta2.NamedPort
		fields := strings.Split(part, ":")
		port.Name, port.Protocol = fields[0], v1beta2.Protocol(fields[1])
		if _, err := fmt.Sscan(fields[2], &port.Port); err != nil {
			panic(err)
		}
		m.Ports = append(m.Ports, port)
	}
	return m
}

func addressGroup(name string, members ...v1beta2.GroupMember) *v1beta2.AddressGroup {
	return &v1beta2.AddressGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, GroupMembers: members}
}

func appliedToGroup(name string, members ...v1beta2.GroupMember) *v1beta2.AppliedToGroup {
	return &v1beta2.AppliedToGroup{ObjectMeta: metav1.ObjectMeta{Name: name}, GroupMembers: members}
}

func networkPolicy(name, appliedTo string, rules ...v1beta2.NetworkPolicyRule) *v1beta2.NetworkPolicy {
	return &v1beta2.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name}, AppliedToGroups: []string{appliedTo}, Rules: rules,
		SourceRef: &v1beta2.NetworkPolicyReference{Type: v1beta2.K8sNetworkPolicy, Namespace: "ns", Name: name, UID: types.UID(name)},
	}
}

// tierPolicy returns a ClusterNetworkPolicy in a tier. Its rules get the action and their index, unless they have them.
func tierPolicy(name string, tier int32, priority float64, action v1beta2.RuleAction, applied string, rules ...v1beta2.NetworkPolicyRule) *v1beta2.NetworkPolicy {
	np := networkPolicy(name, applied, rules...)
	np.SourceRef.Type, np.SourceRef.Namespace = v1beta2.AntreaClusterNetworkPolicy, ""
	np.TierPriority, np.Priority, np.Generation = &tier, &priority, 1
	for i := range np.Rules {
		if np.Rules[i].Action == nil {
			np.Rules[i].Action = &action
		}
		np.Rules[i].Priority, np.Rules[i].Name = int32(i), fmt.Sprint("rule", i)
	}
	return np
}

// everywhere is the peer of rules without from and to.
func everywhere() v1beta2.NetworkPolicyPeer {
	return v1beta2.NetworkPolicyPeer{IPBlocks: append(block("0.0.0.0/0").IPBlocks, block("::/0").IPBlocks...)}
}

func in(peer v1beta2.NetworkPolicyPeer, services ...v1beta2.Service) v1beta2.NetworkPolicyRule {
	return v1beta2.NetworkPolicyRule{Direction: v1beta2.DirectionIn, From: peer, Services: services, Priority: -1}
}

func out(peer v1beta2.NetworkPolicyPeer, services ...v1beta2.Service) v1beta2.NetworkPolicyRule {
	return v1beta2.NetworkPolicyRule{Direction: v1beta2.DirectionOut, To: peer, Services: services, Priority: -1}
}

func groups(names ...string) v1beta2.NetworkPolicyPeer {
	return v1beta2.NetworkPolicyPeer{AddressGroups: names}
}

func ipNet(text string) v1beta2.IPNet {
	p := netip.MustParsePrefix(text)
	return v1beta2.IPNet{IP: p.Addr().AsSlice(), PrefixLength: int32(p.Bits())}
}

func block(cidr string, excepts ...string) v1beta2.NetworkPolicyPeer {
	b := v1beta2.IPBlock{CIDR: ipNet(cidr)}
	for _, e := range excepts {
		b.Except = append(b.Except, ipNet(e))
	}
	return v1beta2.NetworkPolicyPeer{IPBlocks: []v1beta2.IPBlock{b}}
}

// service returns a service; port is a number, a name, or nil.
func service(protocol v1beta2.Protocol, port any) v1beta2.Service {
	s := v1beta2.Service{Protocol: &protocol}
	switch p := port.(type) {
	case int:
		v := intstr.FromInt32(int32(p))
		s.Port = &v
	case string:
		v := intstr.FromString(p)
		s.Port = &v
	}
	return s
}

func iface(podName, interfaceName string, ofPort uint32, ips ...string) *interfacestore.InterfaceConfig {
	i := &interfacestore.InterfaceConfig{
		Type: interfacestore.ContainerInterface, InterfaceName: interfaceName,
		OVSPortConfig:            &interfacestore.OVSPortConfig{OFPort: ofPort},
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodNamespace: "ns", PodName: podName},
	}
	for _, ip := range ips {
		i.IPs = append(i.IPs, netip.MustParseAddr(ip))
	}
	return i
}

// fakeDatapath ends a wait with the next value of ends, or at once if that is nil.
type fakeDatapath struct {
	begun chan struct{}
	ends  chan error
}

func (d *fakeDatapath) WaitRevalidation(ctx context.Context) error {
	if d.ends == nil {
		return nil
	}
	d.begun <- struct{}{}
	select {
	case err := <-d.ends:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bench is a synced controller without watches.
type bench struct {
	*Controller
	t        testing.TB
	flows    *fakeFlows
	datapath fakeDatapath
	store    interfacestore.InterfaceStore
	problems *problem.Recorder
	// services is set by newTierBench.
	services *fakeGroups
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, flows: newFakeFlows(), store: interfacestore.NewInterfaceStore(), problems: problem.NewRecorder()}
	c := New(nil, b.flows, &b.datapath, b.store, t.TempDir(), b.problems)
	c.unsynced.Clear()
	b.Controller = c
	return b
}

// set adds or replaces objects, as one change.
func (b *bench) set(objects ...any) {
	b.t.Helper()
	b.update(func(s *state) {
		for _, object := range objects {
			ch, err := setObject(object)
			require.NoError(b.t, err)
			ch.apply(s)
		}
	})
}

func (b *bench) delete(objects ...any) {
	b.t.Helper()
	b.update(func(s *state) {
		for _, object := range objects {
			ch, err := deleteObject(object)
			require.NoError(b.t, err)
			ch.apply(s)
		}
	})
}

// requireRules realizes the pending changes and compares the switch's rules.
func (b *bench) requireRules(want ...string) {
	b.t.Helper()
	require.NoError(b.t, b.realize())
	slices.Sort(want)
	require.Equal(b.t, append([]string{}, want...), b.flows.text())
	// The controller's realized rules are the rules of the switch.
	realized := map[uint32]*policy.Rule{}
	for _, r := range b.realized.rules() {
		realized[r.FlowID] = r
	}
	require.ElementsMatch(b.t, slices.Collect(maps.Keys(realized)), slices.Collect(maps.Keys(b.flows.rules)))
	require.Len(b.t, b.realized.ids.used, len(realized))
}
