// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsflows

import (
	"context"
	"encoding/json"
	"errors"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

type fakePipeline struct{ err error }

func (p fakePipeline) GetFlowTableStatus(context.Context) ([]openflow.TableStatus, error) {
	return []openflow.TableStatus{{ID: 0, Name: "PipelineRootClassifier"}, {ID: 3, Name: "Classifier"}, {ID: 12, Name: "Output"}}, p.err
}

func (fakePipeline) GetPodFlowKeys(name string) []string {
	return map[string][]string{"web-123456": {"table=3,in_port=1", "table=12,reg1=1"}}[name]
}

func (fakePipeline) GetPolicyFlowKeys(ids []uint32) []string {
	switch {
	case slices.Equal(ids, []uint32{7, 8}):
		return []string{"table=12,reg1=1"}
	case slices.Equal(ids, []uint32{9}):
		return []string{"table=3,in_port=1"}
	}
	return nil
}

type fakePolicies struct{}

func (fakePolicies) NetworkPolicies() (policies []*v1beta2.NetworkPolicy) {
	for uid, source := range map[string]v1beta2.NetworkPolicyReference{
		"u1": {Type: v1beta2.K8sNetworkPolicy, Namespace: "default", Name: "np"}, "u2": {Type: v1beta2.K8sNetworkPolicy, Namespace: "default", Name: "twice"},
		"u3": {Type: v1beta2.AntreaNetworkPolicy, Namespace: "default", Name: "twice"}, "u4": {Type: v1beta2.AntreaClusterNetworkPolicy, Name: "np"},
	} {
		policies = append(policies, &v1beta2.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Name: uid}, SourceRef: &source})
	}
	return policies
}

func (fakePolicies) RulesOf(uid string) []*policy.Rule {
	return map[string][]*policy.Rule{"u1": {{FlowID: 7}, {FlowID: 8}}, "u3": {{FlowID: 7}, {FlowID: 8}}, "u4": {{FlowID: 9}}}[uid]
}

func (fakePipeline) GetServiceFlowKeys(port string) []string {
	return map[string][]string{"default/web:80/TCP": {"table=3,in_port=1"}, "default/web:81/TCP": {"table=12,reg1=1"}}[port]
}

type fakeServices struct{}

func (fakeServices) Ports(namespace, name string) ([]string, bool) {
	return []string{"default/web:80/TCP", "default/web:81/TCP"}, namespace == "default" && name == "web"
}

type fakeDumper map[string][]string

func (d fakeDumper) DumpFlows(_ context.Context, filter string) ([]string, error) {
	flows, ok := d[filter]
	if !ok {
		return nil, errors.New("unexpected filter " + filter)
	}
	return flows, nil
}

func TestHandleFunc(t *testing.T) {
	store := interfacestore.NewInterfaceStore()
	store.Initialize([]*interfacestore.InterfaceConfig{{
		Type: interfacestore.ContainerInterface, InterfaceName: "web-123456",
		ContainerInterfaceConfig: &interfacestore.ContainerInterfaceConfig{PodName: "web", PodNamespace: "default"},
	}})
	dumper := fakeDumper{
		"":                  {"z", "a"},
		"table=3":           {"c1", "c2"},
		"table=12":          {"o1"},
		"table=3,in_port=1": {"c1"},
		"table=12,reg1=1":   {"o1", "c1", "table=a, n_packets=1, n_bytes=2, ip", "table=a, n_packets=2, n_bytes=3, ip"},
	}
	for _, tc := range []struct {
		name, query string
		status      int
		flows       []string
		err         string
	}{
		{name: "all, in the switch's order", status: 200, flows: []string{"z", "a"}},
		{name: "of a Pod, none twice", query: "?pod=web&namespace=default", status: 200, flows: []string{"c1", "o1", "table=a, n_packets=1, n_bytes=2, ip"}},
		{name: "of an absent Pod", query: "?pod=db&namespace=default", status: 404, err: "Pod default/db not found"},
		{name: "Pod without namespace", query: "?pod=web", status: 400, err: "or none must be given"},
		{name: "namespace without Pod", query: "?namespace=default", status: 400, err: "or none must be given"},
		{name: "of a table", query: "?table=Classifier", status: 200, flows: []string{"c1", "c2"}},
		{name: "of tables by name and number", query: "?table=Output,3", status: 200, flows: []string{"o1", "c1", "c2"}},
		{name: "of an absent table", query: "?table=Nothing", status: 404, err: `table "Nothing" not found`},
		{name: "table names", query: "?table-names-only=", status: 200, flows: []string{"PipelineRootClassifier", "Classifier", "Output"}},
		{name: "Pod and table", query: "?pod=web&namespace=default&table=Output", status: 400, err: "cannot be combined"},
		{name: "Service", query: "?service=web&namespace=default", status: 200, flows: []string{"c1", "o1", "table=a, n_packets=1, n_bytes=2, ip"}},
		{name: "absent Service", query: "?service=absent&namespace=default", status: 404, err: "Service default/absent not found, or not handled by AntreaProxy"},
		{name: "Service without namespace", query: "?service=web", status: 400, err: "or none must be given"},
		{name: "Service and Pod", query: "?service=web&pod=web&namespace=default", status: 400, err: "cannot be combined"},
		{name: "policy", query: "?networkpolicy=np&namespace=default&type=k8snp", status: 200, flows: []string{"o1", "c1", "table=a, n_packets=1, n_bytes=2, ip"}},
		{name: "absent policy", query: "?networkpolicy=absent&namespace=default", status: 404, err: "NetworkPolicy default/absent not found"},
		{name: "policy of the cluster", query: "?networkpolicy=np", status: 200, flows: []string{"c1"}},
		{name: "policy of the cluster, with type", query: "?networkpolicy=np&type=acnp", status: 200, flows: []string{"c1"}},
		{name: "type with namespace that has none", query: "?networkpolicy=np&namespace=default&type=ACNP", status: 400, err: "policies of type ACNP have no namespace"},
		{name: "type without its namespace", query: "?networkpolicy=np&type=ANNP", status: 400, err: "policies of type ANNP need a namespace"},
		{name: "absent policy of a type", query: "?networkpolicy=np&namespace=default&type=ANNP", status: 404, err: "NetworkPolicy default/np not found"},
		{name: "two policies", query: "?networkpolicy=twice&namespace=default", status: 400, err: "name a type"},
		{name: "one of two policies", query: "?networkpolicy=twice&namespace=default&type=ANNP", status: 200, flows: []string{"o1", "c1", "table=a, n_packets=1, n_bytes=2, ip"}},
		{name: "policy without rules on the switch", query: "?networkpolicy=twice&namespace=default&type=K8sNP", status: 200},
		{name: "unknown type", query: "?networkpolicy=np&type=XNP", status: 400, err: `type "XNP"`},
		{name: "type without policy", query: "?type=ACNP", status: 400, err: "only the flows of a networkpolicy have a type"},
		{name: "groups", query: "?groups=all", status: 400, err: `"groups" is not supported by this version; supported: pod or service with namespace, networkpolicy, table, table-names-only`},
		{name: "injection by table", query: "?table=3,priority%3D5", status: 404, err: "not found"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			HandleFunc(fakePipeline{}, store, fakePolicies{}, fakeServices{}, dumper)(w, httptest.NewRequest("GET", "/ovsflows"+tc.query, nil))
			require.Equal(t, tc.status, w.Code, w.Body)
			if tc.status != 200 {
				require.Contains(t, w.Body.String(), tc.err)
				return
			}
			var got []apis.OVSFlow
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			want := []apis.OVSFlow{}
			for _, flow := range tc.flows {
				want = append(want, apis.OVSFlow{Flow: flow})
			}
			require.Equal(t, want, got)
		})
	}

	w := httptest.NewRecorder()
	HandleFunc(fakePipeline{}, store, fakePolicies{}, nil, dumper)(w, httptest.NewRequest("GET", "/ovsflows?service=web&namespace=default", nil))
	require.Equal(t, 404, w.Code)
	require.Contains(t, w.Body.String(), "AntreaProxy is off")

	w = httptest.NewRecorder()
	HandleFunc(fakePipeline{err: errors.New("switch gone")}, store, fakePolicies{}, fakeServices{}, dumper)(w, httptest.NewRequest("GET", "/ovsflows?table=3", nil))
	require.Equal(t, 500, w.Code)
	require.Contains(t, w.Body.String(), "switch gone")
}
