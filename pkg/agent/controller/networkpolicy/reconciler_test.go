// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

const everything = "0.0.0.0/0"

func TestCompile(t *testing.T) {
	http, dns := service(v1beta2.ProtocolTCP, 80), service(v1beta2.ProtocolUDP, "dns")
	ports := service(v1beta2.ProtocolSCTP, 1000)
	last := int32(1003)
	ports.EndPort = &last
	for _, test := range []struct {
		name string
		rule v1beta2.NetworkPolicyRule
		want []string
	}{
		{"ingress from a group", in(groups("peers"), http), []string{"Ingress [a1@1 a2@2] peers [10.0.1.1 10.0.1.2] services [6:80/ffff]"}},
		{"egress to a group", out(groups("peers")), []string{"Egress [a1@1 a2@2] peers [10.0.1.1 10.0.1.2] services []"}},
		{"two groups", in(groups("peers", "more")), []string{"Ingress [a1@1 a2@2] peers [10.0.1.1 10.0.1.2 10.0.1.3] services []"}},
		{"isolation", in(v1beta2.NetworkPolicyPeer{}), []string{"Ingress [a1@1 a2@2] peers [] services []"}},
		{"everybody", in(block(everything)), []string{"Ingress [a1@1 a2@2] peers [0.0.0.0/0] services []"}},
		{"block with exception", in(block("10.0.0.0/8", "10.128.0.0/9")), []string{"Ingress [a1@1 a2@2] peers [10.0.0.0/9] services []"}},
		{"protocol without port", in(groups("peers"), service(v1beta2.ProtocolUDP, nil)), []string{"Ingress [a1@1 a2@2] peers [10.0.1.1 10.0.1.2] services [17:0/0]"}},
		{"range of ports", in(groups("peers"), ports), []string{"Ingress [a1@1 a2@2] peers [10.0.1.1 10.0.1.2] services [132:1000/fffc]"}},
		{"the same port twice", in(groups("peers"), http, http), []string{"Ingress [a1@1 a2@2] peers [10.0.1.1 10.0.1.2] services [6:80/ffff]"}},
		{"named port of the Pods that it is applied to", in(groups("peers"), dns), []string{
			"Ingress [a1@1] peers [10.0.1.1 10.0.1.2] services [17:53/ffff]",
			"Ingress [a2@2] peers [10.0.1.1 10.0.1.2] services [17:5353/ffff]",
		}},
		{"named and numbered ports", in(groups("peers"), dns, http), []string{
			"Ingress [a1@1] peers [10.0.1.1 10.0.1.2] services [6:80/ffff 17:53/ffff]",
			"Ingress [a2@2] peers [10.0.1.1 10.0.1.2] services [6:80/ffff 17:5353/ffff]",
		}},
		{"unknown name isolates", in(groups("peers"), service(v1beta2.ProtocolTCP, "nothing")), []string{"Ingress [a1@1 a2@2] peers [] services []"}},
		{"name of another protocol isolates", in(groups("peers"), service(v1beta2.ProtocolTCP, "dns")), []string{"Ingress [a1@1 a2@2] peers [] services []"}},
		{"named port of the peers", out(groups("peers"), dns), []string{
			"Egress [a1@1 a2@2] peers [10.0.1.1] services [17:53/ffff]",
			"Egress [a1@1 a2@2] peers [] services []",
		}},
		{"named port of the peers, and a block", out(v1beta2.NetworkPolicyPeer{AddressGroups: []string{"peers"}, IPBlocks: block("192.0.2.0/24").IPBlocks}, dns, http), []string{
			"Egress [a1@1 a2@2] peers [10.0.1.1] services [6:80/ffff 17:53/ffff]",
			"Egress [a1@1 a2@2] peers [192.0.2.0/24 10.0.1.2] services [6:80/ffff]",
		}},
		{"dual stack", in(groups("dual")), []string{"Ingress [a1@1 a2@2] peers [10.0.1.9 2001:db8::9/128] services []"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t)
			b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
			b.store.AddInterface(iface("a2", "a2", 2, "10.0.0.2"))
			b.store.AddInterface(iface("other", "other", 3, "10.0.0.3"))
			b.set(
				appliedToGroup("applied", memberOf("a1", "dns:UDP:53"), memberOf("a2", "dns:UDP:5353"), memberOf("not here yet")),
				addressGroup("peers", memberOf("p1", "10.0.1.1", "dns:UDP:53"), memberOf("p2", "10.0.1.2")),
				addressGroup("more", memberOf("p2", "10.0.1.2"), memberOf("p3", "10.0.1.3")),
				addressGroup("dual", memberOf("p9", "10.0.1.9", "2001:db8::9")),
				networkPolicy("np", "applied", test.rule),
			)
			b.requireRules(test.want...)
		})
	}
}

func TestEvents(t *testing.T) {
	const fromP1 = "Ingress [a1@1] peers [10.0.1.1] services []"
	begin := func(t *testing.T) *bench {
		b := newBench(t)
		b.store.AddInterface(iface("a1", "a1", 1, "10.0.0.1"))
		b.set(appliedToGroup("applied", memberOf("a1")), addressGroup("peers", memberOf("p1", "10.0.1.1")),
			networkPolicy("np", "applied", in(groups("peers"))))
		b.requireRules(fromP1)
		return b
	}
	t.Run("Pod arrives and leaves", func(t *testing.T) {
		b := begin(t)
		b.set(appliedToGroup("applied", memberOf("a1"), memberOf("a2")))
		b.requireRules(fromP1)
		require.NoError(t, b.PodArrives(iface("a2", "a2", 2, "10.0.0.2")))
		both := "Ingress [a1@1 a2@2] peers [10.0.1.1] services []"
		require.Equal(t, []string{both}, b.flows.text(), "realized when PodArrives returns")
		calls := b.flows.calls
		b.store.AddInterface(iface("a2", "a2", 2, "10.0.0.2"))
		b.requireRules(both)
		require.Equal(t, calls, b.flows.calls)
		b.store.DeleteInterface(iface("a2", "a2", 2, "10.0.0.2"))
		b.requireRules(fromP1)
	})
	t.Run("Pod is not connected after all", func(t *testing.T) {
		b := begin(t)
		b.set(appliedToGroup("applied", memberOf("a1"), memberOf("a2")))
		i := iface("a2", "a2", 2, "10.0.0.2")
		require.NoError(t, b.PodArrives(i))
		b.PodLeaves(i)
		b.requireRules(fromP1)
	})
	t.Run("Pod of the same name is connected before the former one has left", func(t *testing.T) {
		b := begin(t)
		b.store.AddInterface(iface("a1", "a1-new", 7, "10.0.0.7"))
		b.requireRules("Ingress [a1@1 a1-new@7] peers [10.0.1.1] services []")
		b.store.DeleteInterface(iface("a1", "a1", 1))
		b.requireRules("Ingress [a1-new@7] peers [10.0.1.1] services []")
	})
	t.Run("members change", func(t *testing.T) {
		b := begin(t)
		ids := b.flows.rules
		b.set(addressGroup("peers", memberOf("p1", "10.0.1.1"), memberOf("p2", "10.0.1.2")))
		b.requireRules("Ingress [a1@1] peers [10.0.1.1 10.0.1.2] services []")
		require.Equal(t, ids, b.flows.rules, "the rule keeps its id")
		b.set(addressGroup("peers"))
		b.requireRules("Ingress [a1@1] peers [] services []")
	})
	t.Run("an edited policy is replaced in one change", func(t *testing.T) {
		b := begin(t)
		calls := b.flows.calls
		b.set(networkPolicy("np", "applied", in(block("192.0.2.0/24"))))
		b.requireRules("Ingress [a1@1] peers [192.0.2.0/24] services []")
		require.Equal(t, calls+1, b.flows.calls)
	})
	t.Run("an edited policy waits for its groups", func(t *testing.T) {
		b := begin(t)
		b.set(networkPolicy("np", "applied", in(groups("others"))))
		b.requireRules(fromP1)
		b.set(addressGroup("peers"))
		b.requireRules("Ingress [a1@1] peers [] services []")
		b.delete(addressGroup("peers"))
		b.requireRules("Ingress [a1@1] peers [] services []")
		b.set(addressGroup("others", memberOf("o", "10.0.1.7")))
		b.requireRules("Ingress [a1@1] peers [10.0.1.7] services []")
	})
	t.Run("everything goes in any order", func(t *testing.T) {
		for _, gone := range [][]any{{networkPolicy("np", ""), addressGroup("peers"), appliedToGroup("applied")}, {appliedToGroup("applied"), addressGroup("peers"), networkPolicy("np", "")}} {
			b := begin(t)
			for _, object := range gone {
				b.delete(object)
				require.NoError(t, b.realize())
			}
			b.requireRules()
			require.Empty(t, b.state.byAddressGroup)
			require.Empty(t, b.state.byAppliedToGroup)
			require.Empty(t, b.state.policies)
		}
	})
	t.Run("nothing is realized before everything is known", func(t *testing.T) {
		b := newBench(t)
		b.unsynced.Insert(AddressGroups)
		b.set(networkPolicy("np", "applied", in(groups("peers"))), appliedToGroup("applied", memberOf("a1")))
		require.NoError(t, b.realize())
		require.Zero(t, b.flows.calls)
		select {
		case <-b.Synced():
			t.Fatal("synced too early")
		default:
		}
		b.unsynced.Clear()
		require.NoError(t, b.realize())
		<-b.Synced()
	})
}

func TestRuleIDs(t *testing.T) {
	ids := newRuleIDs()
	a, b := ruleKey{"p", "r", ""}, ruleKey{"pr", "", ""}
	first := ids.take(a)
	require.GreaterOrEqual(t, first, uint32(firstRuleID))
	require.NotEqual(t, first, ids.take(b), "the parts are kept apart")
	second := ids.take(a)
	require.Equal(t, first+1, second, "an id that is taken is not given again")
	ids.release(first)
	require.Equal(t, first, ids.take(a), "a rule that comes back has its id again")
	require.Equal(t, first, newRuleIDs().take(a), "also after a restart")
}

// After any sequence of events the switch has the same content as with a controller that sees only the outcome.
func TestIncrementalEqualsFresh(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	b := newBench(t)
	policies, addresses, applied, interfaces := map[string]any{}, map[string]any{}, map[string]any{}, map[string]int{}
	name := func(prefix string, n int) string { return fmt.Sprintf("%s%d", prefix, rng.IntN(n)) }
	for range 400 {
		switch rng.IntN(8) {
		case 0, 1:
			var rules []v1beta2.NetworkPolicyRule
			for range rng.IntN(3) {
				rule := []func(v1beta2.NetworkPolicyPeer, ...v1beta2.Service) v1beta2.NetworkPolicyRule{in, out}[rng.IntN(2)]
				rules = append(rules, rule(groups(name("ag", 4)), service(v1beta2.ProtocolTCP, []any{80, "http", nil}[rng.IntN(3)])))
			}
			np := networkPolicy(name("np", 4), name("atg", 3), rules...)
			policies[np.Name] = np
			b.set(np)
		case 2:
			np := networkPolicy(name("np", 4), "")
			delete(policies, np.Name)
			b.delete(np)
		case 3:
			var members []v1beta2.GroupMember
			for i := range rng.IntN(3) {
				members = append(members, memberOf(fmt.Sprint("p", i), fmt.Sprint("10.0.1.", i), fmt.Sprint("http:TCP:", 8080+rng.IntN(2))))
			}
			g := addressGroup(name("ag", 4), members...)
			addresses[g.Name] = g
			b.set(g)
		case 4:
			var members []v1beta2.GroupMember
			for range rng.IntN(3) {
				members = append(members, memberOf(name("a", 3), "http:TCP:8080"))
			}
			g := appliedToGroup(name("atg", 3), members...)
			applied[g.Name] = g
			b.set(g)
		case 5:
			i := name("a", 3)
			interfaces[i] = 1 + rng.IntN(9)
			b.store.AddInterface(iface(i, i, uint32(interfaces[i]), "10.0.0.1"))
		case 6:
			i := name("a", 3)
			delete(interfaces, i)
			b.store.DeleteInterface(iface(i, i, 1))
		case 7:
			require.NoError(t, b.realize())
		}
	}
	b.store.AddInterface(iface("a0", "a0", 1, "10.0.0.1"))
	interfaces["a0"] = 1
	last := networkPolicy("np0", "atg0", in(groups("ag0")))
	policies[last.Name] = last
	b.set(last)
	// The versions in force may differ while groups are missing.
	for i := range 4 {
		g := addressGroup(fmt.Sprint("ag", i), memberOf("p", "10.0.1.9"))
		addresses[g.Name] = g
		b.set(g)
	}
	for i := range 3 {
		g := appliedToGroup(fmt.Sprint("atg", i), memberOf("a0"), memberOf("a1"))
		applied[g.Name] = g
		b.set(g)
	}
	fresh := newBench(t)
	for i, port := range interfaces {
		fresh.store.AddInterface(iface(i, i, uint32(port), "10.0.0.1"))
	}
	for _, objects := range []map[string]any{policies, addresses, applied} {
		for _, object := range objects {
			fresh.set(object)
		}
	}
	require.NoError(t, fresh.realize())
	b.requireRules(fresh.flows.text()...)
	require.NotEmpty(t, fresh.flows.text())
}
