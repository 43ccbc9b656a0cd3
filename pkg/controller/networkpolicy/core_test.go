// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// describe is a change in words, with groups by selector: "atg {namespace=ns}: created, +node-1".
func describe(c *core, names map[string]string, ch change) string {
	kind := map[Resource]string{NetworkPolicies: "np", AddressGroups: "ag", AppliedToGroups: "atg"}[ch.object.resource()]
	for name, g := range c.groups {
		names[name] = "{" + groupText(g) + "}"
	}
	id := ch.object.id()
	if name, ok := names[id]; ok {
		id = name
	}
	var what []string
	if ch.created {
		what = append(what, "created")
	}
	if ch.deleted {
		what = append(what, "deleted")
	}
	for _, node := range ch.left {
		what = append(what, "-"+node)
	}
	for _, node := range ch.entered {
		what = append(what, "+"+node)
	}
	if ch.update != nil {
		switch patch := ch.update("").(type) {
		case *controlplane.AddressGroupPatch:
			what = append(what, fmt.Sprintf("added=%v removed=%v", memberTexts(patch.AddedGroupMembers), memberTexts(patch.RemovedGroupMembers)))
		case *controlplane.AppliedToGroupPatch:
			what = append(what, fmt.Sprintf("added=%v removed=%v", memberTexts(patch.AddedGroupMembers), memberTexts(patch.RemovedGroupMembers)))
		default:
			what = append(what, "updated")
		}
	}
	return kind + " " + id + ": " + strings.Join(what, ", ")
}

// world is a core with two Namespaces, Pods on two Nodes, and a policy in ns: Pods with app=web accept from role=client of
// any Namespace with team=x.
func world(t *testing.T) *core {
	c := newCore()
	c.SetNamespace(makeNamespace("ns", "team=x"))
	c.SetNamespace(makeNamespace("other", "team=y"))
	c.SetPod(makePod("ns/web", "app=web", "node-1", "10.0.1.1"))
	c.SetPod(makePod("ns/client", "role=client", "node-2", "10.0.2.1"))
	_, err := c.SetNetworkPolicy(makePolicy(t, "ns/p", webFromClients))
	require.NoError(t, err)
	return c
}

const webFromClients = `
podSelector: {matchLabels: {app: web}}
ingress: [{from: [{namespaceSelector: {matchLabels: {team: x}}, podSelector: {matchLabels: {role: client}}}]}]
`

func TestChanges(t *testing.T) {
	const (
		web     = "atg {namespace=ns;podSelector=app=web}: "
		clients = "ag {namespaceSelector=team=x;podSelector=role=client}: "
		policy  = "np uid-p: "
	)
	with := func(pod *corev1.Pod, change func(*corev1.Pod)) *corev1.Pod {
		change(pod)
		return pod
	}
	setPolicy := func(name, spec string) func(*testing.T, *core) []change {
		return func(t *testing.T, c *core) []change {
			changes, err := c.SetNetworkPolicy(makePolicy(t, name, spec))
			require.NoError(t, err)
			return changes
		}
	}
	setPod := func(pod *corev1.Pod) func(*testing.T, *core) []change {
		return func(_ *testing.T, c *core) []change { return c.SetPod(pod) }
	}
	for _, tc := range []struct {
		name  string
		event func(*testing.T, *core) []change
		want  []string
	}{
		{"nothing new", setPod(makePod("ns/web", "app=web", "node-1", "10.0.1.1")), nil},
		{"a Pod that no selector selects", setPod(makePod("ns/x", "app=x", "node-3", "10.0.3.1")), nil},
		{
			"a peer more", setPod(makePod("ns/client2", "role=client", "node-2", "10.0.2.2", "fd00::2")),
			[]string{clients + "added=[ns/client2 10.0.2.2,fd00::2] removed=[]"},
		},
		{"a peer without address", setPod(makePod("ns/client2", "role=client", "node-2")), nil},
		{
			"a peer changes its address", setPod(makePod("ns/client", "role=client", "node-2", "10.0.2.9")),
			[]string{clients + "added=[ns/client 10.0.2.9] removed=[ns/client 10.0.2.1]"},
		},
		{
			"a peer changes its labels", setPod(makePod("ns/client", "role=former", "node-2", "10.0.2.1")),
			[]string{clients + "added=[] removed=[ns/client 10.0.2.1]"},
		},
		{"a peer's labels change in what is not selected", setPod(makePod("ns/client", "role=client,x=y", "node-2", "10.0.2.1")), nil},
		{
			"a peer becomes a member too", setPod(makePod("ns/client", "role=client,app=web", "node-2", "10.0.2.1")),
			[]string{clients + "+node-2", web + "+node-2, added=[ns/client] removed=[]", policy + "+node-2"},
		},
		{
			"a peer ends", setPod(with(makePod("ns/client", "role=client", "node-2", "10.0.2.1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })),
			[]string{clients + "added=[] removed=[ns/client 10.0.2.1]"},
		},
		{"a peer in the Node's network", setPod(with(makePod("ns/h", "role=client", "node-2", "192.168.0.2"), func(p *corev1.Pod) { p.Spec.HostNetwork = true })), nil},
		{
			"a peer with named ports", setPod(with(makePod("ns/client2", "role=client", "node-2", "10.0.2.2"), func(p *corev1.Pod) {
				always := corev1.ContainerRestartPolicyAlways
				p.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "http", ContainerPort: 80}, {ContainerPort: 81}, {Name: "dns", ContainerPort: 53, Protocol: corev1.ProtocolUDP}}
				p.Spec.InitContainers = []corev1.Container{
					{Name: "once", Ports: []corev1.ContainerPort{{Name: "gone", ContainerPort: 1}}},
					{Name: "sidecar", RestartPolicy: &always, Ports: []corev1.ContainerPort{{Name: "metrics", ContainerPort: 9090}}},
				}
			})),
			[]string{clients + "added=[ns/client2 10.0.2.2 http:80/TCP dns:53/UDP metrics:9090/TCP] removed=[]"},
		},
		{
			"a peer is deleted", func(_ *testing.T, c *core) []change {
				return c.DeletePod(types.NamespacedName{Namespace: "ns", Name: "client"})
			},
			[]string{clients + "added=[] removed=[ns/client 10.0.2.1]"},
		},
		{
			"a member on another Node", setPod(makePod("ns/web2", "app=web", "node-2")),
			[]string{clients + "+node-2", web + "+node-2, added=[ns/web2] removed=[]", policy + "+node-2"},
		},
		{
			"a member on the same Node", setPod(makePod("ns/web2", "app=web", "node-1")),
			[]string{web + "added=[ns/web2] removed=[]"},
		},
		{"a member that is not scheduled", setPod(makePod("ns/web2", "app=web", "")), nil},
		{"a member in the Node's network", setPod(with(makePod("ns/web2", "app=web", "node-2"), func(p *corev1.Pod) { p.Spec.HostNetwork = true })), nil},
		{
			"the last member is deleted", func(_ *testing.T, c *core) []change {
				return c.DeletePod(types.NamespacedName{Namespace: "ns", Name: "web"})
			},
			[]string{clients + "-node-1", web + "-node-1, added=[] removed=[ns/web]", policy + "-node-1"},
		},
		{
			"the last member fails", setPod(with(makePod("ns/web", "app=web", "node-1", "10.0.1.1"), func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })),
			[]string{clients + "-node-1", web + "-node-1, added=[] removed=[ns/web]", policy + "-node-1"},
		},
		{
			"a Namespace ceases to be selected", func(_ *testing.T, c *core) []change { return c.SetNamespace(makeNamespace("ns", "team=z")) },
			[]string{clients + "added=[] removed=[ns/client 10.0.2.1]"},
		},
		{
			"a Namespace becomes selected", func(_ *testing.T, c *core) []change {
				require.Empty(t, c.SetPod(makePod("other/c", "role=client", "node-3", "10.0.3.3")))
				return c.SetNamespace(makeNamespace("other", "team=x"))
			},
			[]string{clients + "added=[other/c 10.0.3.3] removed=[]"},
		},
		{
			"a Pod before its Namespace", func(_ *testing.T, c *core) []change {
				require.Empty(t, c.SetPod(makePod("new/c", "role=client", "node-3", "10.0.3.3")))
				return c.SetNamespace(makeNamespace("new", "team=x"))
			},
			[]string{clients + "added=[new/c 10.0.3.3] removed=[]"},
		},
		{
			"logging", func(_ *testing.T, c *core) []change {
				ns := makeNamespace("ns", "team=x")
				ns.Annotations = map[string]string{loggingAnnotation: "true"}
				return c.SetNamespace(ns)
			},
			[]string{policy + "updated"},
		},
		{"the same policy again", setPolicy("ns/p", webFromClients), nil},
		{
			"a policy's ports change", setPolicy("ns/p", webFromClients+"\npolicyTypes: [Ingress, Egress]"),
			[]string{policy + "updated"},
		},
		{
			"a policy's peers change", setPolicy("ns/p", "{podSelector: {matchLabels: {app: web}}, ingress: [{from: [{podSelector: {}}]}]}"),
			[]string{"ag {namespace=ns}: created, +node-1", clients + "deleted, -node-1", policy + "updated"},
		},
		{
			"a policy's Pods change", setPolicy("ns/p", strings.Replace(webFromClients, "app: web", "role: client", 1)),
			[]string{
				clients + "-node-1, +node-2", web + "deleted, -node-1",
				"atg {namespace=ns;podSelector=role=client}: created, +node-2", policy + "-node-1, +node-2, updated",
			},
		},
		{
			"a second policy with the same groups", setPolicy("ns/q", webFromClients),
			[]string{"np uid-q: created, +node-1"},
		},
		{
			"a policy is deleted", func(_ *testing.T, c *core) []change {
				return c.DeleteNetworkPolicy(types.NamespacedName{Namespace: "ns", Name: "p"})
			},
			[]string{clients + "deleted, -node-1", web + "deleted, -node-1", policy + "deleted, -node-1"},
		},
		{
			"a policy is deleted and made again", func(_ *testing.T, c *core) []change {
				again := makePolicy(t, "ns/p", webFromClients)
				again.UID = "uid-again"
				changes, err := c.SetNetworkPolicy(again)
				require.NoError(t, err)
				return changes
			},
			[]string{"np uid-again: created, +node-1", policy + "deleted, -node-1"},
		},
		{"a policy in a Namespace that is not known yet", setPolicy("later/l", "podSelector: {}"),
			[]string{"atg {namespace=later}: created", "np uid-l: created"}},
		{"what does not exist is deleted", func(_ *testing.T, c *core) []change {
			return append(append(c.DeletePod(types.NamespacedName{Namespace: "a", Name: "b"}), c.DeleteNamespace("a")...),
				c.DeleteNetworkPolicy(types.NamespacedName{Namespace: "a", Name: "b"})...)
		}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := world(t)
			names := map[string]string{}
			for name, g := range c.groups {
				names[name] = "{" + groupText(g) + "}"
			}
			var got []string
			for _, ch := range tc.event(t, c) {
				got = append(got, describe(c, names, ch))
			}
			require.ElementsMatch(t, tc.want, got, cmp.Diff(tc.want, got))
		})
	}
}

// Everything is removed with its last user; nothing is kept forever.
func TestNothingIsLeft(t *testing.T) {
	c := world(t)
	c.DeleteNetworkPolicy(types.NamespacedName{Namespace: "ns", Name: "p"})
	require.Empty(t, c.policies)
	require.Empty(t, c.groups)
	require.Empty(t, c.namespaceSelectors)
	c.DeletePod(types.NamespacedName{Namespace: "ns", Name: "web"})
	c.DeletePod(types.NamespacedName{Namespace: "ns", Name: "client"})
	require.Empty(t, c.pods)
	require.Empty(t, c.onNode)
	c.DeleteNamespace("ns")
	c.DeleteNamespace("other")
	require.Empty(t, c.namespaces)
}

// Two policies with one UID, which no API server makes, are both in force, and each can go without the other.
func TestPoliciesWithOneUID(t *testing.T) {
	for _, first := range []string{"p", "q"} {
		c := world(t)
		twin := makePolicy(t, "ns/q", `{podSelector: {matchLabels: {app: web}}, ingress: []}`)
		twin.UID = "uid-p"
		changes, err := c.SetNetworkPolicy(twin)
		require.NoError(t, err)
		require.NotEmpty(t, changes)
		require.Len(t, c.policies, 2)
		require.Equal(t, "uid-p", c.namespaces["ns"].policies["p"].id())
		require.NotEqual(t, "uid-p", c.namespaces["ns"].policies["q"].id())

		c.DeleteNetworkPolicy(types.NamespacedName{Namespace: "ns", Name: first})
		require.Len(t, c.policies, 1)
		for _, ch := range c.SetPod(makePod("ns/web2", "app=web", "node-3", "10.0.3.1")) {
			require.NotNil(t, ch.object.concerns(), "what has changed exists")
		}
		c.DeleteNetworkPolicy(types.NamespacedName{Namespace: "ns", Name: "p"})
		c.DeleteNetworkPolicy(types.NamespacedName{Namespace: "ns", Name: "q"})
		require.Empty(t, c.policies)
		require.Empty(t, c.groups)
	}
}
