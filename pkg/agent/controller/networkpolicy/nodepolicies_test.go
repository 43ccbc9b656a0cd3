// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// fakeFirewall keeps the rules in order.
type fakeFirewall struct {
	mu    sync.Mutex
	rules []string
	ids   []string
	sets  int
	err   error
	// bad is a part of the texts of rules that the kernel refuses; tries counts the attempts without effect.
	bad   string
	tries int
	// seen has all that was ever in force.
	seen [][]string
}

func (f *fakeFirewall) SetNodePolicyRules(_ context.Context, rules []route.NodePolicyRule) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refusal(rules); err != nil {
		return err
	}
	f.sets++
	f.rules, f.ids = nil, nil
	for _, r := range rules {
		f.ids = append(f.ids, r.ID)
		f.rules = append(f.rules, nodeRuleText(r))
	}
	f.seen = append(f.seen, f.rules)
	return nil
}

func (f *fakeFirewall) TryNodePolicyRules(_ context.Context, rules []route.NodePolicyRule) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tries++
	return f.refusal(rules)
}

func (f *fakeFirewall) refusal(rules []route.NodePolicyRule) error {
	for _, r := range rules {
		if f.bad != "" && strings.Contains(nodeRuleText(r), f.bad) {
			return fmt.Errorf("rule %s: no chain/target/match by that name", nodeRuleText(r))
		}
	}
	return f.err
}

func nodeRuleText(r route.NodePolicyRule) string {
	text := fmt.Sprintf("%s %s %v %v", strings.Fields(r.Comment)[2], r.Direction, r.Action, r.Peers)
	for _, s := range r.Services {
		text += fmt.Sprintf(" %d", s.Protocol)
		if s.Ports != nil {
			text += ":" + s.Ports.String()
		}
	}
	if r.Baseline {
		text += " baseline"
	}
	if r.LogPrefix != "" {
		text += " " + r.LogPrefix
	}
	return text
}

func (f *fakeFirewall) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// takeSeen returns all that was in force since the last call.
func (f *fakeFirewall) takeSeen() [][]string {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen := f.seen
	f.seen = nil
	return seen
}

func (f *fakeFirewall) take(t *testing.T) (rules []string, sets int) {
	t.Helper()
	synctest.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	sets, f.sets = f.sets, 0
	return f.rules, sets
}

func nodeMember(name string, ips ...string) v1beta2.GroupMember {
	m := memberOf("", ips...)
	m.Pod, m.Node = nil, &v1beta2.NodeReference{Name: name}
	return m
}

// protected starts an agent of Node n1 that protects its Node and reports.
func protected(t *testing.T, log *statusLog) (*agent, *fakeSource, *fakeFirewall) {
	source, firewall := newFakeSource(), &fakeFirewall{}
	a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"))
	a.EnableAntreaPolicies(nil, false)
	a.flows.fail = refuseBad
	a.ReportStatus("n1", log.send)
	a.ApplyToNode("n1", firewall, filepath.Join(t.TempDir(), "nodepolicies"))
	a.run()
	return a, source, firewall
}

func TestPoliciesForTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &statusLog{}
		_, source, firewall := protected(t, log)
		logged := in(block("10.0.0.0/8", "10.1.0.0/16"), service(v1beta2.ProtocolTCP, 80))
		logged.EnableLogging, logged.LogLabel = true, "a label that is long"
		mixed := out(groups("peers"))
		mixed.Action = ptr(v1beta2.RuleActionAllow)
		source.sendAll(
			appliedToGroup("this", nodeMember("n1")), appliedToGroup("other", nodeMember("n2")), appliedToGroup("pod", memberOf("a1")),
			addressGroup("peers", memberOf("p1", "10.0.1.1"), nodeMember("n2", "192.0.2.2")),
			tierPolicy("baseline", 253, 1, "Drop", "this", in(everywhere())),
			tierPolicy("second", 100, 5, "Drop", "this", logged, mixed),
			tierPolicy("first", 100, 1, "Pass", "this", in(block("10.0.0.0/8"))),
			tierPolicy("elsewhere", 50, 1, "Drop", "other", in(everywhere())),
			tierPolicy("pods", 50, 1, "Drop", "pod", in(everywhere())),
		)
		rules, _ := firewall.take(t)
		require.Equal(t, []string{
			"rule0, Ingress Pass [10.0.0.0/8]",
			"rule0, Ingress Drop [10.0.0.0/16 10.2.0.0/15 10.4.0.0/14 10.8.0.0/13 10.16.0.0/12 10.32.0.0/11 10.64.0.0/10 10.128.0.0/9] 6:80 Antrea:I:Drop:a label that:",
			"rule1, Egress Allow [10.0.1.1/32 192.0.2.2/32]",
			"rule0, Ingress Drop [0.0.0.0/0 ::/0] baseline",
		}, rules)
		require.Contains(t, log.take(), "second n1 1 false")
	})
}

// A version that cannot be applied leaves the former one, and says so; others follow.
func TestPoliciesForTheNodeThatCannotBeApplied(t *testing.T) {
	for name, change := range map[string]func(*v1beta2.NetworkPolicyRule){
		"fqdn": func(r *v1beta2.NetworkPolicyRule) { r.To.FQDNs = []string{"example.com"} },
		"toServices": func(r *v1beta2.NetworkPolicyRule) {
			r.To = v1beta2.NetworkPolicyPeer{ToServices: []v1beta2.ServiceReference{{Name: "s", Namespace: "ns"}}}
		},
		"name of a port": func(r *v1beta2.NetworkPolicyRule) {
			r.Services = []v1beta2.Service{service("TCP", 80), service("TCP", "http")}
		},
		"not all connections": func(r *v1beta2.NetworkPolicyRule) { r.To.LabelIdentities = []uint32{1} },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &statusLog{}
				_, source, firewall := protected(t, log)
				good := tierPolicy("np", 100, 1, "Drop", "this", out(block("10.0.0.0/8")))
				streams := source.sendAll(appliedToGroup("this", nodeMember("n1")), good)
				before, _ := firewall.take(t)
				require.Equal(t, []string{"rule0, Egress Drop [10.0.0.0/8]"}, before)
				log.take()
				bad := atGeneration(good, 2)
				change(&bad.Rules[0])
				streams[NetworkPolicies].Modify(bad)
				streams[NetworkPolicies].Add(tierPolicy("another", 50, 1, "Allow", "this", out(block("192.0.2.0/24"))))
				after, _ := firewall.take(t)
				require.Equal(t, append([]string{"rule0, Egress Allow [192.0.2.0/24]"}, before...), after)
				reports := strings.Join(log.take(), "\n")
				require.Contains(t, reports, "np n1 2 true")
				require.Contains(t, reports, "another n1 1 false")
			})
		})
	}
}

// A firewall that refuses is asked again, and the status says so until then; a group that changes and a policy that goes are followed.
func TestFirewallThatRefuses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &statusLog{}
		_, source, firewall := protected(t, log)
		firewall.fail(errors.New("no room"))
		streams := source.sendAll(appliedToGroup("this", nodeMember("n1")), addressGroup("peers"), tierPolicy("np", 100, 1, "Drop", "this", in(groups("peers"))))
		require.Contains(t, log.take(), "np n1 1 true the firewall refuses the rules for this Node")
		firewall.fail(nil)
		time.Sleep(time.Minute)
		rules, _ := firewall.take(t)
		require.Equal(t, []string{"rule0, Ingress Drop []"}, rules)
		require.Contains(t, log.take(), "np n1 1 false")

		streams[AddressGroups].Modify(&v1beta2.AddressGroupPatch{ObjectMeta: metav1.ObjectMeta{Name: "peers"}, AddedGroupMembers: []v1beta2.GroupMember{memberOf("p1", "10.0.1.1")}})
		rules, sets := firewall.take(t)
		require.Equal(t, []string{"rule0, Ingress Drop [10.0.1.1/32]"}, rules)
		require.Equal(t, 1, sets)
		streams[NetworkPolicies].Delete(tierPolicy("np", 100, 1, "Drop", "this", in(groups("peers"))))
		rules, _ = firewall.take(t)
		require.Empty(t, rules)
	})
}

// A rule moves to another policy, and the peer of another rule to another group, in one event. The firewall has all of it or nothing, also if it
// comes while the switch is slow, or has taken only a part of the event.
func TestRulesForTheNodeAreOfOneEvent(t *testing.T) {
	for name, refused := range map[string]bool{"slow switch": false, "part of the event refused": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, source, firewall := protected(t, &statusLog{})
				moving := tierPolicy("np", 100, 2, "Drop", "this", in(groups("g")))
				streams := source.sendAll(
					marked(appliedToGroup("this", nodeMember("n1")), 7), marked(appliedToGroup("pod", memberOf("a1")), 7), marked(addressGroup("g", memberOf("p1", "10.0.1.1")), 7),
					marked(tierPolicy("one", 100, 1, "Drop", "this", in(block("10.0.0.0/8"))), 7), marked(moving.DeepCopy(), 7),
				)
				end := func(version uint64) {
					for _, w := range streams {
						w.Action(watch.Bookmark, bookmark(version))
					}
				}
				end(7)
				want := []string{"rule0, Ingress Drop [10.0.0.0/8]", "rule0, Ingress Drop [10.0.1.1/32]"}
				rules, _ := firewall.take(t)
				require.Equal(t, want, rules)

				a.flows.fail = func(install []*policy.Rule) error {
					time.Sleep(time.Minute)
					return refuseBad(install)
				}
				firewall.fail(errors.New("busy")) // so that it is asked again at any time
				streams[AddressGroups].Modify(addressGroupPatch("g", []v1beta2.GroupMember{memberOf("p2", "10.0.1.2")}, nil))
				want2 := []string{want[0], "rule0, Ingress Drop [10.0.1.1/32 10.0.1.2/32]"}
				time.Sleep(2 * time.Minute)
				streams[NetworkPolicies].Delete(marked(tierPolicy("one", 100, 1, "Drop", "this"), 9))
				streams[NetworkPolicies].Add(marked(tierPolicy("two", 100, 1, "Drop", "this", in(block("10.0.0.0/8"))), 9))
				moved := atGeneration(moving, 2)
				moved.Rules[0].From.AddressGroups = []string{"h"}
				streams[NetworkPolicies].Modify(marked(moved, 9))
				if refused {
					streams[NetworkPolicies].Add(marked(tierPolicy("pods", 100, 3, "Drop", "pod", in(everywhere(), service(v1beta2.ProtocolTCP, badPort))), 9))
				}
				streams[AddressGroups].Delete(marked(addressGroup("g"), 9))
				streams[AddressGroups].Add(marked(addressGroup("h", memberOf("p1", "10.0.1.1"), memberOf("p2", "10.0.1.2")), 9))
				end(9)
				firewall.fail(nil)
				time.Sleep(10 * time.Minute)
				rules, _ = firewall.take(t)
				require.Equal(t, want2, rules)
				for _, seen := range firewall.seen {
					require.Contains(t, [][]string{want, want2}, seen)
				}
			})
		})
	}
}

// The firewall adds peers to the sets of an id before it replaces the rules. So a rule that takes the place of another one has another id: its
// peers would be allowed, or denied, as the former rule says. Members of a group are peers of the same rule.
func TestIDsOfRulesForTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, source, firewall := protected(t, &statusLog{})
		allow := tierPolicy("np", 100, 1, "Allow", "this", in(groups("peers")))
		streams := source.sendAll(appliedToGroup("this", nodeMember("n1")), addressGroup("peers", memberOf("p1", "10.0.1.1")),
			addressGroup("others", memberOf("p2", "10.0.1.2"), memberOf("p3", "10.0.1.3")), allow)
		firewall.take(t)
		before := firewall.ids
		require.Len(t, before, 1)
		streams[AddressGroups].Modify(addressGroupPatch("peers", []v1beta2.GroupMember{memberOf("p4", "10.0.1.4")}, nil))
		firewall.take(t)
		require.Equal(t, before, firewall.ids)
		streams[NetworkPolicies].Modify(atGeneration(tierPolicy("np", 100, 1, "Drop", "this", in(groups("others"))), 2))
		rules, _ := firewall.take(t)
		require.Equal(t, []string{"rule0, Ingress Drop [10.0.1.2/32 10.0.1.3/32]"}, rules)
		require.NotEqual(t, before, firewall.ids)
	})
}

func TestRangesOfMasks(t *testing.T) {
	var ranges []string
	for _, s := range policy.PortRange(6, 1000, 1010) {
		ranges = append(ranges, nodeService(s).Ports.String())
	}
	require.Equal(t, []string{"1000:1007", "1008:1009", "1010"}, ranges)
	require.Nil(t, nodeService(policy.Service{Protocol: 6}).Ports)
}

// An agent that starts with a version that cannot be applied restores the former version of this policy, and applies others.
func TestPoliciesForTheNodeOutliveTheAgent(t *testing.T) {
	good := tierPolicy("np", 100, 1, "Drop", "this", out(block("10.0.0.0/8")), out(groups("peers"), service(v1beta2.ProtocolTCP, 80), icmp(8, 0)))
	bad := tierPolicy("np", 100, 1, "Drop", "this", out(v1beta2.NetworkPolicyPeer{FQDNs: []string{"example.com"}}))
	groups := []runtime.Object{appliedToGroup("this", nodeMember("n1")), addressGroup("peers", memberOf("p1", "10.0.1.1"))}
	other := tierPolicy("other", 50, 1, "Allow", "this", out(block("192.0.2.0/24")))
	for name, test := range map[string]struct {
		damage func(t *testing.T, file string)
		gone   bool // no rule is set
	}{
		"the file is complete": {damage: func(*testing.T, string) {}},
		"the file is damaged":  {damage: func(t *testing.T, file string) { require.NoError(t, os.Truncate(file, 40)) }, gone: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "nodepolicies")
				start := func(objects ...runtime.Object) (*fakeSource, *fakeFirewall) {
					source, firewall := newFakeSource(), &fakeFirewall{}
					a := newAgent(t, source, t.TempDir(), iface("a1", "a1", 1, "10.0.0.1"))
					a.EnableAntreaPolicies(nil, false)
					a.ApplyToNode("n1", firewall, file)
					a.run()
					source.sendAll(append(slices.Clip(groups), objects...)...)
					synctest.Wait()
					return source, firewall
				}
				_, first := start(good)
				before, _ := first.take(t)
				require.Len(t, before, 2)
				test.damage(t, file)
				_, second := start(bad, other)
				after, sets := second.take(t)
				if test.gone {
					require.Zero(t, sets, "what is in the kernel stays")
					_, third := start(good, other)
					after, _ = third.take(t)
				}
				require.Equal(t, append([]string{"rule0, Egress Allow [192.0.2.0/24]"}, before...), after)
			})
		})
	}
}

// Rules with very many ports are refused as a whole, for Pods and for the Node.
func TestTooManyPorts(t *testing.T) {
	var many []v1beta2.Service
	for i := range 60 {
		s := fromPorts(service(v1beta2.ProtocolTCP, 1), 1, 65534)
		s.Port.IntVal, s.EndPort = int32(i%2+1), ptr(int32(65534-i/2))
		many = append(many, s)
	}
	_, err := resolveServices(many, nil)
	require.ErrorContains(t, err, "the 60 ports and protocols are more than 32768 flows")
	b := newTierBench(t)
	b.set(tierPolicy("np", 50, 1, "Drop", "a", in(everywhere(), many...)))
	b.requireRules("Ingress [a1@1] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0")
	require.Contains(t, b.requireProblems("AntreaClusterNetworkPolicy np")[0].Message, "are more than 32768 flows")
}
