// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// TestWithoutWebhook: objects that were made while the webhooks were away lack defaults, and may say what these refuse.
func TestWithoutWebhook(t *testing.T) {
	const podBText = "{namespaceSelector=;podSelector=pod=b}"
	for _, tc := range []struct {
		name, spec string
		want       []string
		err        string
	}{
		{
			name: "no defaults", spec: `{appliedTo: [{podSelector: {}}], ingress: [{action: Allow}, {action: Allow}]}`,
			want: []string{"250/0 " + allText, "In0 Allow " + anyone, "In1 Allow " + anyone},
		},
		{
			name: "no action", spec: `{appliedTo: [{podSelector: {}}], ingress: [{from: [{podSelector: {}}]}, {action: allow}]}`,
			want: []string{"250/0 " + allText, "In0 Drop " + allText, "In1 Drop " + anyone}, err: `spec.ingress[1].action: "allow"`,
		},
		{
			name: "applied to nothing", spec: `{ingress: [{action: Allow}, {action: Drop}]}`,
			want: []string{"250/0 ", "In0 Allow " + anyone, "In1 Drop " + anyone}, err: "spec.ingress[1].appliedTo: needs to be set in either spec or rules",
		},
		{
			name: "some rules with appliedTo", spec: `{ingress: [{action: Drop, appliedTo: [{podSelector: {matchLabels: {pod: b}}}]}, {action: Allow}, {action: Drop}]}`,
			want: []string{"250/0 ", "In0 Drop at " + podBText + " " + anyone}, err: "spec.ingress[2].appliedTo: needs to be set in either spec or rules, in all rules or in none",
		},
		{
			name: "appliedTo of the policy and of a rule", spec: `{appliedTo: [{podSelector: {matchLabels: {pod: a}}}], ingress: [{action: Drop, appliedTo: [{podSelector: {matchLabels: {pod: b}}}]}, {action: Allow}]}`,
			want: []string{"250/0 ", "In0 Drop at " + podAText + " " + podBText + " " + anyone, "In1 Allow at " + podAText + " " + anyone},
			err:  "must not be set in both spec and rules",
		},
		{
			name: "groups in themselves", spec: `{appliedTo: [{group: loop}, {podSelector: {}}], ingress: [{action: Allow, from: [{group: loop}]}, {action: Drop, from: [{group: round}]}]}`,
			want: []string{"250/0 ", "In1 Drop at " + allText + " " + anyone}, err: "group loop: its children have children",
		},
		{
			name: "an egress rule for a Service", spec: `{appliedTo: [{service: {name: s, namespace: x}}, {podSelector: {}}], egress: [{action: Drop}], ingress: [{action: Drop}]}`,
			want: []string{"250/0 ", "In0 Drop at " + allText + " {service x/s} " + anyone, "Out0 Drop at " + allText + " " + anyone},
			err:  "spec.egress[0]: service: egress rule cannot be applied to Services",
		},
		{
			name: "nothing but egress rules for a Service", spec: `{appliedTo: [{service: {name: s, namespace: x}}], egress: [{action: Drop}, {action: Allow}]}`,
			want: []string{"250/0 "}, err: "spec.egress[0]: service: egress rule cannot be applied to Services",
		},
		{
			name: "entries with two fields", spec: `{appliedTo: [{group: pods, podSelector: {matchLabels: {pod: b}}}], ingress: [{action: Allow, from: [{group: pods, podSelector: {}}]}, {action: Drop, from: [{group: pods, ipBlock: {cidr: 10.0.0.0/8}}]}]}`,
			want: []string{"250/0 ", "In1 Drop at " + allText + " " + anyone}, err: "spec.appliedTo[0]: must have one kind of field",
		},
		{
			name: "no blocks", spec: `{appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{ipBlock: {cidr: 10.0.0.0/33}}]}, {action: Allow, from: [{ipBlock: {cidr: 10.0.0.0/8, except: [x]}}]}]}`,
			want: []string{"250/0 " + allText, "In0 Drop " + anyone}, err: "ipBlock.cidr: invalid CIDR address: 10.0.0.0/33",
		},
		{
			name: "blocks of which nothing is left", spec: `{appliedTo: [{podSelector: {}}], ingress: [{action: Drop, from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.1.0.0/16, 10.0.0.0/7]}}]}, {action: Drop, from: [{ipBlock: {cidr: "fd00::/8", except: ["fd00::/8"]}}]},
{action: Allow, from: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}]}, {action: Drop, from: [{group: emptied}]}, {action: Drop, from: [{ipBlock: {cidr: 10.0.0.0/8, except: [12.0.0.0/8, "::/0"]}}]}]}`,
			want: []string{"250/0 " + allText, "In0 Drop " + anyone, "In1 Drop " + anyone, "In3 Drop " + anyone, "In4 Drop 10.0.0.0/8-12.0.0.0/8-::/0"},
			err:  "spec.ingress[0].from[0]: ipBlock.except[1]: 10.0.0.0/7 contains cidr 10.0.0.0/8: must be a part of it",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := antreaWorld(t)
			setGroupText(t, c, "emptied", "{ipBlocks: [{cidr: 10.0.0.0/8, except: [0.0.0.0/0]}]}")
			setGroupText(t, c, "loop", "{childGroups: [loop]}")
			setGroupText(t, c, "round", "{childGroups: [again]}")
			setGroupText(t, c, "again", "{childGroups: [round]}")
			p, err := setAntreaText(t, c, "p", tc.spec, nil)
			require.Equal(t, tc.want, antreaText(c, p))
			require.Equal(t, tc.err != "", err != nil, "%v", err)
			require.Contains(t, strings.Join(p.translation.unreadable, "; "), tc.err)
		})
	}
}

// TestTiersWithOnePriority: two API servers may admit tiers with the same priority at once. Their policies have places as if the tiers were one.
func TestTiersWithOnePriority(t *testing.T) {
	c := antreaWorld(t)
	for _, name := range []string{"one", "two"} {
		c.SetTier(&v1beta1.Tier{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1beta1.TierSpec{Priority: 77}})
	}
	of := func(name string) []string {
		p, err := setAntreaText(t, c, name, `{tier: `+name+`, priority: 5, appliedTo: [{podSelector: {}}]}`, nil)
		require.NoError(t, err)
		return antreaText(c, p)
	}
	require.Equal(t, []string{"77/5 " + allText}, of("one"))
	require.Equal(t, []string{"77/5 " + allText}, of("two"))
	c.DeleteTier("one")
	require.Equal(t, []string{"77/5 " + allText}, of("two"))
}
