// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// watchedSwitch calls check after each bundle.
type watchedSwitch struct {
	*of.Fake
	check func()
}

func (s *watchedSwitch) Commit(ctx context.Context, mods []of.FlowMod) error {
	err := s.Fake.Commit(ctx, mods)
	s.check()
	return err
}

func (s *watchedSwitch) Apply(ctx context.Context, bundle of.Transaction) error {
	err := s.Fake.Apply(ctx, bundle)
	s.check()
	return err
}

// use is a rule's way of matching a Service: as a peer, or at its NodePort.
type use struct {
	service int
	target  bool
}

// serviceWorld is a Node whose Services, policies and agents come and go.
type serviceWorld struct {
	t     *testing.T
	rng   *rand.Rand
	sw    *watchedSwitch
	file  string
	round openflow.RoundInfo
	agent *restarted
	// services are the Services as they should be, by number; behind are the ones that the agent still has to install or remove.
	services map[int]openflow.ServicePort
	behind   map[int]bool
	// policies are the policies as they should be. known is set when the agent knows them.
	policies map[string][]use
	known    bool
	// duties contains what each policy has to deny, may contains what it may deny.
	duties, may map[string][]use
}

const worldServices = 4

func newServiceWorld(t *testing.T, seed uint64) *serviceWorld {
	w := &serviceWorld{t: t, rng: rand.New(rand.NewPCG(seed, 0)), sw: &watchedSwitch{Fake: of.NewFake()}, file: filepath.Join(t.TempDir(), "groups"),
		services: map[int]openflow.ServicePort{}, behind: map[int]bool{}, policies: map[string][]use{}, duties: map[string][]use{}, may: map[string][]use{}}
	w.sw.check = w.check
	w.round.RoundNum = 4
	w.restart()
	return w
}

// restart starts an agent that knows no policy and no Service.
func (w *serviceWorld) restart() {
	w.round.RoundNum++
	w.agent = restartWith(w.t, w.sw, w.round, tierFeatures)
	require.NoError(w.t, w.agent.pipeline.KeepGroups(w.file))
	w.agent.unsynced.Insert(NetworkPolicies)
	w.known = false
	for i := range worldServices {
		_, exists := w.services[i]
		w.behind[i] = exists
	}
	if w.round.PrevRoundNum == nil {
		w.round.PrevRoundNum = ptr(w.round.RoundNum)
	}
}

// complete ends the round if everything is installed.
func (w *serviceWorld) complete() {
	if w.known && isClosed(w.agent.Synced()) && !slices.Contains(slices.Collect(maps.Values(w.behind)), true) {
		require.NoError(w.t, w.agent.pipeline.DeleteStaleFlows())
		w.round.PrevRoundNum = ptr(w.round.RoundNum)
	}
}

func (w *serviceWorld) changeService(i int) {
	p := openflow.ServicePort{
		Name: fmt.Sprintf("ns/s%d:80/TCP", i), Protocol: corev1.ProtocolTCP, Frontends: []openflow.Frontend{{Address: netip.MustParseAddrPort(fmt.Sprintf("10.96.0.%d:80", i+1))}},
		Cluster: []openflow.Endpoint{{Address: netip.MustParseAddrPort(fmt.Sprintf("10.0.1.%d:8080", 1+w.rng.IntN(9))), PodNetwork: true}},
	}
	if local := w.rng.IntN(3); local > 0 {
		p.Frontends = append(p.Frontends, openflow.Frontend{Address: netip.AddrPortFrom(netip.IPv4Unspecified(), uint16(30001+i)), NodePort: true, Local: local > 1})
	}
	w.services[i], w.behind[i] = p, true
}

// install does what package proxy does with a Service.
func (w *serviceWorld) install(i int) {
	if !w.behind[i] {
		return
	}
	var err error
	if p, exists := w.services[i]; exists {
		err = w.agent.pipeline.InstallService(p)
	} else {
		err = w.agent.pipeline.UninstallService(fmt.Sprintf("ns/s%d:80/TCP", i))
	}
	if !errors.Is(err, openflow.ErrPoliciesBehind) {
		require.NoError(w.t, err)
		w.behind[i] = false
	}
}

// changePolicy gives a policy other Services; none deletes it.
func (w *serviceWorld) changePolicy(name string) {
	var uses []use
	for i := range worldServices {
		for _, target := range []bool{false, true} {
			if w.rng.IntN(3) == 0 {
				uses = append(uses, use{i, target})
			}
		}
	}
	w.policies[name] = uses
	w.duties[name] = slices.DeleteFunc(w.duties[name], func(u use) bool { return !slices.Contains(uses, u) })
	w.may[name] = append(w.may[name], uses...)
	if w.known {
		w.tell(name)
	}
}

func (w *serviceWorld) tell(name string) {
	if len(w.policies[name]) == 0 {
		w.agent.delete(tierPolicy(name, 50, 1, "Drop", "a"))
		return
	}
	var peer v1beta2.NetworkPolicyPeer
	targets := appliedToGroup("targets-" + name)
	for _, u := range w.policies[name] {
		ref := v1beta2.ServiceReference{Namespace: "ns", Name: fmt.Sprint("s", u.service)}
		if u.target {
			targets.GroupMembers = append(targets.GroupMembers, v1beta2.GroupMember{Service: &ref})
		} else {
			peer.ToServices = append(peer.ToServices, ref)
		}
	}
	var rules []v1beta2.NetworkPolicyRule
	if len(peer.ToServices) > 0 {
		rules = append(rules, out(peer))
	}
	if len(targets.GroupMembers) > 0 {
		rule := in(everywhere())
		rule.AppliedToGroups = []string{targets.Name}
		rules = append(rules, rule)
	}
	w.agent.set(targets, tierPolicy(name, 50, 1, "Drop", "a", rules...))
}

// learn makes the agent know the policies.
func (w *serviceWorld) learn() {
	if w.known {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(w.policies)) {
		w.tell(name)
	}
	w.agent.unsynced.Clear()
	w.known = true
}

func (w *serviceWorld) realize() {
	require.NoError(w.t, w.agent.realize())
	if w.known {
		for name, uses := range w.policies {
			w.duties[name], w.may[name] = slices.Clone(uses), slices.Clone(uses)
		}
	}
}

// check compares the groups that flows of Services lead to with the groups that rules match.
func (w *serviceWorld) check() {
	flows := w.sw.Flows()
	matched := map[bool]map[uint32]bool{false: {}, true: {}}
	for i := range flows {
		text := flows[i].String()
		if _, after, found := strings.Cut(text, "reg7="); found && strings.Contains(text, "conjunction(") {
			var group uint32
			_, err := fmt.Sscanf(after, "0x%x", &group)
			require.NoError(w.t, err, text)
			matched[strings.Contains(text, "reg4=")][group] = true
		}
	}
	named := func(all map[string][]use, u use) bool {
		for _, uses := range all {
			if slices.Contains(uses, u) {
				return true
			}
		}
		return false
	}
	for i := range flows {
		text := flows[i].String()
		for _, group := range of.GroupsOf(flows[i].Actions) {
			for s := range worldServices {
				address, nodePort := fmt.Sprintf("nw_dst=10.96.0.%d,", s+1), fmt.Sprintf("tp_dst=%d ", 30001+s)
				if !strings.Contains(text, address) && !strings.Contains(text, nodePort) {
					continue
				}
				for _, u := range []use{{s, false}, {s, true}} {
					require.False(w.t, named(w.duties, u) && !matched[u.target][group], "no rule matches %+v, denied by %v:\n%s", u, w.duties, text)
					require.False(w.t, !named(w.may, u) && matched[u.target][group], "a rule matches %+v, which none names: %v:\n%s", u, w.may, text)
				}
			}
		}
	}
}

func (w *serviceWorld) step() {
	i, policy := w.rng.IntN(worldServices), fmt.Sprint("p", w.rng.IntN(3))
	switch w.rng.IntN(14) {
	case 0, 1:
		w.changeService(i)
	case 2:
		delete(w.services, i)
		w.behind[i] = true
	case 3, 4, 5, 6:
		w.install(i)
	case 7:
		w.changePolicy(policy)
	case 8, 9, 10:
		w.realize()
	case 11:
		w.learn()
	case 12:
		w.complete()
	default:
		w.restart()
	}
}

// In whatever order Services, policies that name them and agents come, change and go: at any moment each connection to a Service that a rule
// denies meets a flow of the rule, from the moment that the rule is realized, and no rule matches connections to Services that it does not name.
func TestServicesNeverEscapeTheirPolicies(t *testing.T) {
	first := rand.Uint64()
	for n := range uint64(40) {
		t.Run(fmt.Sprint("seed ", first+n), func(t *testing.T) {
			w := newServiceWorld(t, first+n)
			for range 60 {
				w.step()
			}
			w.learn()
			for range 3 {
				w.realize()
				for i := range worldServices {
					w.install(i)
				}
			}
			for i := range worldServices {
				require.False(t, w.behind[i], "the Service s%d is never installed", i)
			}
			w.complete()
			w.realize()
			w.check()
		})
	}
}
