// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const policiesJSON = `[
	{"metadata":{"name":"u1"},"rules":[{"direction":"In"}],"appliedToGroups":["g1"],"sourceRef":{"type":"K8sNetworkPolicy","namespace":"ns1","name":"web"}},
	{"metadata":{"name":"u2"},"rules":[{"direction":"In","appliedToGroups":["g2","g3"]},{"direction":"Out","appliedToGroups":["g2"]}],"priority":5,"tierPriority":250,
	 "sourceRef":{"type":"AntreaClusterNetworkPolicy","name":"b"}},
	{"metadata":{"name":"u3"},"rules":[],"appliedToGroups":["g1"],"priority":10.5,"tierPriority":250,"sourceRef":{"type":"AntreaNetworkPolicy","namespace":"ns1","name":"a"}},
	{"metadata":{"name":"u4"},"rules":[],"appliedToGroups":["g1"],"priority":1,"tierPriority":253,"sourceRef":{"type":"AntreaClusterNetworkPolicy","name":"c"}}]`

// show runs a definition with an answer of the server.
func show(t *testing.T, d *Definition, endpoint *Endpoint, body string, args ...string) (string, error) {
	t.Helper()
	cmd := newSubcommand(d, endpoint, func(context.Context, url.Values) ([]byte, error) { return []byte(body), nil })
	var out strings.Builder
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

func definition(t *testing.T, list []Definition, use string) *Definition {
	t.Helper()
	for i := range list {
		if list[i].Use == use {
			return &list[i]
		}
	}
	require.Fail(t, "no definition", use)
	return nil
}

func TestNetworkPolicies(t *testing.T) {
	agent := definition(t, networkPolicyDefinitions, "networkpolicy")
	text, err := show(t, agent, agent.Agent, policiesJSON)
	require.NoError(t, err)
	require.Equal(t, strings.TrimLeft(`
NAME APPLIED-TO RULES SOURCE                       TIER-PRIORITY PRIORITY
u3   g1         0     AntreaNetworkPolicy:ns1/a    250           10.5
u2   g2,g3      2     AntreaClusterNetworkPolicy:b 250           5
u4   g1         0     AntreaClusterNetworkPolicy:c 253           1
u1   g1         1     K8sNetworkPolicy:ns1/web     <NONE>        <NONE>
`, "\n"), text)
	controller := definition(t, controlPlaneDefinitions, "networkpolicy")
	list := `{"kind":"NetworkPolicyList","items":` + policiesJSON + `}`
	for _, tc := range []struct{ args, want string }{
		{"", "u3 u2 u4 u1"},
		{"--sort-by effectivePriority", "u2 u3 u1 u4"},
		{"--sort-by effectivepriority", "u2 u3 u1 u4"},
		{"--sort-by .metadata.name", "u1 u2 u3 u4"},
		{"--sort-by {.metadata.name}", "u1 u2 u3 u4"},
		{"--sort-by sourceRef.namespace", "u1 u3 u2 u4"},
		{"--sort-by .priority", "u4 u2 u3 u1"}, // numbers, and none last
		{"--sort-by .rules[0].direction", "u1 u2 u3 u4"},
		{"-T acnp", "u2 u4"},
		{"-S web", "u1"},
		{"-n ns1 --sort-by .metadata.name", "u1 u3"},
		{"-n ns1 -T ANNP", "u3"},
		{"-T BANP", ""},
	} {
		t.Run(tc.args, func(t *testing.T) {
			for body, d := range map[string]*Definition{policiesJSON: agent, list: controller} {
				endpoint := d.Agent
				if endpoint == nil {
					endpoint = d.Controller
				}
				text, err := show(t, d, endpoint, body, append(strings.Fields(tc.args), "-o", "json")...)
				require.NoError(t, err)
				var got []struct{ Metadata struct{ Name string } }
				require.NoError(t, json.Unmarshal([]byte(text), &got))
				var names []string
				for _, p := range got {
					names = append(names, p.Metadata.Name)
				}
				require.Equal(t, tc.want, strings.Join(names, " "))
			}
		})
	}
	_, err = show(t, agent, agent.Agent, policiesJSON, "--sort-by", ".absent")
	require.EqualError(t, err, `--sort-by: no policy has a field ".absent"`)
	_, err = show(t, agent, agent.Agent, policiesJSON, "--sort-by", ".a[")
	require.ErrorContains(t, err, `--sort-by: ".a[" is not a JSONPath`)
	text, err = show(t, agent, agent.Agent, "[]", "--sort-by", ".absent")
	require.NoError(t, err)
	require.Equal(t, "\n", text)
	require.Equal(t, url.Values{"type": {"ACNP"}}, agent.Agent.Query(url.Values{"type": {"ACNP"}, "sort-by": {".x"}}))
	require.Empty(t, controller.Controller.Query(url.Values{"type": {"ACNP"}, "sort-by": {".x"}}))
}

func TestMembers(t *testing.T) {
	atg := definition(t, networkPolicyDefinitions, "appliedtogroup")
	text, err := show(t, atg, atg.Agent, `[{"metadata":{"name":"g"},"groupMembers":[{"pod":{"namespace":"a","name":"p"}},{"node":{"name":"n"}},{"service":{"namespace":"a","name":"s"}}]}]`)
	require.NoError(t, err)
	require.Equal(t, "NAME PODS\ng    a/p,Node:n,Service:a/s\n", text)
	ag := definition(t, networkPolicyDefinitions, "addressgroup")
	text, err = show(t, ag, ag.Agent, `[{"metadata":{"name":"g"},"groupMembers":[{"pod":{"namespace":"a","name":"p"},"ips":["CgAAAQ=="]},{"node":{"name":"n"},"ips":["CgAAAg=="]}]}]`)
	require.NoError(t, err)
	require.Equal(t, "NAME POD-IPS  NODE-IPS\ng    10.0.0.1 10.0.0.2\n", text)
}

func TestQueryEndpoint(t *testing.T) {
	d := definition(t, queryDefinitions, "endpoint")
	text, err := show(t, d, d.Controller, `{"endpoints":[{"namespace":"ns1","name":"pod1",
		"policies":[{"name":"acnp","uid":"u1"},{"namespace":"ns1","name":"np","uid":"u2"}],
		"egressdstrules":[{"policyref":{"name":"acnp","uid":"u1"},"direction":"Out","ruleindex":0}]}]}`)
	require.NoError(t, err)
	require.Equal(t, strings.TrimLeft(`
Endpoint ns1/pod1
Applied Policies on Endpoint:
Name Namespace UID
acnp <NONE>    u1
np   ns1       u2
Egress Rules Referencing Endpoint as Destination:
Name Namespace Index UID
acnp <NONE>    0     u1
Ingress Rules Referencing Endpoint as Source: None
`, "\n"), text)
	text, err = show(t, d, d.Controller, `{"endpoints":[{"namespace":"ns1","name":"pod1"}]}`, "-o", "json")
	require.NoError(t, err)
	require.JSONEq(t, `{"endpoints":[{"namespace":"ns1","name":"pod1"}]}`, text)
}

func TestQueryEvaluation(t *testing.T) {
	d := definition(t, queryDefinitions, "networkpolicyevaluation")
	const header = "NAME   NAMESPACE POLICY-TYPE         RULE-INDEX DIRECTION ACTION\n"
	rule := func(ref, rule string) string { return `{"response":{"networkPolicy":` + ref + `,` + rule + `}}` }
	const np = `{"type":"K8sNetworkPolicy","namespace":"ns","name":"np"}`
	for _, tc := range []struct{ body, want string }{
		{rule(`{"type":"AntreaNetworkPolicy","namespace":"ns","name":"annp"}`, `"ruleIndex":3,"rule":{"direction":"In","action":"Drop"}`), "annp ns AntreaNetworkPolicy 3 In Drop"},
		{rule(np, `"ruleIndex":2147483647,"rule":{"direction":"Out"}`), "np ns K8sNetworkPolicy 2147483647 Out Isolate"},
		{rule(np, `"rule":{"direction":"In"}`), "np ns K8sNetworkPolicy 0 In Allow"},
		{`{}`, "<NONE> <NONE> <NONE> <NONE> <NONE> <NONE>"},
	} {
		text, err := show(t, d, d.Controller, tc.body)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		require.Len(t, lines, 2)
		require.Equal(t, strings.Fields(header), strings.Fields(lines[0]))
		require.Equal(t, tc.want, strings.Join(strings.Fields(lines[1]), " "))
	}
	for _, bad := range []string{"pod", "/pod", "ns/", "a/b/c", ""} {
		_, err := d.Controller.Body(url.Values{"source": {bad}, "destination": {"ns/pod"}})
		require.EqualError(t, err, `--source: "`+bad+`" is not a Pod; allowed: NAMESPACE/NAME`)
	}
}

// TestQueryPosts: the question is the body of a POST.
func TestQueryPosts(t *testing.T) {
	var method, path, body string
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		method, path = r.Method, r.URL.String()
		var question json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&question)
		body = string(question)
		w.WriteHeader(http.StatusCreated)
		_, _ = w.Write([]byte(`{}`))
	}))
	defer s.Close()
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte("secret"), 0o600))
	inController := Environment{Mode: ModeController, InPod: true}
	_, stderr, err := run(inController, tokenFile, "-s", s.URL, "query", "netpoleval", "-S", "a/b", "-D", "c/d")
	require.NoError(t, err, stderr)
	require.Equal(t, "POST", method)
	require.Equal(t, "/apis/controlplane.antrea.io/v1beta2/networkpolicyevaluation", path)
	require.JSONEq(t, `{"kind":"NetworkPolicyEvaluation","apiVersion":"controlplane.antrea.io/v1beta2","metadata":{},
		"request":{"source":{"pod":{"namespace":"a","name":"b"}},"destination":{"pod":{"namespace":"c","name":"d"}}}}`, body)
	_, _, err = run(inController, tokenFile, "-s", s.URL, "query", "endpoint", "-p", "b", "-n", "a")
	require.NoError(t, err)
	require.Equal(t, "GET", method)
	require.Equal(t, "/endpoint?namespace=a&pod=b", path)
}
