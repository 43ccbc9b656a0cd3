// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/network-policy-api/apis/v1alpha1"
	"sigs.k8s.io/network-policy-api/apis/v1alpha2"
)

func adminOf(kind string, priority int32, ingress ...AdminRule) *AdminPolicy {
	return &AdminPolicy{Kind: kind, Priority: priority, Subject: AdminPods{Namespaces: &metav1.LabelSelector{}}, Ingress: ingress}
}

// on returns a rule about all Pods.
func on(action Opinion, ports ...AdminPort) AdminRule {
	return AdminRule{Action: action, Peers: []AdminPeer{{Pods: &AdminPods{Namespaces: &metav1.LabelSelector{}}}}, Ports: ports}
}

func to(action Opinion, peer AdminPeer) *AdminPolicy {
	p := adminOf(AdminKind, 1)
	p.Egress = []AdminRule{{Action: action, Peers: []AdminPeer{peer}}}
	return p
}

func baseline(p *AdminPolicy) *AdminPolicy {
	p.Baseline = true
	return p
}

// Each row is a statement of the Kubernetes network policy API, or of Antrea's documentation about the places of its kinds.
func TestOpinionOfAdminPolicies(t *testing.T) {
	const isolateX, antrea = "k8s x {podSelector: {}, policyTypes: [Ingress]}", " {priority: 5, appliedTo: [{namespaceSelector: {}}], "
	tcp := func(first, last int32) AdminPort {
		return AdminPort{Protocol: corev1.ProtocolTCP, First: first, Last: last}
	}
	onlyY := adminOf(AdminKind, 1, on(MayDrop))
	onlyY.Subject = AdminPods{Namespaces: &metav1.LabelSelector{MatchLabels: map[string]string{"env": "q"}}, Pods: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}}
	for name, test := range map[string]struct {
		admin    []*AdminPolicy
		others   []string
		from, to string
		probe    Probe
		want     Opinion
	}{
		"Deny":                                                    {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayDrop))}, to: "x/a", want: MayDrop},
		"other Namespaces are not selected":                       {admin: []*AdminPolicy{onlyY}, to: "x/a", want: MayAllow},
		"some Pods of a Namespace":                                {admin: []*AdminPolicy{onlyY}, from: "x/a", to: "y/a", want: MayDrop},
		"the first rule decides":                                  {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayAllow), on(MayDrop))}, to: "x/a", want: MayAllow},
		"the lower priority comes first":                          {admin: []*AdminPolicy{adminOf(AdminKind, 2, on(MayDrop)), adminOf(AdminKind, 1, on(MayAllow))}, to: "x/a", want: MayAllow},
		"Allow comes before Kubernetes' policies":                 {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayAllow))}, others: []string{isolateX}, to: "x/a", want: MayAllow},
		"Pass leaves it to Kubernetes' policies":                  {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(mayPass), on(MayAllow))}, others: []string{isolateX}, to: "x/a", want: MayDrop},
		"Pass, and then the baseline":                             {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(mayPass)), adminOf(BaselineKind, 0, on(MayDrop))}, to: "x/a", want: MayDrop},
		"the baseline is for Pods that are not isolated":          {admin: []*AdminPolicy{adminOf(BaselineKind, 0, on(MayAllow))}, others: []string{isolateX}, to: "x/a", want: MayDrop},
		"ClusterNetworkPolicies come before AdminNetworkPolicies": {admin: []*AdminPolicy{adminOf(AdminKind, 0, on(MayDrop)), adminOf(ClusterKind, 9, on(MayAllow))}, to: "x/a", want: MayAllow},
		"the tier application comes before AdminNetworkPolicies":  {admin: []*AdminPolicy{adminOf(AdminKind, 0, on(MayDrop))}, others: []string{antrea + "ingress: [{action: Allow}]}"}, to: "x/a", want: MayAllow},
		"ClusterNetworkPolicies come before the tier application": {admin: []*AdminPolicy{adminOf(ClusterKind, 9, on(MayDrop))}, others: []string{antrea + "ingress: [{action: Allow}]}"}, to: "x/a", want: MayDrop},
		"and after the tier platform":                             {admin: []*AdminPolicy{adminOf(ClusterKind, 9, on(MayDrop))}, others: []string{antrea + "tier: platform, ingress: [{action: Allow}]}"}, to: "x/a", want: MayAllow},
		"Antrea's baseline comes first":                           {admin: []*AdminPolicy{adminOf(BaselineKind, 0, on(MayDrop))}, others: []string{antrea + "tier: baseline, ingress: [{action: Allow}]}"}, to: "x/a", want: MayAllow},
		"the tier Baseline":                                       {admin: []*AdminPolicy{baseline(adminOf(ClusterKind, 0, on(MayDrop)))}, others: []string{isolateX}, from: "x/a", to: "y/a", want: MayDrop},
		"Pass in the tier Baseline leaves the default":            {admin: []*AdminPolicy{baseline(adminOf(ClusterKind, 0, on(mayPass), on(MayDrop)))}, to: "x/a", want: MayAllow},
		"a port":                      {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayDrop, tcp(80, 80)))}, to: "x/a", probe: Probe{Port: 80}, want: MayDrop},
		"another port":                {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayDrop, tcp(80, 81)))}, to: "x/a", probe: Probe{Port: 82}, want: MayAllow},
		"another protocol":            {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayDrop, tcp(80, 81)))}, to: "x/a", probe: Probe{Port: 80, Protocol: corev1.ProtocolUDP}, want: MayAllow},
		"the name of a port":          {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayDrop, AdminPort{Name: "web"}))}, to: "x/a", probe: Probe{Port: 80}, want: MayDrop},
		"a name with another number":  {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayDrop, AdminPort{Name: "web"}))}, to: "x/a", probe: Probe{Port: 81}, want: MayAllow},
		"Pods do not include Nodes":   {admin: []*AdminPolicy{adminOf(AdminKind, 1, on(MayDrop))}, from: "z/host-2", to: "x/a", want: MayAllow},
		"a Node":                      {admin: []*AdminPolicy{to(MayDrop, AdminPeer{Nodes: &metav1.LabelSelector{}})}, to: "z/host-2", want: MayDrop},
		"a network":                   {admin: []*AdminPolicy{to(MayDrop, AdminPeer{Networks: []string{"fd01::/64", "10.0.1.0/24"}})}, to: "x/a", want: MayDrop},
		"another network":             {admin: []*AdminPolicy{to(MayDrop, AdminPeer{Networks: []string{"10.0.2.0/24"}})}, to: "x/a", want: MayAllow},
		"a name":                      {admin: []*AdminPolicy{to(MayDrop, AdminPeer{Names: []string{"b.test", "a.test."}})}, to: "x/b", want: MayDrop},
		"a pattern of names below it": {admin: []*AdminPolicy{to(MayDrop, AdminPeer{Names: []string{"*.sub.test"}})}, to: "x/b", want: MayAllow},
	} {
		t.Run(name, func(t *testing.T) {
			w := handmade(t)
			w.AdminPolicies = test.admin
			w.set(t, test.others)
			probe, from := test.probe, test.from
			if from == "" {
				from = "y/b"
			}
			probe.From, probe.To = w.find(t, from), w.find(t, test.to)
			if probe.Protocol == "" {
				probe.Protocol = corev1.ProtocolTCP
			}
			require.Equal(t, test.want.String(), w.Opinion(&probe).String())
		})
	}
}

// The API's own types have all fields that policies of the random Worlds have.
func TestAdminPoliciesAreOfTheAPI(t *testing.T) {
	seen := map[string]int{}
	for _, p := range manyAdminPolicies() {
		text, err := json.Marshal(p.Object())
		require.NoError(t, err)
		var object any = &v1alpha1.AdminNetworkPolicy{}
		switch p.Kind {
		case BaselineKind:
			object = &v1alpha1.BaselineAdminNetworkPolicy{}
		case ClusterKind:
			object = &v1alpha2.ClusterNetworkPolicy{}
		}
		problems, err := kjson.UnmarshalStrict(text, object)
		require.NoError(t, err, string(text))
		require.Empty(t, problems, string(text))
		seen[p.Kind]++
		for _, rule := range append(p.Ingress, p.Egress...) {
			seen[rule.Action.String()]++
			for _, peer := range rule.Peers {
				seen["names"] += len(peer.Names)
				seen["networks"] += len(peer.Networks)
			}
			for _, port := range rule.Ports {
				seen["name of a port"] += len(port.Name)
			}
		}
	}
	for _, what := range []string{AdminKind, BaselineKind, ClusterKind, "allowed", "dropped", "passed", "names", "networks", "name of a port"} {
		require.Greater(t, seen[what], 10, what)
	}
}

// manyAdminPolicies returns the policies of 100 Worlds.
func manyAdminPolicies() (policies []*AdminPolicy) {
	g := NewAntreaGenerator(NewGeneratorWithTurnover(rand.New(rand.NewPCG(1, 2))))
	for range 100 {
		policies = append(policies, g.Next().AdminPolicies...)
	}
	return policies
}
