// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// fakeNames knows what a test tells it.
type fakeNames struct {
	mu        sync.Mutex
	addresses map[string]policy.AddressSet
	uses      map[string]fqdn.Use
	err       error
	// declared is called with mu held.
	declared func()
}

func (n *fakeNames) Addresses(selector string) policy.AddressSet {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.addresses[selector]
}

func (n *fakeNames) Declare(uses map[string]fqdn.Use) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, use := range uses {
		if n.uses[name] = use; isUnused(use) {
			delete(n.uses, name)
		}
	}
	if n.declared != nil {
		n.declared()
	}
	return n.err
}

// learn adds an address to a name.
func (n *fakeNames) learn(selector, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	edit := n.addresses[selector].Edit()
	edit.Add(netip.MustParseAddr(address))
	n.addresses[selector] = edit.Set()
}

// text describes the uses: "np: db.example.com at a1".
func (n *fakeNames) text() (lines []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(n.uses)) {
		line := fmt.Sprintf("%s: %v at", name, n.uses[name].Selectors)
		for _, pod := range n.uses[name].Pods {
			line += " " + pod.InterfaceName
		}
		lines = append(lines, line)
	}
	return lines
}

func newNamesBench(t *testing.T) (*bench, *fakeNames) {
	b := newTierBench(t)
	names := &fakeNames{addresses: map[string]policy.AddressSet{}, uses: map[string]fqdn.Use{}}
	b.FollowNames(names)
	return b, names
}

func toNames(names ...string) v1beta2.NetworkPolicyRule {
	return out(v1beta2.NetworkPolicyPeer{FQDNs: names})
}

// realizeNames calls RealizeNames and waits.
func (b *bench) realizeNames(selectors ...string) map[string]error {
	done := make(chan map[string]error, 1)
	b.RealizeNames(selectors, func(failed map[string]error) { done <- failed })
	return <-done
}

// The rules follow the names, and the uses of names are declared before the rules are installed.
func TestRulesWithNames(t *testing.T) {
	b, names := newNamesBench(t)
	mixed := toNames("db.example.com")
	mixed.To.IPBlocks = block("192.0.2.0/24").IPBlocks
	np := tierPolicy("np", 50, 1, "Drop", "a", toNames("*.example.com", "db.example.com"), mixed)
	names.learn("db.example.com", "198.51.100.1")
	names.declared = func() { require.Empty(t, b.flows.all()) }
	b.set(np)
	b.requireRules("Egress [a1@1] peers [198.51.100.1] services [] Drop 50/1/0", "Egress [a1@1] peers [192.0.2.0/24 198.51.100.1] services [] Drop 50/1/1")
	names.declared = nil
	require.Equal(t, []string{"np: [*.example.com db.example.com] at a1"}, names.text())

	require.Empty(t, b.realizeNames("DB.example.com.", "db.example.com"))
	names.learn("*.example.com", "198.51.100.2")
	require.Empty(t, b.realizeNames("*.example.com", "unknown.example.com"))
	require.Contains(t, b.flows.text(), "Egress [a1@1] peers [198.51.100.1 198.51.100.2] services [] Drop 50/1/0")

	require.NoError(t, b.PodArrives(iface("a1", "a1b", 9, "10.0.0.9")))
	require.Equal(t, []string{"np: [*.example.com db.example.com] at a1 a1b"}, names.text())
	b.delete(np)
	b.requireRules()
	require.Empty(t, names.text())
	require.Empty(t, b.declared)
}

// Upper case and a dot at the end make no difference.
func TestSpellingOfNames(t *testing.T) {
	b, names := newNamesBench(t)
	b.set(tierPolicy("np", 50, 1, "Drop", "a", toNames("DB.example.com.")))
	require.NoError(t, b.realize())
	names.learn("DB.example.com.", "198.51.100.1")
	require.Empty(t, b.realizeNames("db.example.com"))
	require.Equal(t, []string{"Egress [a1@1] peers [198.51.100.1] services [] Drop 50/1/0"}, b.flows.text())
}

// A port that has a name has no number behind the name of a host.
func TestNamesHaveNoNamedPorts(t *testing.T) {
	b, names := newNamesBench(t)
	names.learn("db.example.com", "198.51.100.1")
	named := toNames("db.example.com")
	named.Services = []v1beta2.Service{service("TCP", "http")}
	b.set(tierPolicy("np", 50, 1, "Drop", "a", named))
	b.requireRules("Egress [a1@1] peers [] services [] Drop 50/1/0")
}

// An answer of DNS does not wait for a policy that is refused, since its guard denies what the policy may deny, and learns why even that is not
// in force.
func TestNamesThatCannotBeRealized(t *testing.T) {
	b, names := newNamesBench(t)
	b.set(tierPolicy("np", 50, 1, "Drop", "a", toNames("a.example.com")), tierPolicy("other", 50, 1, "Drop", "b", toNames("b.example.com")))
	require.NoError(t, b.realize())
	refused := errors.New("no room")
	b.flows.fail = func(install []*policy.Rule) error {
		return failing(install, refused, func(r *policy.Rule) bool { return slices.Contains(addressesOf(r), netip.MustParseAddr("198.51.100.1")) })
	}
	names.learn("a.example.com", "198.51.100.1")
	names.learn("b.example.com", "198.51.100.2")
	failed := b.realizeNames("a.example.com", "b.example.com")
	require.Empty(t, failed)
	require.ErrorIs(t, b.refusals["np"].err, refused)
	require.Subset(t, b.flows.text(), []string{"Egress [a1@1] peers [0.0.0.0/0 ::/0] services [] Drop 50/1/0", "Egress [b1@2] peers [198.51.100.2] services [] Drop 50/1/0"})

	b.flows.fail = func([]*policy.Rule) error { return errors.New("away") }
	names.err = errors.New("no interception")
	b.flows.fail = nil
	b.set(tierPolicy("third", 50, 1, "Drop", "b", toNames("c.example.com")))
	require.NoError(t, b.realize())
	require.NotContains(t, fmt.Sprint(b.flows.text()), "third")
	require.NotNil(t, b.refusals["third"])
	require.ErrorIs(t, b.realizeNames("c.example.com")["c.example.com"], names.err)
	names.err = nil
}

// Before the first realization, no answer passes.
func TestNamesBeforeTheStart(t *testing.T) {
	b, _ := newNamesBench(t)
	b.set(tierPolicy("np", 50, 1, "Drop", "a", toNames("a.example.com")))
	b.unsynced.Insert(NetworkPolicies)
	require.ErrorIs(t, b.realizeNames("a.example.com")["a.example.com"], errNotRealized)
}

// While a group of a policy is missing, its rules stay as they are. Then an answer with a new address must wait: a rule that denies lacks it.
func TestNamesWhileAGroupIsMissing(t *testing.T) {
	b, names := newNamesBench(t)
	peers := addressGroup("peers", memberOf("p1", "10.0.1.1"))
	np := tierPolicy("np", 50, 1, "Drop", "a", toNames("db.example.com"), out(groups("peers")))
	incomplete := tierPolicy("new", 50, 1, "Drop", "a", toNames("new.example.com"), out(groups("missing")))
	b.set(peers, np, incomplete)
	require.NoError(t, b.realize())
	b.delete(peers)
	names.learn("db.example.com", "198.51.100.1")
	require.ErrorIs(t, b.realizeNames("db.example.com")["db.example.com"], errNotRealized)
	require.Empty(t, b.realizeNames("new.example.com"), "no rule with the name is in force")
	b.set(peers)
	require.Empty(t, b.realizeNames("db.example.com"))
	require.Contains(t, b.flows.text(), "Egress [a1@1] peers [198.51.100.1] services [] Drop 50/1/0")
}
