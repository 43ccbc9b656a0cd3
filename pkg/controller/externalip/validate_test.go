// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

var listKinds = map[schema.GroupVersionResource]string{crd.Egresses: "EgressList", crd.ExternalIPPools: "ExternalIPPoolList"}

// object has a spec in YAML.
func object(t *testing.T, kind, name, spec string) *unstructured.Unstructured {
	t.Helper()
	u := crd.New(kind, name)
	require.NoError(t, yaml.Unmarshal([]byte("spec: "+spec), &u.Object), spec)
	u.SetGroupVersionKind(schema.GroupVersionKind{Group: "crd.antrea.io", Version: "v1beta1", Kind: kind})
	u.SetName(name)
	return u
}

// watched returns informers of a cluster with pools.
func watched(t *testing.T, pools ...*unstructured.Unstructured) *crd.EgressObjects {
	t.Helper()
	client := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds)
	for _, p := range pools {
		_, err := client.Resource(crd.ExternalIPPools).Create(t.Context(), p, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	objects, err := crd.NewEgressObjects(client)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() { defer close(done); objects.Run(t.Context()) }()
	t.Cleanup(func() { <-done })
	require.Eventually(t, func() bool { return objects.Synced() == nil }, time.Minute, time.Millisecond)
	return objects
}

// servicesOf returns the informer of a cluster with Services.
func servicesOf(t *testing.T, services ...runtime.Object) cache.SharedIndexInformer {
	t.Helper()
	informer := coreinformers.NewServiceInformer(fake.NewClientset(services...), "", 0, nil)
	done := make(chan struct{})
	go func() { defer close(done); informer.Run(t.Context().Done()) }()
	t.Cleanup(func() { <-done })
	require.Eventually(t, informer.HasSynced, time.Minute, time.Millisecond)
	return informer
}

func request(t *testing.T, wanted, former *unstructured.Unstructured) *admissionv1.AdmissionRequest {
	t.Helper()
	r := &admissionv1.AdmissionRequest{Operation: admissionv1.Create, Kind: metav1.GroupVersionKind(wanted.GroupVersionKind())}
	var err error
	r.Object.Raw, err = wanted.MarshalJSON()
	require.NoError(t, err)
	if former != nil {
		r.Operation = admissionv1.Update
		r.OldObject.Raw, err = former.MarshalJSON()
		require.NoError(t, err)
	}
	return r
}

// TestEgressWebhook has a row for each condition.
func TestEgressWebhook(t *testing.T) {
	pools := watched(t, object(t, "ExternalIPPool", "a", "{ipRanges: [{cidr: 10.0.0.0/24}, {start: 'fd00::1', end: 'fd00::9'}], subnetInfo: {gateway: 10.0.0.7, prefixLength: 24}, nodeSelector: {}}"))
	has, foreign := makeService("web", "a", ""), makeService("other", "", "")
	has.Status.LoadBalancer, foreign.Status.LoadBalancer = loadBalancer(netip.MustParseAddr("10.0.0.8")), loadBalancer(netip.MustParseAddr("10.0.0.9"))
	validate := Validators(pools, servicesOf(t, has, foreign), true, false)[EgressPath]
	for _, test := range []struct{ spec, former, want string }{
		{"{appliedTo: {}, egressIPs: [10.0.0.1]}", "", "not supported yet"},
		{"{appliedTo: {}, externalIPPools: [a]}", "", "not supported yet"},
		{"{appliedTo: {}, egressIP: 1.1.1.1, bandwidth: {rate: 1x, burst: 1M}}", "", `bandwidth.rate "1x" is not a quantity`},
		{"{appliedTo: {}, egressIP: 1.1.1.1, bandwidth: {rate: 1M, burst: 'y y'}}", "", `bandwidth.burst "y y" is not a quantity`},
		{"{appliedTo: {}, egressIP: 1.1.1.1, bandwidth: {rate: -1M, burst: 1M}}", "", `bandwidth.rate "-1M" is not a quantity`},
		{"{appliedTo: {}, egressIP: 1.1.1.1, bandwidth: {rate: 1M, burst: 2M}}", "", ""},
		{"{appliedTo: {podSelector: {matchExpressions: [{key: a, operator: In}]}}, egressIP: 1.1.1.1}", "", "invalid label selector"},
		{"{appliedTo: {namespaceSelector: {matchExpressions: [{key: a, operator: X}]}}, egressIP: 1.1.1.1}", "", "invalid label selector"},
		{"{appliedTo: {}, egressIP: 9.9.9.9, externalIPPool: gone}", "{appliedTo: {podSelector: {}}, egressIP: 9.9.9.9, externalIPPool: gone}", ""},
		{"{appliedTo: {}, egressIP: 1.1.1.1}", "", ""},
		{"{appliedTo: {}, externalIPPool: unknown}", "", ""},
		{"{appliedTo: {}, egressIP: x, externalIPPool: a}", "", "IP x is not valid"},
		{"{appliedTo: {}, egressIP: 'fd00::1%eth0', externalIPPool: a}", "", "IP fd00::1%eth0 is not valid"},
		{"{appliedTo: {}, egressIP: 10.0.0.1, externalIPPool: b}", "", "ExternalIPPool b does not exist"},
		{"{appliedTo: {}, egressIP: 10.0.1.1, externalIPPool: a}", "", "IP 10.0.1.1 is not within the IP range"},
		{"{appliedTo: {}, egressIP: 10.0.0.0, externalIPPool: a}", "", "IP 10.0.0.0 is not within the IP range"},
		{"{appliedTo: {}, egressIP: 10.0.0.255, externalIPPool: a}", "", "IP 10.0.0.255 is not within the IP range"},
		{"{appliedTo: {}, egressIP: 10.0.0.7, externalIPPool: a}", "", "IP 10.0.0.7 is not within the IP range"},
		{"{appliedTo: {}, egressIP: 10.0.0.1, externalIPPool: a}", "{appliedTo: {}, egressIP: 10.0.0.1}", ""},
		{"{appliedTo: {}, egressIP: 10.0.0.8, externalIPPool: a}", "{appliedTo: {}, egressIP: 10.0.0.1, externalIPPool: a}",
			"IP 10.0.0.8 is allocated to Service ns/web from ExternalIPPool a"},
		{"{appliedTo: {}, egressIP: '::ffff:10.0.0.8'}", "", "IP 10.0.0.8 is allocated to Service ns/web from ExternalIPPool a"},
		{"{appliedTo: {podSelector: {}}, egressIP: 10.0.0.8, externalIPPool: a}", "{appliedTo: {}, egressIP: 10.0.0.8, externalIPPool: a}", ""},
		{"{appliedTo: {}, egressIP: 10.0.0.9, externalIPPool: a}", "", ""},
		{"{appliedTo: {}, egressIP: 'fd00::9', externalIPPool: a}", "{appliedTo: {}, externalIPPool: a}", ""},
	} {
		t.Run(test.spec, func(t *testing.T) {
			var former *unstructured.Unstructured
			if test.former != "" {
				former = object(t, "Egress", "e", test.former)
			}
			refusal, err := validate(request(t, object(t, "Egress", "e", test.spec), former))
			require.NoError(t, err)
			if test.want != "" {
				require.Contains(t, refusal, test.want)
				return
			}
			require.Empty(t, refusal)
		})
	}
}

// TestPoolWebhook has a row for each condition.
func TestPoolWebhook(t *testing.T) {
	validate := Validators(watched(t, object(t, "ExternalIPPool", "other", "{ipRanges: [{cidr: 10.9.0.0/24}, {cidr: nonsense}], nodeSelector: {}}")), servicesOf(t), false, true)[PoolPath]
	for _, test := range []struct{ ranges, subnet, former, want string }{
		{"[{cidr: 10.0.0.0/24}, {start: 10.0.1.0, end: 10.0.1.0}]", "", "", ""},
		{"[{cidr: 10.0.0/24}]", "", "", "invalid cidr 10.0.0/24"},
		{"[{start: 10.0.0.1, end: x}]", "", "", "range start 10.0.0.1 or range end x is not an IP address"},
		{"[{start: 10.0.0.1, end: 'fd00::1'}]", "", "", "range start 10.0.0.1 and range end fd00::1 should belong to same family"},
		{"[{start: 10.0.0.2, end: 10.0.0.1}]", "", "", "range start 10.0.0.2 should not be greater than range end 10.0.0.1"},
		{"[{cidr: 10.0.0.0/24}, {start: 9.0.0.1, end: 10.0.0.0}]", "", "", "9.0.0.1-10.0.0.0 overlaps with IPRange 10.0.0.0/24"},
		{"[{cidr: 10.9.0.128/25}]", "", "", "10.9.0.128/25 overlaps with IPRange 10.9.0.0/24 of ExternalIPPool other"},
		{"[{cidr: 'a09::/24'}]", "", "", ""},
		{"[{cidr: 10.0.0.0/25}]", "{gateway: 10.0.0.1, prefixLength: 24}", "", ""},
		{"[{cidr: 10.0.0.0/25}]", "{gateway: x, prefixLength: 24}", "", "invalid gateway address x"},
		{"[{cidr: 10.0.0.0/25}]", "{gateway: 10.0.0.1, prefixLength: 32}", "", "invalid prefixLength 32: it must be 1 to 31"},
		{"[{cidr: 10.0.0.0/25}]", "{gateway: 10.0.0.1, prefixLength: 0}", "", "invalid prefixLength 0"},
		{"[{cidr: 'fd00::/125'}]", "{gateway: 'fd00::1', prefixLength: 128}", "", "invalid prefixLength 128: it must be 1 to 127"},
		{"[{cidr: 10.0.0.0/23}]", "{gateway: 10.0.0.1, prefixLength: 24}", "", "10.0.0.0/23 must be a strict subset of the subnet 10.0.0.1/24"},
		{"[{cidr: 'fd00::/125'}]", "{gateway: 10.0.0.1, prefixLength: 24}", "", "must be a strict subset"},
		{"[{cidr: 10.0.1.0/24}, {cidr: 10.0.0.0/24}]", "", "[{cidr: 10.0.0.0/24}]", ""},
		{"[{cidr: 10.0.1.0/24}]", "", "[{cidr: 10.0.0.0/24}]", "existing IPRanges [{10.0.0.0/24  }] cannot be updated or deleted"},
	} {
		t.Run(test.ranges+test.subnet, func(t *testing.T) {
			spec := "{nodeSelector: {}, ipRanges: " + test.ranges + "}"
			if test.subnet != "" {
				spec = "{nodeSelector: {}, ipRanges: " + test.ranges + ", subnetInfo: " + test.subnet + "}"
			}
			var former *unstructured.Unstructured
			if test.former != "" {
				former = object(t, "ExternalIPPool", "p", "{nodeSelector: {}, ipRanges: "+test.former+"}")
			}
			refusal, err := validate(request(t, object(t, "ExternalIPPool", "p", spec), former))
			require.NoError(t, err)
			if test.want == "" {
				require.Empty(t, refusal)
				return
			}
			require.Contains(t, refusal, test.want)
		})
	}
	refusal, err := validate(request(t, object(t, "ExternalIPPool", "p", "{ipRanges: [], nodeSelector: {matchExpressions: [{key: a, operator: In}]}}"), nil))
	require.NoError(t, err)
	require.Contains(t, refusal, "nodeSelector: invalid label selector")
}

// TestGateAndSync: without the gate, and before the pools are known, no spec is admitted; metadata can always be changed.
func TestGateAndSync(t *testing.T) {
	unsynced, err := crd.NewEgressObjects(dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), listKinds))
	require.NoError(t, err)
	unread := coreinformers.NewServiceInformer(fake.NewClientset(), "", 0, nil)
	for kind, path := range map[string]string{"Egress": EgressPath, "ExternalIPPool": PoolPath} {
		one := object(t, kind, "x", "{egressIP: 1.1.1.1}")
		_, err = Validators(unsynced, unread, true, true)[path](request(t, one, nil))
		require.ErrorContains(t, err, "are not read yet; is their CRD installed?")
		_, err = Validators(watched(t), unread, true, true)[path](request(t, one, nil))
		require.ErrorContains(t, err, "services are not read yet")
		refusal, err := Validators(unsynced, unread, false, false)[path](request(t, one, nil))
		require.NoError(t, err)
		require.Contains(t, refusal, "Egress")
		require.Contains(t, refusal, "of antrea-controller")
		refusal, err = Validators(unsynced, unread, false, false)[path](request(t, one, one.DeepCopy()))
		require.NoError(t, err)
		require.Empty(t, refusal)
		nonsense := request(t, one, nil)
		nonsense.Object.Raw = []byte("[")
		refusal, err = Validators(unsynced, unread, true, true)[path](nonsense)
		require.NoError(t, err)
		require.Contains(t, refusal, "reading the "+kind)
	}
}
