// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
)

// damageSpec changes one place of a spec to what no version of the API has: a field with an unknown name, or a value of another type.
func damageSpec(rng *rand.Rand, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 {
			return map[string]any{"unknown": int64(1)}
		}
		field := slices.Sorted(maps.Keys(v))[rng.IntN(len(v))]
		switch what := rng.IntN(4); {
		case field == "matchLabels": // Its fields have no names of the API.
			v[field] = "none"
		case what == 0:
			v[field+"s"] = v[field]
			delete(v, field)
		case what == 1:
			v["unknown"] = int64(1)
		default:
			v[field] = damageSpec(rng, v[field])
		}
		return v
	case []any:
		if len(v) > 0 && rng.IntN(4) > 0 {
			i := rng.IntN(len(v))
			v[i] = damageSpec(rng, v[i])
			return v
		}
		return "none"
	case string:
		return []any{}
	}
	return []any{"a"}
}

// permissions returns how much the only policy of a core permits, for each direction, Pod and peer: 0 if it denies, 1 if it has no rule, 2 if it
// passes, 3 if it allows.
func permissions(c *core) map[string]int {
	found := map[string]int{}
	rules := map[string]*PodRules{}
	for name, p := range c.pods {
		rules[name.String()] = p.rules()
	}
	for name, of := range rules {
		for peer, ofPeer := range rules {
			for direction, named := range map[controlplane.Direction][]RuleOf{controlplane.DirectionIn: ofPeer.Source, controlplane.DirectionOut: ofPeer.Destination} {
				key := fmt.Sprint(direction, " ", name, " ", peer)
				found[key] = 1
				for _, rule := range of.Applied {
					names := func(other RuleOf) bool { return other.Rule == rule.Rule }
					anyPeer := len(rule.Rule.From.AddressGroups)+len(rule.Rule.To.AddressGroups) == 0 && len(rule.Rule.From.IPBlocks)+len(rule.Rule.To.IPBlocks) > 0
					if rule.Rule.Direction == direction && (anyPeer || slices.ContainsFunc(named, names)) {
						found[key] = map[controlplane.RuleAction]int{controlplane.RuleActionPass: 2, controlplane.RuleActionAllow: 3}[*rule.Rule.Action]
						break
					}
				}
			}
		}
	}
	return found
}

// randomPlainSpec is a spec whose rules name Pods, without ports.
func randomPlainSpec(rng *rand.Rand) string {
	pick := func(texts ...string) string { return texts[rng.IntN(len(texts))] }
	selector := func() string {
		return pick("{podSelector: {}}", "{podSelector: {matchLabels: {pod: a}}}", "{namespaceSelector: {matchLabels: {team: a}}}", "{group: pods}")
	}
	toRules := rng.IntN(2) == 0
	list := func(peer string) string {
		text := "["
		for range rng.IntN(3) {
			text += "{action: " + pick("Allow", "Drop", "Reject", "Pass") + ", " + peer + ": [" + selector() + "]"
			if toRules {
				text += ", appliedTo: [" + selector() + "]"
			}
			text += "}, "
		}
		return text + "]"
	}
	text := "{priority: 5"
	if !toRules {
		text += ", appliedTo: [" + selector() + "]"
	}
	if rng.IntN(3) > 0 {
		text += ", ingress: " + list("from")
	}
	if rng.IntN(3) > 0 {
		text += ", egress: " + list("to")
	}
	return text + "}"
}

// TestDamagePermitsNothing: a policy that cannot be read, and that has no former version, permits nothing that it would not permit undamaged.
func TestDamagePermitsNothing(t *testing.T) {
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 4))
		text := randomPlainSpec(rng)
		good := antreaWorld(t)
		require.NoError(t, giveText(t, (*core).SetClusterNetworkPolicy, good, "u", 1, text))
		var spec any
		require.NoError(t, yaml.Unmarshal([]byte(text), &spec))
		damaged, err := json.Marshal(damageSpec(rng, spec))
		require.NoError(t, err)
		bad := antreaWorld(t)
		require.Error(t, giveText(t, (*core).SetClusterNetworkPolicy, bad, "u", 1, string(damaged)), string(damaged))
		want := permissions(good)
		for key, got := range permissions(bad) {
			require.LessOrEqual(t, got, want[key], "seed %d, %s: %s damaged to %s", seed, key, text, damaged)
		}
	}
}
