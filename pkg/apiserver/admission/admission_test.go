// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// listKinds are the kinds of the lists of all resources.
var listKinds = map[schema.GroupVersionResource]string{
	crd.ClusterNetworkPolicies: "ClusterNetworkPolicyList", crd.NetworkPolicies: "NetworkPolicyList", crd.Tiers: "TierList",
	crd.ClusterGroups: "ClusterGroupList", crd.Groups: "GroupList",
}

// resourceOf are the resources and paths by kind.
var resourceOf = map[string]struct {
	resource schema.GroupVersionResource
	path     string
}{
	"ClusterNetworkPolicy": {crd.ClusterNetworkPolicies, "acnp"}, "NetworkPolicy": {crd.NetworkPolicies, "annp"}, "Tier": {crd.Tiers, "tier"},
	"ClusterGroup": {crd.ClusterGroups, "clustergroup"}, "Group": {crd.Groups, "group"},
}

// object reads kind/namespace/name and a spec in YAML.
func object(t testing.TB, kind, namespace, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{}}
	require.NoError(t, yaml.Unmarshal([]byte("spec: "+spec), &u.Object), spec)
	u.SetAPIVersion("crd.antrea.io/v1beta1")
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// existing are the objects that there are in all tests.
func existing(t testing.TB) []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		object(t, "Tier", "", "emergency", "{priority: 50}"), object(t, "Tier", "", "application", "{priority: 250}"),
		object(t, "Tier", "", "baseline", "{priority: 253}"), object(t, "Tier", "", "used", "{priority: 10}"),
		object(t, "Tier", "", "used-by-two", "{priority: 11}"), object(t, "Tier", "", "unused", "{priority: 12}"),
		object(t, "ClusterNetworkPolicy", "", "a", "{tier: used, priority: 1}"),
		object(t, "ClusterNetworkPolicy", "", "b", "{tier: used-by-two, priority: 1}"),
		object(t, "ClusterNetworkPolicy", "", "c", "{tier: used-by-two, priority: 1}"),
		object(t, "ClusterNetworkPolicy", "", "unreadable", "{tier: unused, priority: 1, from: x}"),
		object(t, "ClusterGroup", "", "parent", "{childGroups: [child, later]}"), object(t, "ClusterGroup", "", "child", "{}"),
		object(t, "Group", "ns", "parent", "{childGroups: [child]}"), object(t, "Group", "ns", "child", "{}"),
		object(t, "Group", "other", "child", "{}"),
	}
}

// start returns the webhooks in a cluster with objects.
func start(t testing.TB, config Config, objects ...*unstructured.Unstructured) webhook.Webhooks {
	t.Helper()
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds)
	for _, o := range objects {
		_, err := client.Resource(resourceOf[o.GetKind()].resource).Namespace(o.GetNamespace()).Create(t.Context(), o, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	policies, err := crd.NewPolicies(client)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); policies.Run(t.Context()) }()
	t.Cleanup(func() { <-done })
	require.Eventually(t, func() bool { return policies.Synced() == nil }, 10*time.Second, time.Millisecond)
	config.Objects = policies
	return Webhooks(config)
}

// request returns the question about an object; a nil object at a deletion.
func request(t *testing.T, wanted, former *unstructured.Unstructured) *admissionv1.AdmissionRequest {
	t.Helper()
	raw := func(u *unstructured.Unstructured) runtime.RawExtension {
		if u == nil {
			return runtime.RawExtension{}
		}
		text, err := u.MarshalJSON()
		require.NoError(t, err)
		return runtime.RawExtension{Raw: text}
	}
	r := &admissionv1.AdmissionRequest{Operation: admissionv1.Update, Object: raw(wanted), OldObject: raw(former)}
	one := wanted
	switch {
	case former == nil:
		r.Operation = admissionv1.Create
	case wanted == nil:
		r.Operation, one = admissionv1.Delete, former
	}
	r.Kind = metav1.GroupVersionKind(one.GroupVersionKind())
	r.Name, r.Namespace = one.GetName(), one.GetNamespace()
	return r
}

// validate returns the refusal.
func validate(t *testing.T, webhooks webhook.Webhooks, wanted, former *unstructured.Unstructured) string {
	t.Helper()
	one := wanted
	if one == nil {
		one = former
	}
	answer, err := webhooks["/validate/"+resourceOf[one.GetKind()].path](request(t, wanted, former))
	require.NoError(t, err)
	return answer.Refusal
}

// requireRefusal compares a refusal with a part of it; "" means that there is none.
func requireRefusal(t *testing.T, want, got string) {
	t.Helper()
	if want == "" {
		require.Empty(t, got)
		return
	}
	require.Contains(t, got, want)
}

func TestTiers(t *testing.T) {
	many := existing(t)
	for i := range 14 {
		many = append(many, object(t, "Tier", "", "more-"+string(rune('a'+i)), "{priority: "+string(rune('1'))+string(rune('0'+i%10))+string(rune('0'+i/10))+"}"))
	}
	few := start(t, Config{Enabled: true}, existing(t)...)
	full := start(t, Config{Enabled: true}, many...)
	admin := start(t, Config{Enabled: true, ClusterNetworkPolicy: true}, existing(t)...)
	taken := start(t, Config{Enabled: true, ClusterNetworkPolicy: true}, object(t, "Tier", "", "former", "{priority: 220}"))
	tier := func(name, spec string) *unstructured.Unstructured { return object(t, "Tier", "", name, spec) }
	type test struct {
		webhooks       webhook.Webhooks
		wanted, former *unstructured.Unstructured
		want           string
	}
	for name, test := range map[string]test{
		"create":                     {few, tier("x", "{priority: 20}"), nil, ""},
		"create, equal":              {few, tier("x", "{priority: 10}"), nil, "overlaps with existing Tier"},
		"create, 20 priorities":      {full, tier("x", "{priority: 20}"), nil, "maximum number of Tiers supported: 20"},
		"create, 20 and equal":       {full, tier("x", "{priority: 10}"), nil, "maximum number of Tiers supported: 20"},
		"create, CNP's and equal":    {taken, tier("x", "{priority: 220}"), nil, "tier x priority 220 is reserved"},
		"create, reserved":           {few, tier("x", "{priority: 251}"), nil, "tier x priority 251 is reserved"},
		"create, last":               {few, tier("x", "{priority: 255}"), nil, "tier x priority 255 is reserved"},
		"create, baseline's":         {few, tier("x", "{priority: 253}"), nil, "overlaps with existing Tier"},
		"create, CNP's, gate off":    {few, tier("x", "{priority: 220}"), nil, ""},
		"create, CNP's, gate on":     {admin, tier("x", "{priority: 220}"), nil, "tier x priority 220 is reserved"},
		"create, default":            {full, tier("platform", "{priority: 200}"), nil, ""},
		"create, as a default":       {few, tier("platform", "{priority: 254}"), nil, "tier platform priority 254 is reserved"},
		"update":                     {few, tier("unused", "{priority: 13}"), tier("unused", "{priority: 12}"), "update to Tier priority is not allowed"},
		"update, by controller":      {few, tier("baseline", "{priority: 253}"), tier("baseline", "{priority: 3}"), ""},
		"update, description":        {few, tier("unused", "{priority: 12, description: x}"), tier("unused", "{priority: 12}"), ""},
		"delete":                     {few, nil, tier("unknown", "{priority: 12}"), ""},
		"delete, reserved":           {few, nil, tier("emergency", "{priority: 50}"), "cannot delete reserved tier emergency"},
		"update, a default's":        {few, tier("baseline", "{priority: 9}"), tier("baseline", "{priority: 253}"), "update to Tier priority is not allowed"},
		"delete, with a policy":      {few, nil, tier("used", "{priority: 10}"), "tier used is referenced by 1 Antrea ClusterNetworkPolicies"},
		"delete, with two":           {few, nil, tier("used-by-two", "{priority: 11}"), "tier used-by-two is referenced by 2 Antrea ClusterNetworkPolicies"},
		"delete, with an unreadable": {few, nil, tier("unused", "{priority: 12}"), "tier unused is referenced by 1 Antrea ClusterNetworkPolicies"},
	} {
		t.Run(name, func(t *testing.T) {
			requireRefusal(t, test.want, validate(t, test.webhooks, test.wanted, test.former))
		})
	}
}

func TestGroups(t *testing.T) {
	webhooks := start(t, Config{Enabled: true}, existing(t)...)
	for _, test := range []struct{ kind, namespace, name, spec, want string }{
		{"ClusterGroup", "", "x", "{}", ""},
		{"ClusterGroup", "", "x", "{podSelector: {}, namespaceSelector: {}}", ""},
		{"ClusterGroup", "", "x", "{externalEntitySelector: {}, namespaceSelector: {}}", ""},
		{"ClusterGroup", "", "x", "{nodeSelector: {}}", ""},
		{"Group", "ns", "x", "{nodeSelector: {}}", "nodeSelector cannot be set for a Group"},
		{"ClusterGroup", "", "x", "{podSelector: {}, serviceReference: {name: a, namespace: b}}", "can be set for a ClusterGroup"},
		{"Group", "ns", "x", "{podSelector: {}, serviceReference: {name: a, namespace: b}}", "At most one of"},
		{"ClusterGroup", "", "x", "{podSelector: {}, externalEntitySelector: {}, namespaceSelector: {}}", "At most one of"},
		{"ClusterGroup", "", "x", "{namespaceSelector: {}, ipBlocks: [{cidr: 10.0.0.0/8}]}", "At most one of"},
		{"ClusterGroup", "", "x", "{nodeSelector: {}, childGroups: [a]}", "At most one of"},
		{"ClusterGroup", "", "x", "{podSelector: {matchLabels: {'a b': c}}}", "Invalid label key: a b"},
		{"ClusterGroup", "", "x", "{podSelector: {matchLabels: {a: 'b c'}}}", "Invalid label value: b c"},
		{"ClusterGroup", "", "x", "{podSelector: {matchExpressions: [{key: a, operator: In}]}}", "Invalid label selector"},
		{"ClusterGroup", "", "x", "{ipBlocks: [{cidr: 10.0.0.0/8, except: [10.1.0.0/16]}, {cidr: 'fd00::/8'}]}", ""},
		{"ClusterGroup", "", "x", "{ipBlocks: [{except: [10.1.0.0/16]}]}", "field 'cidr' is required"},
		{"ClusterGroup", "", "x", "{ipBlocks: [{cidr: 10.0.0.0/8, except: [11.1.0.0/16]}]}", "except CIDR 11.1.0.0/16 is not a strict subset of CIDR 10.0.0.0/8"},
		{"ClusterGroup", "", "x", "{ipBlocks: [{cidr: 10.0.0.0/8}, {cidr: 224.0.0.0/8}]}", "can not set multicast groupAddress"},
		{"ClusterGroup", "", "x", "{childGroups: [x]}", "ClusterGroup x cannot be its own childGroup"},
		{"ClusterGroup", "", "child", "{childGroups: [x]}", "cannot set childGroups for ClusterGroup child, who has 1 parents"},
		{"ClusterGroup", "", "later", "{childGroups: [x]}", "cannot set childGroups for ClusterGroup later, who has 1 parents"},
		{"ClusterGroup", "", "x", "{childGroups: [unknown, child]}", ""},
		{"ClusterGroup", "", "x", "{childGroups: [child, parent]}", "cannot set ClusterGroup parent as childGroup, who has 2 childGroups itself"},
		{"Group", "ns", "child", "{childGroups: [x]}", "cannot set childGroups for Group child, who has 1 parents"},
		{"Group", "other", "child", "{childGroups: [parent]}", ""},
		{"Group", "ns", "x", "{childGroups: [parent]}", "cannot set Group parent as childGroup, who has 1 childGroups itself"},
		{"ClusterGroup", "", "x", "{podSelecter: {}}", `unknown field "spec.podSelecter"`},
		{"ClusterGroup", "", "x", "{podSelector: {matchLabel: {a: b}}}", `unknown field "spec.podSelector.matchLabel"`},
		{"ClusterGroup", "", "x", "{ipBlocks: {}}", "decoding ClusterGroup x"},
	} {
		t.Run(test.kind+" "+test.spec, func(t *testing.T) {
			wanted := object(t, test.kind, test.namespace, test.name, test.spec)
			requireRefusal(t, test.want, validate(t, webhooks, wanted, nil))
			former := object(t, test.kind, test.namespace, test.name, "{podSelector: {matchLabels: {former: x}}}")
			requireRefusal(t, test.want, validate(t, webhooks, wanted, former))
			require.Empty(t, validate(t, webhooks, nil, wanted), "a deletion is never refused")
			require.Empty(t, validate(t, webhooks, wanted, wanted.DeepCopy()), "metadata can be changed")
		})
	}
}

// TestGateAndSync: without the gate, and before all objects are known, nothing is admitted; other kinds never are.
func TestGateAndSync(t *testing.T) {
	off := start(t, Config{})
	tier := object(t, "Tier", "", "x", "{priority: 20}")
	require.Equal(t, "the feature gate AntreaPolicy of antrea-controller is off", validate(t, off, tier, nil))
	require.Empty(t, validate(t, off, tier, tier.DeepCopy()))
	require.Empty(t, validate(t, off, nil, tier))

	unsynced, err := crd.NewPolicies(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds))
	require.NoError(t, err)
	_, err = Webhooks(Config{Objects: unsynced, Enabled: true})["/validate/tier"](request(t, tier, nil))
	require.ErrorContains(t, err, "tiers.crd.antrea.io are not read yet")

	foreign := request(t, tier, nil)
	foreign.Kind.Group = "policy.networking.k8s.io"
	answer, err := off["/validate/tier"](foreign)
	require.NoError(t, err)
	require.Contains(t, answer.Refusal, "asked about Tier policy.networking.k8s.io/v1beta1; it knows Tier crd.antrea.io/v1beta1")
	nonsense := request(t, tier, nil)
	nonsense.Object.Raw = []byte("[")
	answer, err = off["/validate/tier"](nonsense)
	require.NoError(t, err)
	require.Contains(t, answer.Refusal, "reading the Tier")
}

// TestK8sClusterPolicies: they are created with the gate only, and while no tier has their place.
func TestK8sClusterPolicies(t *testing.T) {
	u := object(t, "ClusterNetworkPolicy", "", "p", "{tier: Admin}")
	u.SetAPIVersion("policy.networking.k8s.io/v1alpha2")
	ask := func(config Config, request *admissionv1.AdmissionRequest, objects ...*unstructured.Unstructured) string {
		answer, err := start(t, config, objects...)["/validate/cnp"](request)
		require.NoError(t, err)
		return answer.Refusal
	}
	on := Config{Enabled: true, ClusterNetworkPolicy: true}
	create := request(t, u, nil)
	require.Empty(t, ask(on, create, object(t, "Tier", "", "t", "{priority: 221}")))
	require.Contains(t, ask(on, create, object(t, "Tier", "", "t", "{priority: 220}")), "the Tier t has the priority 220")
	require.Contains(t, ask(Config{Enabled: true}, create), "the feature gate ClusterNetworkPolicy of antrea-controller is off")
	require.Contains(t, ask(on, request(t, u, u)), "asked about UPDATE")
	require.Contains(t, ask(on, request(t, object(t, "ClusterNetworkPolicy", "", "p", "{}"), nil)), "it knows CREATE ClusterNetworkPolicy policy.networking.k8s.io/v1alpha2")
	unsynced, err := crd.NewPolicies(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds))
	require.NoError(t, err)
	_, err = Webhooks(Config{Objects: unsynced, Enabled: true, ClusterNetworkPolicy: true})["/validate/cnp"](create)
	require.ErrorContains(t, err, "are not read yet")
}
