// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"encoding/json"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// newNodes is a cluster with an agent on n1, which answers with handler, and none on n2.
func newNodes(t *testing.T, handler http.HandlerFunc) *cluster {
	t.Helper()
	c := newCluster(t, agentServerName, handler)
	var infos []map[string]any
	for _, name := range []string{"n2", "n1"} {
		infos = append(infos, map[string]any{"metadata": map[string]any{"name": name}})
	}
	c.objects[agentInfosPath] = map[string]any{"items": infos}
	c.objects["/api/v1/nodes"] = corev1.NodeList{Items: []corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "n2"}}, {ObjectMeta: metav1.ObjectMeta{Name: "n1"}},
	}}
	return c
}

// TestAgentFromOutside: what an agent answers in its Pod is reached from anywhere, for one Node or all.
func TestAgentFromOutside(t *testing.T) {
	c := newNodes(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/podinterfaces":
			_, _ = w.Write([]byte(podInterfacesJSON))
		case "/featuregates":
			_, _ = w.Write([]byte(gatesJSON))
		case "/oncache/flush":
			_ = json.NewEncoder(w).Encode(map[string]any{"scope": r.Method + " " + r.URL.RawQuery, "entries": 7})
		default:
			http.NotFound(w, r)
		}
	})
	for name, tc := range map[string]struct {
		args   []string
		stdout string
		err    string
	}{
		"one Node": {
			args: []string{"get", "podinterface", "web", "-n", "shop", "--node", "n1", "-o", "json"}, stdout: `"name": "web"`,
		},
		"all Nodes": {
			args: []string{"get", "pi", "-A"}, stdout: "NODE NAMESPACE   NAME", err: `node n2: finding the agent of Node n2: /apis/crd.antrea.io/v1beta1/antreaagentinfos/n2 is absent`,
		},
		"all Nodes, data":   {args: []string{"get", "pi", "-A", "-o", "yaml"}, stdout: "n1:\n- ", err: "node n2: "},
		"all Nodes, text":   {args: []string{"get", "featuregates", "-A"}, stdout: "Node n1\nAntrea Agent Feature Gates\n", err: "node n2: "},
		"another Node":      {args: []string{"get", "pi", "--node", "n3"}, err: "finding the agent of Node n3"},
		"no Node's name":    {args: []string{"get", "pi", "--node", "../x"}, err: `"../x" cannot be the name of a Node`},
		"no Node":           {args: []string{"get", "oncache"}, err: `"antctl get oncache" asks an agent: name its Node with --node, ask all with --all-nodes`},
		"both":              {args: []string{"get", "pi", "-A", "--node", "n1"}, err: "--node and --all-nodes exclude each other"},
		"a watch of all":    {args: []string{"get", "oncache", "-A", "--watch"}, err: "--watch shows one Node: name it with --node"},
		"the remote Node":   {args: []string{"oncache", "flush", "--node", "n1", "--remote-node", "n2"}, stdout: "PUT node=n2"},
		"an unknown format": {args: []string{"get", "pi", "-A", "-o", "xml"}, err: `"xml" is not a format`},
	} {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, err := run(outside, "", append(tc.args, "-k", c.kubeconfig)...)
			if tc.err == "" {
				require.NoError(t, err, stderr)
			} else {
				require.ErrorContains(t, err, tc.err)
			}
			require.Contains(t, stdout, tc.stdout)
		})
	}
}

// TestNoAgentAnywhere: a cluster without agents is an error, not an empty answer.
func TestNoAgentAnywhere(t *testing.T) {
	c := newNodes(t, http.NotFound)
	c.objects[agentInfosPath] = map[string]any{"items": []any{}}
	stdout, _, err := run(outside, "", "get", "pi", "-A", "-k", c.kubeconfig)
	require.ErrorContains(t, err, "there is no AntreaAgentInfo")
	require.Empty(t, stdout)
}

// statusAgent answers as an agent whose cache is Active, unless the gate is off, and which has problems.
func statusAgent(gateOff *atomic.Bool, problems *atomic.Value) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/agentinfo":
			_, _ = w.Write([]byte(agentInfoJSON))
		case r.URL.Path == "/problems":
			_, _ = w.Write([]byte(problems.Load().(string)))
		case gateOff.Load():
			http.Error(w, "oncache is not enabled", http.StatusServiceUnavailable)
		default:
			_, _ = w.Write([]byte(`{"state":"Active","egress":{"hits":30,"misses":1,"entries":3},"ingress":{"hits":60,"misses":9,"entries":4}}`))
		}
	}
}

func TestStatus(t *testing.T) {
	var gateOff atomic.Bool
	var problems atomic.Value
	problems.Store("[]")
	c := newNodes(t, statusAgent(&gateOff, &problems))
	c.objects[controllerInfoPath] = controllerInfo{Version: "v0.1.0", ConnectedAgentNum: 1, ControllerConditions: []controllerCondition{{Type: "ControllerHealthy", Status: "True"}}}
	stdout, _, err := run(outside, "", "status", "-k", c.kubeconfig)
	require.ErrorContains(t, err, "not healthy", "n2 has no agent")
	require.Contains(t, stdout, "Controller: v0.1.0, Healthy, 1 connected agents\nNODE VERSION HEALTHY   ONCACHE HIT-RATE FLOWS PODS POLICIES PROBLEMS\nn1   v0.1.0  yes       Active  90.00 %  7     2    3        0\nn2   -       no answer")
	require.Contains(t, stdout, "n2: finding the agent of Node n2")
	require.Contains(t, stdout, "ONCache is active on 1 of 2 Nodes\n")

	c.objects["/api/v1/nodes"] = corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}}
	stdout, _, err = run(outside, "", "status", "-k", c.kubeconfig)
	require.NoError(t, err, stdout)

	gateOff.Store(true)
	stdout, _, err = run(outside, "", "status", "-k", c.kubeconfig)
	require.NoError(t, err, "a cluster without the gate is healthy")
	require.Contains(t, stdout, "ONCache is active on 0 of 1 Nodes\n")

	problems.Store(`[{"reason":"PodDisconnected","message":"its device was removed"}]`)
	stdout, _, err = run(outside, "", "status", "-k", c.kubeconfig, "-o", "json")
	require.Error(t, err)
	var status clusterStatus
	require.NoError(t, json.Unmarshal([]byte(stdout), &status))
	require.False(t, status.Healthy)
	require.Equal(t, "PodDisconnected", status.Nodes[0].Problems[0].Reason)

	delete(c.objects, controllerInfoPath)
	stdout, _, err = run(outside, "", "status", "-k", c.kubeconfig)
	require.Error(t, err)
	require.Contains(t, stdout, "Controller: no answer: ")

	_, _, err = run(outside, "", "status", "-k", c.kubeconfig+"x")
	require.Error(t, err)
}

// TestStatusWaits: with --wait the command ends as soon as everything is healthy.
func TestStatusWaits(t *testing.T) {
	var gateOff atomic.Bool
	var problems atomic.Value
	problems.Store(`[{"reason":"PodDisconnected"}]`)
	agent := statusAgent(&gateOff, &problems)
	var looks atomic.Int32
	c := newNodes(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/problems" && looks.Add(1) == 2 {
			problems.Store("[]")
		}
		agent(w, r)
	})
	c.objects[controllerInfoPath] = controllerInfo{ControllerConditions: []controllerCondition{{Type: "ControllerHealthy", Status: "True"}}}
	c.objects["/api/v1/nodes"] = corev1.NodeList{Items: []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}}}
	stdout, _, err := run(outside, "", "status", "--wait", "5m", "-k", c.kubeconfig)
	require.NoError(t, err, stdout)
	require.Equal(t, int32(2), looks.Load())
}
