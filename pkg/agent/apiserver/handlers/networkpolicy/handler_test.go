// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

type fakeQuerier struct{ policies []*v1beta2.NetworkPolicy }

func (q *fakeQuerier) NetworkPolicies() []*v1beta2.NetworkPolicy {
	return append([]*v1beta2.NetworkPolicy{}, q.policies...)
}

func (q *fakeQuerier) AddressGroups() []*v1beta2.AddressGroup { return nil }

func (q *fakeQuerier) AppliedToGroups() []*v1beta2.AppliedToGroup {
	return []*v1beta2.AppliedToGroup{{
		ObjectMeta:   metav1.ObjectMeta{Name: "g1"},
		GroupMembers: []v1beta2.GroupMember{{Pod: &v1beta2.PodReference{Namespace: "ns1", Name: "web"}}},
	}}
}

func (q *fakeQuerier) RulesOf(name string) []*policy.Rule {
	if name != "uid1" {
		return nil
	}
	return []*policy.Rule{{Effect: policy.Kubernetes, FlowID: 7, Direction: policy.Egress}, {Effect: policy.Kubernetes, FlowID: 8, Direction: policy.Ingress}}
}

func (q *fakeQuerier) Enforced(name string) bool { return name == "uid1" }

func internalPolicy(name, group, namespace, source string) *v1beta2.NetworkPolicy {
	return &v1beta2.NetworkPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name}, AppliedToGroups: []string{group},
		SourceRef: &v1beta2.NetworkPolicyReference{Type: v1beta2.K8sNetworkPolicy, Namespace: namespace, Name: source},
	}
}

func get(t *testing.T, handle http.HandlerFunc, query url.Values) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	handle(w, httptest.NewRequest(http.MethodGet, "/?"+query.Encode(), nil))
	return w.Code, w.Body.String()
}

func TestPolicies(t *testing.T) {
	q := &fakeQuerier{policies: []*v1beta2.NetworkPolicy{internalPolicy("uid1", "g1", "ns1", "a"), internalPolicy("uid2", "g2", "ns1", "b"), internalPolicy("uid3", "g2", "ns2", "a"), {
		// It is applied to the group by a rule.
		ObjectMeta: metav1.ObjectMeta{Name: "uid4"}, Rules: []v1beta2.NetworkPolicyRule{{AppliedToGroups: []string{"g1"}}},
		SourceRef: &v1beta2.NetworkPolicyReference{Type: v1beta2.AntreaClusterNetworkPolicy, Name: "a"},
	}}}
	handle := HandlePolicies(q, func(context.Context) (map[uint32]apis.RuleStats, error) {
		return map[uint32]apis.RuleStats{7: {Sessions: 2, Packets: 3, Bytes: 4}}, nil
	})
	for _, test := range []struct {
		name  string
		query url.Values
		want  []string
	}{
		{"all", nil, []string{"uid1", "uid2", "uid3", "uid4"}},
		{"name", url.Values{"name": {"uid2"}}, []string{"uid2"}},
		{"namespace", url.Values{"namespace": {"ns1"}}, []string{"uid1", "uid2"}},
		{"source", url.Values{"source": {"a"}}, []string{"uid1", "uid3", "uid4"}},
		{"source and namespace", url.Values{"source": {"a"}, "namespace": {"ns2"}}, []string{"uid3"}},
		{"type", url.Values{"type": {"k8snp"}}, []string{"uid1", "uid2", "uid3"}},
		{"type of the cluster", url.Values{"type": {"ACNP"}}, []string{"uid4"}},
		{"type without policies", url.Values{"type": {"BANP"}}, nil},
		{"Pod", url.Values{"pod": {"ns1/web"}}, []string{"uid1", "uid4"}},
		{"Pod without policies", url.Values{"pod": {"ns1/other"}}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, body := get(t, handle, test.query)
			require.Equal(t, http.StatusOK, code, body)
			var list []apis.NetworkPolicy
			require.NoError(t, json.Unmarshal([]byte(body), &list))
			var names []string
			for _, p := range list {
				names = append(names, p.Name)
				require.Equal(t, q.Enforced(p.Name), p.Enforced)
				if p.Name == "uid1" {
					require.Equal(t, []apis.RealizedRule{
						{FlowID: 7, Direction: v1beta2.DirectionOut, Stats: &apis.RuleStats{Sessions: 2, Packets: 3, Bytes: 4}},
						{FlowID: 8, Direction: v1beta2.DirectionIn, Stats: &apis.RuleStats{}},
					}, p.Realized)
				}
			}
			require.Equal(t, test.want, names)
		})
	}
	for _, test := range []struct {
		query url.Values
		code  int
		want  string
	}{
		{url.Values{"name": {"absent"}}, http.StatusNotFound, "networkpolicy \"absent\" not found\n"},
		{url.Values{"type": {"XNP"}}, http.StatusBadRequest, "type \"XNP\": allowed: K8sNP, ACNP, ANNP, BANP, ANP, K8sCNP\n"},
		{url.Values{"name": {"uid1"}, "source": {"a"}}, http.StatusBadRequest, "with a name, none of the other options should be set: namespace, pod, source, type\n"},
		{url.Values{"pod": {"ns1/web"}, "namespace": {"ns1"}}, http.StatusBadRequest, "pod and namespace should not be set together: pod is NAMESPACE/NAME\n"},
		{url.Values{"pod": {"web"}}, http.StatusBadRequest, "pod \"web\": must be NAMESPACE/NAME\n"},
	} {
		code, body := get(t, handle, test.query)
		require.Equal(t, test.code, code)
		require.Equal(t, test.want, body)
	}
}

func TestPoliciesWithoutStats(t *testing.T) {
	q := &fakeQuerier{policies: []*v1beta2.NetworkPolicy{internalPolicy("uid1", "g1", "ns1", "a")}}
	code, body := get(t, HandlePolicies(q, func(context.Context) (map[uint32]apis.RuleStats, error) { return nil, errors.New("no answer") }), nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, `"flowID":7`)
	require.NotContains(t, body, "stats")
}

func TestGroups(t *testing.T) {
	code, body := get(t, HandleAppliedToGroups(&fakeQuerier{}), nil)
	require.Equal(t, http.StatusOK, code)
	require.Contains(t, body, "\"web\"")
	code, body = get(t, HandleAppliedToGroups(&fakeQuerier{}), url.Values{"name": {"absent"}})
	require.Equal(t, http.StatusNotFound, code)
	require.Equal(t, "appliedtogroup \"absent\" not found\n", body)
	_, body = get(t, HandleAddressGroups(&fakeQuerier{}), nil)
	require.JSONEq(t, "[]", body)
}
