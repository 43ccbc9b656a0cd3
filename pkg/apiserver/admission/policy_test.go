// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
)

const pods = "appliedTo: [{podSelector: {}}]"

// TestPolicies has a row for each condition. A row without a kind holds for both kinds of policies.
func TestPolicies(t *testing.T) {
	webhooks := start(t, Config{Enabled: true}, existing(t)...)
	l7 := start(t, Config{Enabled: true, L7: true}, existing(t)...)
	const in, out = pods + ", ingress: [{action: Allow, name: a, ", pods + ", egress: [{action: Allow, name: a, "
	for _, test := range []struct{ kind, spec, want string }{
		{"", pods, ""},
		// 1 and 2: tiers.
		{"", pods + ", tier: no-exist", "tier no-exist does not exist"},
		{"", pods + ", tier: Platform", ""},
		{"", pods + ", tier: platform", "tier platform does not exist"},
		{"", pods + ", tier: used", ""},
		{"", pods + ", tier: baseline, ingress: [{action: Pass}]", "`Pass` action should not be set for Baseline Tier"},
		{"", pods + ", tier: Baseline, egress: [{action: Pass}]", "`Pass` action should not be set for Baseline Tier"},
		{"", pods + ", tier: used, egress: [{action: Pass}]", ""},
		{"", pods + ", egress: [{}]", "each rule needs an action"},
		// 3: names.
		{"", pods + ", ingress: [{action: Drop, name: a}], egress: [{action: Drop, name: a}]", "rules names must be unique"},
		{"", pods + ", ingress: [{action: Drop}, {action: Drop}]", "rules names must be unique"},
		{"", pods + ", ingress: [{action: Drop}, {action: Allow}], egress: [{action: Drop}]", ""},
		// 4 to 6: where appliedTo is.
		{"", in + pods + "}]", "should not be set in both spec and rules"},
		{"", "ingress: []", "needs to be set in either spec or rules"},
		{"", "ingress: [{action: Drop, name: a}]", "needs to be set in either spec or rules"},
		{"", "ingress: [{action: Drop, name: a}, {action: Drop, name: b, " + pods + "}]", "either be set in all rules or in none"},
		{"", "ingress: [{action: Drop, name: a, " + pods + "}], egress: [{action: Drop, name: b, " + pods + "}]", ""},
		// 7: fields that are alone.
		{"", "appliedTo: [{group: g, podSelector: {}}]", "group cannot be set with other peers in appliedTo"},
		{"acnp", "appliedTo: [{nodeSelector: {}, podSelector: {}}]", "nodeSelector cannot be set with other peers in appliedTo"},
		{"acnp", "appliedTo: [{serviceAccount: {name: a, namespace: b}, namespaceSelector: {}}]", "serviceAccount cannot be set with other peers in appliedTo"},
		{"acnp", "appliedTo: [{service: {name: a, namespace: b}, podSelector: {}}]", "service cannot be set with other peers in appliedTo"},
		{"", "appliedTo: [{group: g}, {podSelector: {}}]", ""},
		// 8 and 9: Services.
		{"acnp", "egress: [{action: Drop, name: a, appliedTo: [{service: {name: a, namespace: b}}]}]", "egress rule cannot be applied to Services"},
		{"acnp", "appliedTo: [{service: {name: a, namespace: b}}], egress: [{action: Drop, name: a}]", "egress rule cannot be applied to Services"},
		{"acnp", "appliedTo: [{service: {name: a, namespace: b}}, {podSelector: {}}]", "cannot be applied to Services and other peers at the same time"},
		{"acnp", "appliedTo: [{service: {name: a, namespace: b}}], ingress: [{action: Drop, name: a}]", ""},
		// 10: selectors.
		{"", "appliedTo: [{podSelector: {matchLabels: {'a b': c}}}]", "Invalid label key: a b"},
		{"", in + "from: [{podSelector: {matchLabels: {a: 'b c'}}}]}]", "Invalid label value: b c"},
		{"", out + "to: [{nodeSelector: {matchLabels: {a: 'b c'}}}]}]", "Invalid label value: b c"},
		{"", out + "to: [{namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}]}]", "Invalid label selector"},
		// 11 and 12: namespaces.
		{"acnp", in + "from: [{namespaces: {match: Self}, namespaceSelector: {}}]}]", "namespaces and namespaceSelector cannot be set at the same time"},
		{"acnp", in + "from: [{namespaces: {match: Self, sameLabels: [a]}}]}]", "only one matching criteria"},
		{"acnp", in + "from: [{namespaces: {}}]}]", "only one matching criteria"},
		{"acnp", in + "from: [{namespaces: {sameLabels: ['a b']}}]}]", "Invalid label key in sameLabels rule"},
		{"acnp", in + "from: [{namespaces: {sameLabels: [a]}, podSelector: {}}]}]", ""},
		// 13: CIDRs.
		{"", in + "from: [{ipBlock: {}}]}]", "field 'cidr' is required"},
		{"", in + "from: [{ipBlock: {cidr: 10.0.0.1}}]}]", "invalid CIDR 10.0.0.1"},
		{"", in + "from: [{ipBlock: {cidr: 10.0.0.0/8, except: [x]}}]}]", "invalid except CIDR x"},
		{"", in + "from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}]}]", "except CIDR 10.0.0.0/8 is not a strict subset of CIDR 10.0.0.0/8"},
		{"", in + "from: [{ipBlock: {cidr: 10.0.0.0/8, except: [11.0.0.0/9]}}]}]", "except CIDR 11.0.0.0/9 is not a strict subset of CIDR 10.0.0.0/8"},
		{"", in + "from: [{ipBlock: {cidr: 10.0.0.0/8, except: ['fd00::/64']}}]}]", "is not a strict subset"},
		{"", in + "from: [{ipBlock: {cidr: 10.2.3.4/8, except: [10.0.0.0/9]}}]}]", ""},
		// 14: peers that are alone.
		{"", in + "from: [{group: g, podSelector: {}}]}]", "group cannot be set with other peers in rules"},
		{"", in + "from: [{group: g, scope: Cluster}]}]", "group cannot be set with other peers in rules"},
		{"acnp", in + "from: [{serviceAccount: {name: a, namespace: b}, podSelector: {}}]}]", "serviceAccount cannot be set with other peers in rules"},
		{"", in + "from: [{nodeSelector: {}, podSelector: {}}]}]", "nodeSelector cannot be set with other peers in rules"},
		{"", out + "to: [{ipBlock: {cidr: 10.0.0.0/8}, podSelector: {}}]}]", "ipBlock cannot be set with other peers in rules"},
		{"", out + "to: [{fqdn: a.b, podSelector: {}}]}]", "fqdn cannot be set with other peers in rules"},
		{"", in + "from: [{scope: ClusterSet, podSelector: {}}]}]", ""},
		// 15: toServices.
		{"", out + "toServices: [{name: a, namespace: b}], ports: [{port: 80}]}]", "`toServices` cannot be used with"},
		{"", out + "toServices: [{name: a, namespace: b}], to: [{podSelector: {}}]}]", "`toServices` cannot be used with"},
		{"", out + "toServices: [{name: a, namespace: b}], protocols: [{icmp: {}}]}]", "`toServices` cannot be used with"},
		{"", out + "toServices: [{name: a, namespace: b}]}]", ""},
		{"annp", out + "toServices: [{name: a}]}]", ""},
		{"acnp", out + "toServices: [{name: a}]}]", "needs the name and the namespace"},
		{"", in + "toServices: [{name: a, namespace: b}]}]", "toServices cannot be set in an ingress rule"},
		// 16: clients of Services.
		{"acnp", "appliedTo: [{service: {name: a, namespace: b}}], ingress: [{action: Drop, name: a, from: [{podSelector: {}}]}]", "can only use ipBlock to select workloads"},
		{"acnp", "ingress: [{action: Drop, name: a, appliedTo: [{service: {name: a, namespace: b}}], from: [{group: g}]}]", "can only use ipBlock to select workloads"},
		{"acnp", "ingress: [{action: Drop, name: a, appliedTo: [{service: {name: a, namespace: b}}], from: [{ipBlock: {cidr: 10.0.0.0/8}}]}]", ""},
		// 17: names.
		{"", out + "to: [{fqdn: 'a_b.c'}]}]", "invalid characters in egress rule fqdn field"},
		{"", out + "to: [{fqdn: '*.A-b.c'}]}]", ""},
		// 18: multicast.
		{"", pods + ", egress: [{action: Reject, name: a, to: [{ipBlock: {cidr: 224.0.0.0/8}}]}]", "multicast does not support action Pass or Reject"},
		{"", out + "to: [{ipBlock: {cidr: 224.0.0.0/8}}, {ipBlock: {cidr: 10.0.0.0/8}}]}]", "can not set multicast groupAddress and unicast ip"},
		{"", out + "to: [{ipBlock: {cidr: 224.0.0.0/8}, podSelector: {}}]}]", "can not set multicast groupAddress and selectors"},
		{"", out + "to: [{ipBlock: {cidr: 224.0.0.0/8}}]}]", ""},
		// 19: IGMP; defect 6 of Antrea: rules are judged one by one.
		{"", in + "protocols: [{igmp: {groupAddress: 10.0.0.1}}]}]", "protocol IGMP has groupAddress 10.0.0.1"},
		{"", pods + ", ingress: [{action: Pass, name: a, protocols: [{igmp: {}}]}]", "protocol IGMP does not support Pass or Reject"},
		{"", in + "protocols: [{igmp: {}}, {icmp: {}}]}]", "protocol IGMP can not be used with"},
		{"", in + "protocols: [{igmp: {}}], ports: [{port: 80}]}]", "protocol IGMP can not be used with"},
		{"", in + "protocols: [{igmp: {igmpType: 18}}]}]", "protocol IGMP has igmpType 18"},
		{"", out + "protocols: [{igmp: {igmpType: 17}}]}]", "protocol IGMP has igmpType 17"},
		{"", in + "protocols: [{igmp: {}}]}, {action: Allow, name: b, protocols: [{icmp: {icmpType: 8}}]}]", ""},
		{"", in + "protocols: [{icmp: {icmpType: 300}}]}]", "icmpType and icmpCode are 0 to 255"},
		{"", in + "protocols: [{}]}]", "exactly one of icmp and igmp"},
		// 20: layer 7.
		{"", in + "l7Protocols: [{http: {}}]}]", "layer 7 protocols can only be used when"},
		{"l7", pods + ", ingress: [{action: Drop, name: a, l7Protocols: [{http: {}}]}]", "layer 7 protocols only support Allow"},
		{"l7", out + "toServices: [{name: a, namespace: b}], l7Protocols: [{http: {}}]}]", "layer 7 protocols can not be used with toServices"},
		{"l7", out + "ports: [{protocol: UDP}], l7Protocols: [{http: {}}]}]", "HTTP protocol can only be used when"},
		{"l7", out + "protocols: [{icmp: {}}], l7Protocols: [{http: {}}]}]", "HTTP protocol can not be used with"},
		{"l7", out + "ports: [{port: 80}], l7Protocols: [{http: {host: a}}, {tls: {sni: b}}]}]", ""},
		// 21: ports.
		{"", in + "ports: [{endPort: 80}]}]", "if `endPort` is specified `port` must be specified"},
		{"", in + "ports: [{port: http, endPort: 80}]}]", "if `port` is a string `endPort` cannot be specified"},
		{"", in + "ports: [{port: 81, endPort: 80}]}]", "`endPort` should be greater than or equal to `port`"},
		{"", in + "ports: [{sourceEndPort: 80}]}]", "if `sourceEndPort` is specified `sourcePort` must be specified"},
		{"", in + "ports: [{sourcePort: 81, sourceEndPort: 80}]}]", "`sourceEndPort` should be greater than or equal to `sourcePort`"},
		{"", in + "ports: [{port: 0, endPort: 65535, sourcePort: 1, sourceEndPort: 1}, {port: http}, {protocol: SCTP}]}]", ""},
		{"", in + "ports: [{port: 65536}]}]", "ports are 0 to 65535, not 65536"},
		{"", in + "ports: [{sourcePort: -1}]}]", "ports are 0 to 65535, not -1"},
		{"", in + "ports: [{port: ''}]}]", "`port` cannot be an empty name"},
		// Defect 7 of Antrea: a field that the kind does not have, or that is unknown, is not left out.
		{"annp", "appliedTo: [{serviceAccount: {name: a, namespace: b}}]", "serviceAccount cannot be set in appliedTo of a NetworkPolicy"},
		{"annp", "appliedTo: [{namespaceSelector: {}}]", "namespaceSelector cannot be set in appliedTo of a NetworkPolicy"},
		{"annp", in + "from: [{namespaces: {match: Self}}]}]", "namespaces cannot be set in a peer of an ingress rule of a NetworkPolicy"},
		{"annp", in + "from: [{externalEntitySelector: {}, namespaceSelector: {}}]}]", ""},
		{"acnp", in + "from: [{externalEntitySelector: {}}]}]", "externalEntitySelector cannot be set in a peer of an ingress rule of a ClusterNetworkPolicy"},
		{"", in + "from: [{fqdn: a.b}]}]", "fqdn cannot be set in a peer of an ingress rule"},
		{"", out + "to: [{scope: ClusterSet}]}]", "scope cannot be set in a peer of an egress rule"},
		{"", in + "to: [{podSelector: {}}]}]", "to cannot be set in an ingress rule"},
		{"", out + "from: [{podSelector: {}}]}]", "from cannot be set in an egress rule"},
		{"acnp", "ingress: [{action: Drop, name: a, appliedTo: [{nodeSelector: {}}]}]", "nodeSelector cannot be set in appliedTo of an ingress rule of a ClusterNetworkPolicy"},
		{"", in + "from: [{podSelecter: {}}]}]", `unknown field "spec.ingress[0].from[0].podSelecter"`},
		{"", in + "form: [{podSelector: {}}]}]", `unknown field "spec.ingress[0].form"`},
	} {
		for kind, object := range map[string]func(spec string) string{
			"acnp": func(spec string) string { return refusal(t, webhooks, "ClusterNetworkPolicy", "", spec) },
			"annp": func(spec string) string { return refusal(t, webhooks, "NetworkPolicy", "ns", spec) },
			"l7":   func(spec string) string { return refusal(t, l7, "NetworkPolicy", "ns", spec) },
		} {
			if test.kind == kind || test.kind == "" && kind != "l7" {
				t.Run(kind+" "+test.spec, func(t *testing.T) { requireRefusal(t, test.want, object("{priority: 5, "+test.spec+"}")) })
			}
		}
	}
}

// refusal is the same for a new policy and for an update.
func refusal(t *testing.T, webhooks webhook.Webhooks, kind, namespace, spec string) string {
	t.Helper()
	wanted := object(t, kind, namespace, "x", spec)
	created := validate(t, webhooks, wanted, nil)
	require.Equal(t, created, validate(t, webhooks, wanted, object(t, kind, namespace, "x", "{priority: 1}")))
	require.Empty(t, validate(t, webhooks, wanted, wanted.DeepCopy()), "metadata can be changed")
	require.Empty(t, validate(t, webhooks, nil, wanted), "a deletion is never refused")
	return created
}

// TestWarning: the kernel's log has little room.
func TestWarning(t *testing.T) {
	webhooks := start(t, Config{Enabled: true}, existing(t)...)
	spec := "{priority: 5, appliedTo: [{nodeSelector: {}}], ingress: [{action: Drop, name: a, enableLogging: true, logLabel: thirteen-long}]}"
	answer, err := webhooks["/validate/acnp"](request(t, object(t, "ClusterNetworkPolicy", "", "x", spec), nil))
	require.NoError(t, err)
	require.Empty(t, answer.Refusal)
	require.Len(t, answer.Warnings, 1)
	require.Contains(t, answer.Warnings[0], "truncated in kernel logs")
}

// TestDefaults: tier and names are filled in, and only where they are missing; the name of a rule depends on its content alone.
func TestDefaults(t *testing.T) {
	webhooks := Webhooks(Config{})
	patch := func(spec string) []webhook.Operation {
		answer, err := webhooks["/mutate/annp"](request(t, object(t, "NetworkPolicy", "ns", "x", spec), nil))
		require.NoError(t, err)
		require.Empty(t, answer.Refusal)
		return answer.Patch
	}
	tier := webhook.Operation{Op: "add", Path: "/spec/tier", Value: "application"}
	require.Equal(t, []webhook.Operation{tier}, patch("{priority: 5}"))
	require.Equal(t, []webhook.Operation{tier}, patch("{tier: ''}"))
	require.Empty(t, patch("{tier: x, ingress: [{action: Drop, name: a}]}"))
	for _, invalid := range []string{"null", "x", "{tier: x, ingress: [{}]}", "{ingress: x}"} {
		require.Empty(t, patch(invalid), "the schema refuses it")
	}
	named := patch("{tier: x, ingress: [{action: Drop, name: a}, {action: Allow, ports: [{port: 80}]}], egress: [{action: Reject}]}")
	require.Len(t, named, 2)
	require.Equal(t, "/spec/ingress/1/name", named[0].Path)
	require.Regexp(t, "^ingress-allow-[0-9a-f]{7}$", named[0].Value)
	require.Regexp(t, "^egress-reject-[0-9a-f]{7}$", named[1].Value)
	require.Equal(t, named[0].Value, patch("{tier: x, ingress: [{ports: [{port: 80}], action: Allow}]}")[0].Value)
	require.NotEqual(t, named[0].Value, patch("{tier: x, ingress: [{ports: [{port: 81}], action: Allow}]}")[0].Value)
	same := patch("{tier: x, ingress: [{action: Drop}, {action: Drop}]}")
	require.Equal(t, same[0].Value, same[1].Value, "as in Antrea; the policy is refused")
	require.True(t, strings.HasPrefix(same[0].Value.(string), "ingress-drop-"))
}
