// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// giveText gives a core an object as an informer does: with a spec of any form.
func giveText[T any](t *testing.T, set func(*core, *T, error) ([]change, error), c *core, uid types.UID, generation int64, spec string) error {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	require.NoError(t, yaml.Unmarshal([]byte("{kind: ClusterNetworkPolicy, spec: "+spec+"}"), u))
	u.SetName("p")
	u.SetUID(uid)
	u.SetGeneration(generation)
	content, doubt := read[T](u)
	_, err := set(c, content, doubt)
	return err
}

// outsideOfRules are specs that cannot be read in places that are not in rules, or that say what a rule applies to.
var outsideOfRules = []string{
	`{priority: 1, appliedTo: [{podSelector: {}}], ingres: [{action: Drop}]}`,
	`{priority: 1, appliedto: [{podSelector: {}}], ingress: [{action: Drop}]}`,
	`{priority: high, appliedTo: [{podSelector: {}}]}`,
	`{priority: 1, tier: [], appliedTo: [{podSelector: {}}]}`,
	`{priority: 1, appliedTo: all, ingress: []}`,
	`{priority: 1, appliedTo: [{podSelector: {}}], ingress: none}`,
	`{priority: 1, ingress: [{action: Allow, appliedTo: [{pods: {}}]}]}`,
	`{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Allow, from: [{podSelector: {}}]}], egresss: [{action: Drop}]}`,
	`{priority: 1, appliedTo: [{podSelector: {}}], ingress: [{action: Drop}], egress: [], later: 1}`,
	`[]`,
}

// TestEditThatCannotBeRead: the former version of a policy stays in force, whose status says so, until a version can be read, and as long as it is the
// same object. It follows what it depends on.
func TestEditThatCannotBeRead(t *testing.T) {
	const good = `{priority: 1, tier: mine, appliedTo: [{podSelector: {matchLabels: {pod: a}}}], ingress: [{action: Allow, from: [{group: pods}]}, {action: Drop}]}`
	for _, bad := range outsideOfRules {
		c := antreaWorld(t)
		set := func(uid types.UID, generation int64, spec string) error {
			return giveText(t, (*core).SetClusterNetworkPolicy, c, uid, generation, spec)
		}
		require.NoError(t, set("u", 1, good))
		p := c.antrea.policies[types.NamespacedName{Name: "p"}]
		want := antreaText(c, p)
		for generation := int64(2); generation < 4; generation++ {
			require.ErrorContains(t, set("u", generation, bad), "the former version stays in force: decoding", bad)
			require.Equal(t, want, antreaText(c, p), bad)
			require.Equal(t, generation, p.object.Generation)
			realizable := c.status(p).Conditions[0]
			require.Equal(t, "NetworkPolicyUnsupported", realizable.Reason)
			require.Contains(t, realizable.Message, "spec", bad)
		}
		setGroupText(t, c, "pods", "{podSelector: {matchLabels: {pod: b}}}")
		require.Equal(t, "In0 Allow {namespaceSelector=;podSelector=pod=b}", antreaText(c, p)[1])
		require.NoError(t, set("u", 4, good))
		require.Zero(t, c.unreadable)
		require.Error(t, set("other", 1, bad))
		require.NotContains(t, antreaText(c, c.antrea.policies[types.NamespacedName{Name: "p"}]), "In0 Allow {namespaceSelector=;podSelector=pod=b}", "the version of another object")
	}
}

// TestFirstVersionThatCannotBeRead: without a former version, as after a restart of the controller, a policy denies all that it may mean, at what it
// may apply to.
func TestFirstVersionThatCannotBeRead(t *testing.T) {
	in, out := "In0 Drop ", "Out0 Drop "
	all := " at " + allText + " "
	for i, want := range [][]string{
		{"250/1 " + allText, in + anyone, out + anyone},
		{"250/1 ", "In0 Drop" + all + anyone, "Out0 Drop" + all + anyone},
		{"250/0 " + allText, in + anyone, out + anyone},
		{"0/1 " + allText, in + anyone, out + anyone},
		{"250/1 ", "In0 Drop" + all + anyone, "Out0 Drop" + all + anyone},
		{"250/1 " + allText, in + anyone},
		{"250/1 "},
		{"250/1 " + allText, out + anyone},
		{"250/1 " + allText, in + anyone},
		{"250/0 ", "In0 Drop" + all + anyone, "Out0 Drop" + all + anyone},
	} {
		c := antreaWorld(t)
		require.Error(t, giveText(t, (*core).SetClusterNetworkPolicy, c, "u", 1, outsideOfRules[i]))
		require.Equal(t, want, antreaText(c, c.antrea.policies[types.NamespacedName{Name: "p"}]), outsideOfRules[i])
	}
}

// TestRulesThatCannotBeRead: of an edit of which all but rules can be read, these rules close, and everything else is in force.
func TestRulesThatCannotBeRead(t *testing.T) {
	c := antreaWorld(t)
	set := func(generation int64, spec string) error {
		return giveText(t, (*core).SetClusterNetworkPolicy, c, "u", generation, spec)
	}
	require.NoError(t, set(1, `{priority: 1, appliedTo: [{podSelector: {}}]}`))
	err := set(2, `{priority: 1, ingress: [{action: Drop, port: [80], from: [{podSelector: {}}], appliedTo: [{group: pods}]}, {action: Allow, from: none, appliedTo: [{podSelector: {}}]},
{action: Pass, from: [{podSelector: {}}], appliedTo: [{podSelector: {}}]}, {action: Pass, to: [], appliedTo: [{podSelector: {}}]}, {action: [], from: [{podSelector: {}}], later: 1}]}`)
	require.ErrorContains(t, err, `spec.ingress[0]: strict decoding error: unknown field "spec.ingress[0].port"; spec.ingress[1]: from: `)
	require.Equal(t, []string{
		"250/1 ", "In0 Drop at " + podAText + " " + anyone, "In2 Pass at " + allText + " " + allText, "In3 Pass at " + allText + " " + anyone, "In4 Drop at " + allText + " " + anyone,
	}, antreaText(c, c.antrea.policies[types.NamespacedName{Name: "p"}]))
}

// TestAdminEditThatCannotBeRead: the same for policies of the Kubernetes network policy API.
func TestAdminEditThatCannotBeRead(t *testing.T) {
	c := antreaWorld(t)
	for _, kind := range []controlplane.NetworkPolicyType{anp, banp, kcnp} {
		good := `{tier: Admin, priority: 1, subject: {namespaces: {}}, ingress: [{action: Deny, from: [{namespaces: {matchLabels: {team: a}}}]}]}`
		if kind != kcnp {
			good = good[:1] + good[len("{tier: Admin, "):]
		}
		if kind == banp {
			good = good[:1] + good[len("{priority: 1, "):]
		}
		p, err := setAdminText(t, c, kind, good)
		require.NoError(t, err)
		want := antreaText(c, p)
		for _, bad := range []string{`{subject: {namespaces: {}}, rules: []}`, `{subject: x}`, `{subject: {namespaces: {}}, ingress: none}`} {
			p, err = setAdminText(t, c, kind, bad)
			require.ErrorContains(t, err, "the former version stays in force: decoding", bad)
			require.Equal(t, want, antreaText(c, p), bad)
			require.Equal(t, reasonUnsupported, p.adminConditions()[0].Reason)
		}
		_, err = setAdminText(t, c, kind, good)
		require.NoError(t, err)

		// Without a former version, the missing list may be behind the unknown field.
		c := antreaWorld(t)
		p, err = setAdminText(t, c, kind, strings.Replace(good, "{", "{egresss: [], ", 1))
		require.ErrorContains(t, err, `unknown field "spec.egresss"`)
		require.Contains(t, antreaText(c, p), "Out0 Drop "+anyone)
	}
}

// TestGroupsAndTiersThatCannotBeRead: former versions stay in force. Without one, a tier is missing, and of a group anything may be a member.
func TestGroupsAndTiersThatCannotBeRead(t *testing.T) {
	const spec = `{priority: 1, tier: p, appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{group: p}]}, {action: Allow, from: [{group: up}]}]}`
	setup := func() (*core, func() []string) {
		c := antreaWorld(t)
		setGroupText(t, c, "up", "{childGroups: [p]}")
		p, _ := setAntreaText(t, c, "p", spec, nil)
		return c, func() []string { return antreaText(c, p) }
	}
	bad := []string{`{podSelector: {}, later: 1}`, `{podSelector: 5}`, `[]`}
	for _, bad := range bad {
		c, text := setup()
		require.NoError(t, giveText(t, setTier, c, "u", 1, `{priority: 60}`))
		require.NoError(t, giveText(t, setClusterGroup, c, "u", 1, `{podSelector: {matchLabels: {pod: a}}}`))
		want := text()
		require.Equal(t, []string{"60/1 " + allText, "In0 Drop " + podAText, "In1 Allow " + podAText}, want)
		require.ErrorContains(t, giveText(t, setTier, c, "u", 2, `{priority: 61, later: 1}`), "the former version stays in force")
		require.Equal(t, want, text())
		require.Zero(t, c.unreadable)
		require.Error(t, giveText(t, setClusterGroup, c, "u", 2, bad))
		require.Equal(t, want, text())
		require.Equal(t, 1, c.unreadable, "the policy that names it says so")
		require.Contains(t, c.antrea.sources["p"].condition().Message, "the former version stays in force: decoding")
		require.Contains(t, c.antrea.sources["up"].condition().Message, "childGroups: p: decoding")
		require.NoError(t, giveText(t, setClusterGroup, c, "u", 3, `{podSelector: {matchLabels: {pod: b}}}`))
		require.Equal(t, []string{"60/1 " + allText, "In0 Drop {namespaceSelector=;podSelector=pod=b}", "In1 Allow {namespaceSelector=;podSelector=pod=b}"}, text())
		require.Zero(t, c.unreadable)

		c, text = setup()
		require.Error(t, giveText(t, setTier, c, "u", 1, `{priority: 60, later: 1}`))
		require.Error(t, giveText(t, setClusterGroup, c, "u", 1, bad))
		require.Equal(t, []string{"0/1 " + allText, "In0 Drop " + anyone}, text())
		require.NoError(t, giveText(t, setTier, c, "u", 2, `{priority: 60}`))
		require.Error(t, giveText(t, setTier, c, "other", 1, `[]`))
		require.Equal(t, []string{"0/1 " + allText, "In0 Drop " + anyone}, text(), "the tier of another object")
	}
	require.Equal(t, v1beta1.GroupMembersComputed, (&groupSource{}).condition().Type)
}
