// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
)

// table returns the cells of networkpolicystats as kubectl get shows them: through kube-apiserver, with the administrator's rights. The
// last cell is a time.
func (f *fixture) table() (rows [][]any, err error) {
	f.t.Helper()
	text, err := f.admin.Kube.Discovery().RESTClient().Get().AbsPath("/apis/stats.antrea.io/v1alpha1/networkpolicystats").
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(f.t.Context())
	if err != nil {
		return nil, err
	}
	var table metav1.Table
	require.NoError(f.t, json.Unmarshal(text, &table))
	require.Equal(f.t, "Table", table.Kind)
	for _, row := range table.Rows {
		require.Len(f.t, row.Cells, 5)
		_, err := time.Parse(time.RFC3339, row.Cells[4].(string))
		require.NoError(f.t, err)
		rows = append(rows, row.Cells[:4])
	}
	return rows, nil
}

// showsInTable waits until the table has these cells.
func (f *fixture) showsInTable(what string, want [][]any) {
	f.t.Helper()
	f.eventually(what, func() error {
		got, err := f.table()
		if err == nil && !reflect.DeepEqual(want, got) {
			err = fmt.Errorf("want %v, got %v", want, got)
		}
		return err
	})
}

// reportAs reports the traffic of the policy "web" with an agent's token.
func (f *fixture) reportAs(token, node, sequence string, traffic v1alpha1.TrafficStats) error {
	f.t.Helper()
	ca, err := f.admin.Kube.CoreV1().ConfigMaps("kube-system").Get(f.t.Context(), apis.ControllerCA, metav1.GetOptions{})
	require.NoError(f.t, err)
	policy, err := f.admin.Kube.NetworkingV1().NetworkPolicies("default").Get(f.t.Context(), "web", metav1.GetOptions{})
	require.NoError(f.t, err)
	client, err := controlplane.NewForConfig(&rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", f.port), BearerToken: token,
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(ca.Data[apis.ControllerCAKey]), ServerName: apis.ControllerServerName("kube-system")},
	})
	require.NoError(f.t, err)
	return client.ReportStats(f.t.Context(), &v1beta2.NodeStatsSummary{
		ObjectMeta: metav1.ObjectMeta{Name: node, Annotations: map[string]string{
			v1beta2.StatsSessionAnnotation: "session", v1beta2.StatsSequenceAnnotation: sequence,
		}},
		NetworkPolicies: []v1beta2.NetworkPolicyStats{{
			NetworkPolicy: v1beta2.NetworkPolicyReference{Type: v1beta2.K8sNetworkPolicy, Namespace: "default", Name: "web", UID: policy.UID},
			TrafficStats:  traffic,
		}},
	})
}

// testStats reports as the agent of node-1 does, and reads the sums as users do.
func testStats(t *testing.T, f *fixture, token string) {
	traffic := v1alpha1.TrafficStats{Sessions: 3, Packets: 36, Bytes: 5199}
	require.NoError(t, f.reportAs(token, "node-1", "1", traffic))
	require.NoError(t, f.reportAs(token, "node-1", "1", traffic), "the same report again")
	require.ErrorContains(t, f.reportAs(token, "node-2", "1", traffic), `the agent of Node "node-1" reports for "node-2"; allowed: node-1`)
	f.showsInTable("one report", [][]any{{"web", 3.0, 36.0, 5199.0}})
	text, err := f.admin.Kube.Discovery().RESTClient().Get().
		AbsPath("/apis/stats.antrea.io/v1alpha1/namespaces/default/networkpolicystats/web").DoRaw(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(text), `"trafficStats":{"packets":36,"bytes":5199,"sessions":3}`)

	// A restart of the controller begins from scratch, and the next report is counted, whatever its number is.
	f.stop()
	f.startController()
	require.NoError(t, f.reportAs(token, "node-1", "1", v1alpha1.TrafficStats{Packets: 1}))
	f.showsInTable("the report after the restart", [][]any{{"web", 0.0, 1.0, 0.0}})

	require.NoError(t, f.admin.Kube.NetworkingV1().NetworkPolicies("default").Delete(t.Context(), "web", metav1.DeleteOptions{}))
	f.showsInTable("the statistics end with the policy", nil)
}

// testStatsOfAntreaPolicies: the policies of Antrea have statistics as soon as they exist.
func testStatsOfAntreaPolicies(t *testing.T, f *fixture) {
	for path, want := range map[string]string{
		"antreaclusternetworkpolicystats/own-namespace-only": `"kind":"AntreaClusterNetworkPolicyStats"`,
		"namespaces/default/antreanetworkpolicystats/shop":   `"kind":"AntreaNetworkPolicyStats"`,
	} {
		f.eventually(path, func() error {
			text, err := f.admin.Kube.Discovery().RESTClient().Get().AbsPath("/apis/stats.antrea.io/v1alpha1/" + path).DoRaw(t.Context())
			if err == nil && (!strings.Contains(string(text), want) || !strings.Contains(string(text), `"trafficStats":{}`)) {
				err = fmt.Errorf("want %s without traffic, got %s", want, text)
			}
			return err
		})
	}
}

// TestStatsOff: with the feature gate off, the list is empty and reports have nowhere to go.
func TestStatsOff(t *testing.T) {
	f := startKubernetes(t)
	createDefinitions(t, f)
	f.createPod("web", "node-1", "10.0.1.1", map[string]string{"app": "web"})
	f.createPolicy()
	conf := filepath.Join(t.TempDir(), "antrea-controller.conf")
	text := fmt.Sprintf("apiPort: %d\nclientConnection: {kubeconfig: %s}\nfeatureGates: {NetworkPolicyStats: false}\n", f.port, f.options.config.ClientConnection.Kubeconfig)
	require.NoError(t, os.WriteFile(conf, []byte(text), 0o600))
	require.NoError(t, f.options.complete(conf))
	f.startController()
	token, err := os.ReadFile(f.options.tokenFile)
	require.NoError(t, err)
	require.ErrorContains(t, f.reportAs(string(token), "node-1", "1", v1alpha1.TrafficStats{Packets: 1}), "could not find the requested resource")
	loopback, err := kubernetes.NewForConfig(&rest.Config{
		Host: fmt.Sprintf("https://127.0.0.1:%d", f.port), BearerToken: string(token), TLSClientConfig: rest.TLSClientConfig{Insecure: true},
	})
	require.NoError(t, err)
	list, err := loopback.Discovery().RESTClient().Get().AbsPath("/apis/stats.antrea.io/v1alpha1/networkpolicystats").DoRaw(t.Context())
	require.NoError(t, err)
	require.Contains(t, string(list), `"items":[]`)
	f.stop()
}
