// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/log/logtest"
)

const (
	statsGroup   = "/apis/stats.antrea.io/v1alpha1"
	reportsPath  = group + "/nodestatssummaries"
	tableFormat  = "application/json;as=Table;v=v1;g=meta.k8s.io"
	policyOfTest = `{"networkPolicy":{"type":"K8sNetworkPolicy","namespace":"ns","name":"policy","uid":"uid-1"},"trafficStats":{"sessions":2,"packets":30,"bytes":4000}}`
)

// reportText is a report's JSON text.
func reportText(node, sequence, policies string) string {
	return fmt.Sprintf(`{"apiVersion":"controlplane.antrea.io/v1beta2","kind":"NodeStatsSummary","metadata":{"name":%q,"annotations":`+
		`{"stats.antrea.io/session":"x","stats.antrea.io/sequence":%q}},"networkPolicies":[%s]}`, node, sequence, policies)
}

func (f *fixture) packets() int64 {
	f.t.Helper()
	status, body := f.do("GET", statsGroup+"/namespaces/ns/networkpolicystats/policy", f.token, "")
	require.Equal(f.t, 200, status, body)
	var stats v1alpha1.NetworkPolicyStats
	require.NoError(f.t, json.Unmarshal([]byte(body), &stats))
	return stats.TrafficStats.Packets
}

func TestStats(t *testing.T) {
	logged := logtest.Text(t)
	f := start(t)
	close(f.synced)
	status, body := f.send("POST", reportsPath, f.token, "", reportText("node-1", "1", policyOfTest))
	require.Equal(t, 201, status, body)
	require.NotContains(t, logged(), "SHOULD NOT HAPPEN")
	for _, tc := range []struct {
		name, method, path, accept string
		status                     int
		body                       []string
	}{
		{"all", "GET", "/networkpolicystats", "", 200, []string{
			`"kind":"NetworkPolicyStatsList","apiVersion":"stats.antrea.io/v1alpha1"`,
			`"name":"policy","namespace":"ns","uid":"uid-1","creationTimestamp":"20`, `"trafficStats":{"packets":30,"bytes":4000,"sessions":2}`,
		}},
		{"of a Namespace", "GET", "/namespaces/ns/networkpolicystats", "", 200, []string{`"name":"policy"`}},
		{"of another Namespace", "GET", "/namespaces/other/networkpolicystats", "", 200, []string{`"items":[]`}},
		{"one", "GET", "/namespaces/ns/networkpolicystats/policy", "", 200, []string{`"kind":"NetworkPolicyStats","apiVersion":"stats.antrea.io/v1alpha1"`}},
		{"no such policy", "GET", "/namespaces/ns/networkpolicystats/other", "", 404, []string{`networkpolicystats.stats.antrea.io \"other\" not found`}},
		{"by name", "GET", "/networkpolicystats?fieldSelector=metadata.name%3Dother", "", 200, []string{`"items":[]`}},
		{"by label", "GET", "/networkpolicystats?labelSelector=a%3Db", "", 200, []string{`"items":[]`}},
		{"by the absence of a label", "GET", "/networkpolicystats?labelSelector=!a", "", 200, []string{`"name":"policy"`}},
		{"as a table", "GET", "/networkpolicystats", tableFormat, 200, []string{
			`"kind":"Table"`, `"name":"Name"`, `"name":"Sessions"`, `"name":"Packets"`, `"name":"Bytes"`, `"name":"Created At"`,
			`"cells":["policy",2,30,4000,"20`, `"kind":"PartialObjectMetadata"`, `"namespace":"ns"`,
		}},
		{"one as a table", "GET", "/namespaces/ns/networkpolicystats/policy", tableFormat, 200, []string{`"cells":["policy",2,30,4000,`}},
		{"watch", "GET", "/networkpolicystats?watch=true", "", 405, nil},
		{"create", "POST", "/namespaces/ns/networkpolicystats", "", 405, nil},
		{"delete", "DELETE", "/namespaces/ns/networkpolicystats/policy", "", 405, nil},
		{"discovery", "GET", "", "", 200, []string{`"name":"networkpolicystats","singularName":"networkpolicystats","namespaced":true,"kind":"NetworkPolicyStats","verbs":["get","list"]`}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := f.do(tc.method, statsGroup+tc.path, f.token, tc.accept)
			require.Equal(t, tc.status, status, body)
			for _, part := range tc.body {
				require.Contains(t, body, part)
			}
		})
	}
	status, body = f.do("GET", group, f.token, "")
	require.Equal(t, 200, status)
	require.Contains(t, body, `"name":"nodestatssummaries","singularName":"nodestatssummary","namespaced":false,"kind":"NodeStatsSummary","verbs":["create"]`)

	require.NoError(t, f.kube.NetworkingV1().NetworkPolicies("ns").Delete(t.Context(), "policy", metav1.DeleteOptions{}))
	require.Eventually(t, func() bool {
		status, _ := f.do("GET", statsGroup+"/namespaces/ns/networkpolicystats/policy", f.token, "")
		return status == 404
	}, patience, 10*time.Millisecond)
}

func TestReportsOfAgents(t *testing.T) {
	const account = "system:serviceaccount:kube-system:antrea-agent"
	type extra = map[string]authenticationv1.ExtraValue
	create := []string{"create nodestatssummaries"}
	f := startWith(t, &apiservertest.Kubernetes{
		Users: map[string]string{"node-1": account, "node-2": account, "unbound": account, "admin": "admin", "reader": "reader"},
		Extra: map[string]extra{
			"node-1": {serviceaccount.NodeNameKey: {"node-1"}}, "node-2": {serviceaccount.NodeNameKey: {"node-2"}},
		},
		Allowed: map[string][]string{account: create, "admin": create, "reader": {"list networkpolicystats"}},
	}, generic.Limits{})
	close(f.synced)
	other := strings.ReplaceAll(policyOfTest, "uid-1", "uid-2")
	for _, tc := range []struct {
		name, token, query, body string
		status                   int
		answer                   string
		packets                  int64
	}{
		{"its own Node", "node-1", "", reportText("node-1", "1", policyOfTest), 201, `"name":"node-1"`, 30},
		{"again", "node-1", "", reportText("node-1", "1", policyOfTest), 201, "", 30},
		{"another Node", "node-2", "", reportText("node-1", "2", policyOfTest), 403, `the agent of Node \"node-2\" reports for \"node-1\"; allowed: node-2`, 30},
		{"a policy that does not concern its Node", "node-2", "", reportText("node-2", "1", policyOfTest), 201, "", 30},
		{"a policy that there is not", "node-1", "", reportText("node-1", "2", other), 201, "", 30},
		{"no name", "node-1", "", reportText("", "2", policyOfTest), 403, `reports for \"\"`, 30},
		{"bound to nothing", "unbound", "", reportText("node-1", "2", policyOfTest), 403, "agents need the token that the kubelet mounts", 30},
		{"negative, which is left out", "node-1", "", reportText("node-1", "2", strings.Replace(policyOfTest, "30", "-30", 1)), 201, "", 30},
		{"too large a number", "node-1", "", reportText("node-1", "2", strings.Replace(policyOfTest, "30", "9223372036854775808", 1)), 400, "", 30},
		{"no report", "node-1", "", "{", 400, "", 30},
		{"too large", "node-1", "", reportText("node-1", "2", strings.Repeat(policyOfTest+",", 200)+policyOfTest), 413, "larger than 16384 bytes", 30},
		{"dry run", "node-1", "?dryRun=All", reportText("node-1", "2", policyOfTest), 201, "", 30},
		{"of a user", "admin", "", reportText("node-1", "2", policyOfTest), 201, "", 60},
		{"of a user without the right", "reader", "", reportText("node-1", "3", policyOfTest), 403, "forbidden", 60},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, answer := f.send("POST", reportsPath+tc.query, tc.token, "", tc.body)
			require.Equal(t, tc.status, status, answer)
			require.Contains(t, answer, tc.answer)
			require.Equal(t, tc.packets, f.packets())
		})
	}
}
