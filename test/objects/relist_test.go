// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	agentpolicy "github.com/antrea-oncache/antrea/pkg/agent/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/test/policy"
)

// resources are the resources that antrea-controller reads.
var resources = []string{"namespaces", "pods", "networkpolicies"}

// cluster is a settled world of good objects.
type cluster struct {
	*World
	objects *policy.World
}

func newCluster(t *testing.T, r *Runtime, objects *policy.World) *cluster {
	w, err := NewWorld(r, 1, synctest.Wait)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	c := &cluster{World: w, objects: objects}
	for _, object := range objectsOf(objects, []byte{1, 2}) {
		w.kube.put(object)
	}
	require.NoError(t, w.start())
	for _, pod := range objects.Pods {
		require.NoError(t, w.host(pod.Node).connect(r, pod))
	}
	w.settle()
	return c
}

func (c *cluster) setAvailable(available bool, names ...string) {
	for _, name := range names {
		c.kube.setAvailable(name, available)
	}
}

// show replaces the API's objects by the objects of another world.
func (c *cluster) show(objects *policy.World) {
	for _, old := range c.objects.Policies {
		if !slices.ContainsFunc(objects.Policies, func(p *networkingv1.NetworkPolicy) bool { return p.UID == old.UID }) {
			c.kube.remove(old)
		}
	}
	for _, object := range objectsOf(objects, nil) {
		c.kube.put(object)
	}
	c.objects = objects
}

// rules returns the rules of all Nodes, sorted where order does not matter.
func (c *cluster) rules() map[string][]string {
	texts := map[string][]string{}
	for _, h := range c.hosts {
		for _, rule := range h.policies.Rules() {
			peers := slices.Clone(rule.Peers)
			slices.SortFunc(peers, func(a, b netip.Prefix) int { return strings.Compare(a.String(), b.String()) })
			texts[h.name()] = append(texts[h.name()], fmt.Sprint(rule.FlowID, rule.Direction, rule.AppliedTo, peers, rule.Services))
		}
	}
	return texts
}

// strict requires more than is guaranteed: that nothing opens while one policy replaces another whose removal was not seen.
var strict = flag.Bool("strict", false, "in TestControllerRelistsAndRestarts, also guard connections that one policy closes before the change and another one after it")

// editedWorld returns after with as many of its policies as possible as edits of policies in before: under their names,
// with their UIDs. Labels stay, because the content of a policy and its Pods arrive in streams that do not wait for
// each other.
func editedWorld(before, after *policy.World) *policy.World {
	after.Namespaces, after.Pods = before.Namespaces, before.Pods
	for i := range min(len(before.Policies)/2+1, len(before.Policies), len(after.Policies)) {
		if before.Policies[i].Namespace == after.Policies[i].Namespace {
			after.Policies[i].ObjectMeta = before.Policies[i].ObjectMeta
		}
	}
	return after
}

// closedThroughout returns probes that stay closed regardless of the order in which policies are added, deleted and edited.
func closedThroughout(rng *rand.Rand, before, after *policy.World) (closed []*policy.Probe) {
	worlds := []*policy.World{before, after}
	if !*strict {
		worlds = mixtures(before, after)
	}
	for range 3 {
		for _, p := range probesOf(rng, after) {
			for _, direction := range []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress} {
				if !slices.ContainsFunc(worlds, func(w *policy.World) bool { return w.AllowedBy(p, direction) }) {
					closed = append(closed, p)
					break
				}
			}
		}
	}
	return closed
}

// mixtures returns all worlds that may be seen during the change: each edited policy in its old or new version, each
// other policy present or not.
func mixtures(before, after *policy.World) []*policy.World {
	versions := map[types.UID][]*networkingv1.NetworkPolicy{}
	for _, p := range slices.Concat(before.Policies, after.Policies) {
		versions[p.UID] = append(versions[p.UID], p)
	}
	worlds := []*policy.World{{Namespaces: before.Namespaces, Pods: before.Pods}}
	for _, choices := range versions {
		if len(choices) == 1 {
			choices = append(choices, nil)
		}
		var longer []*policy.World
		for _, w := range worlds {
			for _, p := range choices {
				next := *w
				next.Policies = slices.Clone(w.Policies)
				if p != nil {
					next.Policies = append(next.Policies, p)
				}
				longer = append(longer, &next)
			}
		}
		worlds = longer
	}
	return worlds
}

// disturbances stop and restart the controller, its watches and the agents' watches. Each calls change once.
var disturbances = []struct {
	name    string
	disturb func(t *testing.T, c *cluster, change func())
}{
	{"another controller", func(t *testing.T, c *cluster, change func()) {
		c.plane.stop()
		change()
		c.settle()
		require.NoError(t, c.plane.start())
	}},
	{"another controller at once", func(t *testing.T, c *cluster, change func()) {
		c.plane.stop()
		change()
		require.NoError(t, c.plane.start())
	}},
	{"another controller, which cannot list for a time", func(t *testing.T, c *cluster, change func()) {
		for _, missing := range resources {
			c.setAvailable(false, missing)
			c.plane.stop()
			rules := c.rules()
			require.NoError(t, c.plane.start())
			c.settle()
			require.Equal(t, rules, c.rules(), "the agents keep what they have while %s cannot be listed", missing)
			for _, h := range c.hosts {
				require.False(t, h.policies.Connected(), "an incomplete set is not served")
			}
			c.setAvailable(true, missing)
			c.settle()
		}
		change()
	}},
	{"410 Gone", func(_ *testing.T, c *cluster, change func()) {
		c.setAvailable(false, resources...)
		c.kube.breakWatches(true)
		change()
		c.settle()
		c.setAvailable(true, resources...)
	}},
	{"410 Gone, and one resource after the other", func(_ *testing.T, c *cluster, change func()) {
		c.setAvailable(false, resources...)
		c.kube.breakWatches(true)
		change()
		for _, name := range []string{"networkpolicies", "namespaces", "pods"} {
			c.settle()
			c.setAvailable(true, name)
		}
	}},
	{"the watches of agents end", func(_ *testing.T, c *cluster, change func()) {
		c.plane.breakWatches()
		change()
	}},
	{"all of it", func(t *testing.T, c *cluster, change func()) {
		c.plane.stop()
		c.kube.breakWatches(true)
		change()
		require.NoError(t, c.plane.start())
		c.quiet()
		c.plane.breakWatches()
		c.kube.breakWatches(true)
		c.hosts[0].stop()
		c.plane.stop()
		require.NoError(t, c.hosts[0].start())
		require.NoError(t, c.plane.start())
	}},
}

// TestControllerRelistsAndRestarts stops and restarts the controller, its watches and the agents' watches, while
// objects change unseen. Afterwards each Node must have the rules of a cluster that starts with the present objects,
// and at no moment may anything be open that is closed in every order of the changes.
func TestControllerRelistsAndRestarts(t *testing.T) {
	r := newRuntime(t)
	for _, test := range disturbances {
		t.Run(test.name, func(t *testing.T) {
			for seed := range uint64(3) {
				rng := rand.New(rand.NewPCG(seed, 99))
				generator := policy.NewGenerator(rng)
				before := generator.Next()
				after := editedWorld(before, generator.Next())
				var want, have map[string][]string
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, r, before)
					release := c.guard(closedThroughout(rng, before, after))
					test.disturb(t, c, func() { c.show(after) })
					c.settle()
					release()
					require.Empty(t, c.takeIncidents())
					for _, p := range probesOf(rng, after) {
						require.Equal(t, after.Allowed(p), c.send(p) == delivered, "%s", probeText(p))
					}
					have = c.rules()
				})
				synctest.Test(t, func(t *testing.T) {
					c := newCluster(t, r, after)
					want = c.rules()
				})
				require.Equal(t, want, have)
			}
		})
	}
}

// TestNothingIsServedBeforeAllIsComputed: agents would take an incomplete set for a complete one.
func TestNothingIsServedBeforeAllIsComputed(t *testing.T) {
	for _, missing := range resources {
		t.Run(missing, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(5, 5))
				objects := policy.NewGenerator(rng).Next()
				k := newKube(rng)
				for _, object := range objectsOf(objects, nil) {
					k.put(object)
				}
				k.setAvailable(missing, false)
				p := newPlane(k)
				require.NoError(t, p.start())
				s := &source{plane: p, node: "node-1"}
				_, err := s.Watch(t.Context(), agentpolicy.NetworkPolicies)
				require.ErrorContains(t, err, "has not read all objects")
				k.setAvailable(missing, true)
				w := watchWithin(t, s, agentpolicy.NetworkPolicies)
				initial := 0
				for event := range w.ResultChan() {
					if event.Type == watch.Bookmark {
						break
					}
					initial++
				}
				require.Equal(t, policiesOn(objects, "node-1"), initial)
				w.Stop()
				p.stop()
				k.breakWatches(false)
			})
		})
	}
}

// watchWithin tries to watch until it succeeds.
func watchWithin(t *testing.T, s *source, resource agentpolicy.Resource) watch.Interface {
	for {
		w, err := s.Watch(context.Background(), resource)
		if err == nil {
			return w
		}
		require.ErrorContains(t, err, "has not read all objects")
	}
}

// policiesOn returns how many policies select a Pod of the Node.
func policiesOn(objects *policy.World, node string) (n int) {
	for _, np := range objects.Policies {
		selects := selectsLike(np)
		if slices.ContainsFunc(objects.Pods, func(p *policy.Pod) bool { return p.Node == node && selects(p) }) {
			n++
		}
	}
	return n
}
