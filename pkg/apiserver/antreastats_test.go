// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	internal "github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/controller/stats"
)

// everywhere is a cluster in which all policies apply to all Nodes.
type everywhere struct{}

func (everywhere) PolicyConcerns(internal.NetworkPolicyReference, string) bool { return true }

func TestStatsOfAntreaPolicies(t *testing.T) {
	traffic := stats.New(everywhere{})
	f := startStats(t, traffic)
	close(f.synced)
	labels := map[string]string{"team": "red"}
	traffic.Handler(internal.AntreaClusterNetworkPolicy).OnAdd(&v1beta1.ClusterNetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: "acnp", UID: "u1", Labels: labels}}, true)
	traffic.Handler(internal.AntreaNetworkPolicy).OnAdd(&v1beta1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "annp", UID: "u2"}}, true)
	status, body := f.do("GET", statsGroup+"/antreaclusternetworkpolicystats/acnp", f.token, "")
	require.Equal(t, 200, status, body)
	require.Contains(t, body, `"trafficStats":{}}`, "counts exist as soon as the policy does")
	rules := `"ruleTrafficStats":[{"name":"drop","trafficStats":{"packets":3,"bytes":300,"sessions":3}},{"name":"allow","trafficStats":{"packets":10,"bytes":1000,"sessions":1}}]`
	report := `{"apiVersion":"controlplane.antrea.io/v1beta2","kind":"NodeStatsSummary","metadata":{"name":"node-1"},` +
		`"antreaClusterNetworkPolicies":[{"networkPolicy":{"type":"AntreaClusterNetworkPolicy","name":"acnp","uid":"u1"},` + rules + `}],` +
		`"antreaNetworkPolicies":[{"networkPolicy":{"type":"AntreaNetworkPolicy","namespace":"ns","name":"annp","uid":"u2"},"ruleTrafficStats":[{"name":"r","trafficStats":{"packets":5,"bytes":50,"sessions":1}}]}]}`
	status, body = f.send("POST", reportsPath, f.token, "", report)
	require.Equal(t, 201, status, body)
	for _, tc := range []struct {
		name, method, path, accept string
		status                     int
		body                       []string
	}{
		{"one of the cluster", "GET", "/antreaclusternetworkpolicystats/acnp", "", 200, []string{
			`"kind":"AntreaClusterNetworkPolicyStats","apiVersion":"stats.antrea.io/v1alpha1","metadata":{"name":"acnp","uid":"u1","creationTimestamp":"20`,
			`"labels":{"team":"red"}`, `"trafficStats":{"packets":13,"bytes":1300,"sessions":4},` + rules,
		}},
		{"one of a Namespace", "GET", "/namespaces/ns/antreanetworkpolicystats/annp", "", 200, []string{
			`"kind":"AntreaNetworkPolicyStats"`, `"namespace":"ns"`, `"trafficStats":{"packets":5,"bytes":50,"sessions":1},"ruleTrafficStats":[{"name":"r",`,
		}},
		{"by label", "GET", "/antreaclusternetworkpolicystats?labelSelector=team%3Dred", "", 200, []string{`"kind":"AntreaClusterNetworkPolicyStatsList"`, `"name":"acnp"`}},
		{"by another label", "GET", "/antreaclusternetworkpolicystats?labelSelector=team%3Dblue", "", 200, []string{`"items":[]`}},
		{"of all Namespaces", "GET", "/antreanetworkpolicystats", "", 200, []string{`"name":"annp"`}},
		{"of another Namespace", "GET", "/namespaces/other/antreanetworkpolicystats", "", 200, []string{`"items":[]`}},
		{"as a table", "GET", "/antreaclusternetworkpolicystats", tableFormat, 200, []string{`"name":"Created At"`, `"cells":["acnp",4,13,1300,"20`}},
		{"one as a table", "GET", "/namespaces/ns/antreanetworkpolicystats/annp", tableFormat, 200, []string{`"cells":["annp",1,5,50,"20`}},
		{"of Kubernetes' policies", "GET", "/networkpolicystats", "", 200, []string{`"items":[]`}},
		{"unknown", "GET", "/antreaclusternetworkpolicystats/annp", "", 404, []string{`antreaclusternetworkpolicystats.stats.antrea.io \"annp\" not found`}},
		{"watch", "GET", "/antreaclusternetworkpolicystats?watch=true", "", 405, nil},
		{"delete", "DELETE", "/antreaclusternetworkpolicystats/acnp", "", 405, nil},
		{"discovery", "GET", "", "", 200, []string{
			`"name":"antreaclusternetworkpolicystats","singularName":"antreaclusternetworkpolicystats","namespaced":false,"kind":"AntreaClusterNetworkPolicyStats","verbs":["get","list"]`,
			`"name":"antreanetworkpolicystats","singularName":"antreanetworkpolicystats","namespaced":true,"kind":"AntreaNetworkPolicyStats","verbs":["get","list"]`,
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := f.do(tc.method, statsGroup+tc.path, f.token, tc.accept)
			require.Equal(t, tc.status, status, body)
			for _, part := range tc.body {
				require.Contains(t, body, part)
			}
		})
	}
	require.Equal(t, v1alpha1.TrafficStats{Packets: 13, Bytes: 1300, Sessions: 4}, traffic.List(internal.AntreaClusterNetworkPolicy, "")[0].Traffic)
}
