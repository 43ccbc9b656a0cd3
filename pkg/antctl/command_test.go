// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	antreaversion "github.com/antrea-oncache/antrea/pkg/version"
)

const (
	agentInfoJSON = `{"version":"v0.1.0","podRef":{"kind":"Pod","namespace":"kube-system","name":"antrea-agent-x"},"nodeRef":{"kind":"Node","name":"n1"},
		"nodeSubnets":["10.10.0.0/24","fd00:10::/64"],"ovsInfo":{"bridgeName":"br-int"},"networkPolicyControllerInfo":{"networkPolicyNum":3},
		"localPodNum":2,"agentConditions":[{"type":"AgentHealthy","status":"True","lastHeartbeatTime":null}],"networkInfo":{}}`
	podInterfacesJSON = `[
		{"name":"web","podNamespace":"shop","interfaceName":"web-abcdef","ips":["10.10.0.3"],"mac":"02:00:00:00:00:02","portUUID":"u2","ofPort":2,"containerID":"0123456789abcdef"},
		{"name":"db","podNamespace":"shop","interfaceName":"db-123456","ips":["10.10.0.2","fd00:10::2"],"mac":"02:00:00:00:00:01","portUUID":"u1","ofPort":1,"containerID":"short"},
		{"name":"dns","podNamespace":"kube-system","interfaceName":"dns-654321","ofPort":3}]`
	gatesJSON = `[{"component":"agent","name":"AntreaProxy","status":"Enabled","version":"GA"},{"component":"agent","name":"ONCache","status":"Disabled","version":"ALPHA"}]`
)

// server answers like an agent whose state only PUT changes, and records the last query.
func server(t *testing.T) (address, tokenFile string, lastQuery *url.Values) {
	t.Helper()
	lastQuery = &url.Values{}
	changes := map[string]string{"/loglevel": "level", "/oncache/mode": "mode"}
	answers := map[string]string{
		"/agentinfo": agentInfoJSON, "/podinterfaces": podInterfacesJSON, "/featuregates": gatesJSON,
		"/ovsflows": `[{"flow":"z"},{"flow":"a"}]`, "/version": `{"gitVersion":"v0.1.0"}`, "/loglevel": `{"level":2}`,
		"/fqdncache":         `[{"fqdnName":"a.example.com","ipAddress":"10.0.0.1","expirationTime":"2026-01-01T00:00:00Z"}]`,
		"/memberlist":        `[{"nodeName":"n1","ip":"192.0.2.1","status":"Alive"}]`,
		"/serviceexternalip": `[{"serviceName":"web","namespace":"ns1","externalIPPool":"p","externalIP":"192.0.2.9","assignedNode":"n1"}]`,
		"/egresses":          `[{"name":"e1","egressIP":"192.0.2.7","egressNode":"n1","pods":["a/p","a/q"],"state":"Assigned"},{"name":"e2","state":"NoAddress","reason":"the pool is full"}]`,
		"/oncache/mode":      `{"mode":"observe"}`, "/oncache/flush": `{"scope":"Pod ns1/pod1","entries":12}`,
	}
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*lastQuery = r.URL.Query()
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"Unauthorized","code":401}`))
		case (r.Method == http.MethodPut) != (r.URL.Path == "/oncache/flush" || changes[r.URL.Path] != "" && r.URL.Query().Has(changes[r.URL.Path])):
			http.Error(w, r.Method+" is wrong here", http.StatusMethodNotAllowed)
		case r.URL.Query().Get("name") == "absent":
			http.Error(w, `podinterface "absent" not found`, http.StatusNotFound)
		case r.URL.Query().Get("namespace") == "empty":
			_, _ = w.Write([]byte("[]"))
		case r.URL.Query().Has("groups"):
			http.Error(w, "groups is not enabled", http.StatusServiceUnavailable)
		case r.URL.Query().Get("table") == "garbage":
			_, _ = w.Write([]byte("<html>"))
		case r.URL.Query().Get("table") == "silent":
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Query().Get("table") == "slow":
			<-r.Context().Done()
		default:
			_, _ = w.Write([]byte(answers[r.URL.Path]))
		}
	}))
	t.Cleanup(s.Close)
	tokenFile = filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte("secret"), 0o600))
	return s.Listener.Addr().String(), tokenFile, lastQuery
}

func run(env Environment, tokenFile string, args ...string) (stdout, stderr string, err error) {
	var out, errOut bytes.Buffer
	cmd := NewCommand(env, tokenFile)
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs(args)
	err = cmd.Execute()
	return out.String(), errOut.String(), err
}

var inAgent = Environment{Mode: ModeAgent, InPod: true}

func TestOutput(t *testing.T) {
	defer func(v, status string) { antreaversion.Version, antreaversion.ReleaseStatus = v, status }(antreaversion.Version, antreaversion.ReleaseStatus)
	antreaversion.Version, antreaversion.ReleaseStatus = "v0.2.0", "released"
	address, tokenFile, lastQuery := server(t)
	for _, tc := range []struct {
		name  string
		args  []string
		query url.Values
		want  string
	}{
		{"addresses of names", []string{"get", "fqdncache", "-d", "*.example.com"}, url.Values{"domain": {"*.example.com"}},
			"FQDN          ADDRESS  EXPIRATION TIME\na.example.com 10.0.0.1 2026-01-01T00:00:00Z\n"},
		{"members", []string{"get", "ml"}, url.Values{}, "NODE IP        STATUS\nn1   192.0.2.1 Alive\n"},
		{"external addresses", []string{"get", "seip", "web", "-n", "ns1"}, url.Values{"name": {"web"}, "namespace": {"ns1"}},
			"NAMESPACE NAME EXTERNAL-IP-POOL EXTERNAL-IP ASSIGNED-NODE\nns1       web  p                192.0.2.9   n1\n"},
		{"Egresses", []string{"get", "eg"}, url.Values{},
			"NAME EGRESS-IP NODE   PODS    STATE     REASON\ne1   192.0.2.7 n1     a/p,a/q Assigned  <NONE>\ne2   <NONE>    <NONE> <NONE>  NoAddress the pool is full\n"},
		{"agentinfo", []string{"get", "agentinfo"}, url.Values{},
			"POD                        NODE STATUS  NODE-SUBNET               NETWORK-POLICIES ADDRESS-GROUPS APPLIED-TO-GROUPS LOCAL-PODS\n" +
				"kube-system/antrea-agent-x n1   Healthy 10.10.0.0/24,fd00:10::/64 3                0              0                 2\n"},
		{"agentinfo by alias as YAML", []string{"get", "ai", "-o", "yaml"}, url.Values{},
			"agentConditions:\n- lastHeartbeatTime: null\n  status: \"True\"\n  type: AgentHealthy\nlocalPodNum: 2\nnetworkInfo: {}\n" +
				"networkPolicyControllerInfo:\n  addressGroupNum: 0\n  appliedToGroupNum: 0\n  networkPolicyNum: 3\n" +
				"nodeRef:\n  kind: Node\n  name: n1\nnodeSubnets:\n- 10.10.0.0/24\n- fd00:10::/64\novsInfo:\n  bridgeName: br-int\n" +
				"podRef:\n  kind: Pod\n  name: antrea-agent-x\n  namespace: kube-system\nversion: v0.1.0\n"},
		{"podinterface sorted, cells missing", []string{"get", "podinterface"}, url.Values{},
			"NAMESPACE   NAME INTERFACE-NAME IP                   MAC               PORT-UUID OF-PORT CONTAINER-ID\n" +
				"kube-system dns  dns-654321     <NONE>               <NONE>            <NONE>    3       <NONE>\n" +
				"shop        db   db-123456      10.10.0.2,fd00:10::2 02:00:00:00:00:01 u1        1       short\n" +
				"shop        web  web-abcdef     10.10.0.3            02:00:00:00:00:02 u2        2       0123456789a\n"},
		{"podinterface of a Namespace, none", []string{"get", "pi", "-n", "empty"}, url.Values{"namespace": {"empty"}}, "\n"},
		{"podinterface of a Namespace, none, JSON", []string{"get", "pi", "-n", "empty", "-o", "json"}, url.Values{"namespace": {"empty"}}, "[]\n"},
		{"ovsflows unsorted", []string{"get", "ovsflows"}, url.Values{}, "\nz\na\n"},
		{"ovsflows of a Pod", []string{"get", "of", "-p", "web", "-n", "shop", "-o", "JSON"}, url.Values{"pod": {"web"}, "namespace": {"shop"}},
			"[\n  {\n    \"flow\": \"z\"\n  },\n  {\n    \"flow\": \"a\"\n  }\n]\n"},
		{"ovsflows, a switch", []string{"get", "of", "--table-names-only"}, url.Values{"table-names-only": {"true"}}, "\nz\na\n"},
		{"ovsflows, a switch off", []string{"get", "of", "--table-names-only=false"}, url.Values{}, "\nz\na\n"},
		{"featuregates", []string{"get", "featuregates"}, url.Values{},
			"Antrea Agent Feature Gates\nFEATUREGATE STATUS   VERSION\nAntreaProxy Enabled  GA\nONCache     Disabled ALPHA\n"},
		{"version", []string{"version"}, url.Values{}, "agentVersion: v0.1.0\nantctlVersion: v0.2.0\nproduct: antrea-oncache\n"},
		{"version as JSON", []string{"version", "-o", "json"}, url.Values{}, "{\n  \"product\": \"antrea-oncache\",\n  \"agentVersion\": \"v0.1.0\",\n  \"antctlVersion\": \"v0.2.0\"\n}\n"},
		{"version as table", []string{"version", "-o", "table"}, url.Values{}, "ANTCTL-VERSION AGENT-VERSION\nv0.2.0         v0.1.0\n"},
		{"log-level", []string{"log-level"}, url.Values{}, "level: 2\n"},
		{"log-level set", []string{"log-level", "2"}, url.Values{"level": {"2"}}, "level: 2\n"},
		{"mode", []string{"oncache", "mode"}, url.Values{}, "MODE\nobserve\n"},
		{"mode set", []string{"oncache", "mode", "observe"}, url.Values{"mode": {"observe"}}, "MODE\nobserve\n"},
		{"flush a Pod", []string{"oncache", "flush", "--pod", "ns1/pod1"}, url.Values{"pod": {"ns1/pod1"}}, "FLUSHED      ENTRIES\nPod ns1/pod1 12\n"},
		{"flush all, JSON", []string{"oncache", "flush", "--all", "-o", "json"}, url.Values{"all": {"true"}}, "{\n  \"scope\": \"Pod ns1/pod1\",\n  \"entries\": 12\n}\n"},
		{"server as URL", []string{"version", "-s", "https://" + address}, url.Values{}, "agentVersion: v0.1.0\nantctlVersion: v0.2.0\nproduct: antrea-oncache\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stdout, stderr, err := run(inAgent, tokenFile, append([]string{"-s", address}, tc.args...)...)
			require.NoError(t, err)
			require.Empty(t, stderr)
			require.Equal(t, tc.want, stdout)
			require.Equal(t, tc.query, *lastQuery)
		})
	}
}

// TestVersionWithoutServer: the first command after a download needs no cluster to name what was downloaded.
func TestVersionWithoutServer(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	defer func(v, status string) { antreaversion.Version, antreaversion.ReleaseStatus = v, status }(antreaversion.Version, antreaversion.ReleaseStatus)
	antreaversion.Version, antreaversion.ReleaseStatus = "v0.2.0", "released"
	for format, want := range map[string]string{"yaml": "antctlVersion: v0.2.0\nproduct: antrea-oncache\n", "table": "ANTCTL-VERSION\nv0.2.0\n"} {
		stdout, stderr, err := run(Environment{Mode: ModeController}, "", "version", "-o", format)
		require.ErrorContains(t, err, "no kubeconfig; name one with --kubeconfig or in the environment variable KUBECONFIG")
		require.Contains(t, stderr, "no kubeconfig")
		require.Equal(t, want, stdout)
	}
}

func TestErrors(t *testing.T) {
	address, tokenFile, _ := server(t)
	wrongToken := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(wrongToken, []byte("guess"), 0o600))
	for _, tc := range []struct {
		name, token string
		args        []string
		want        string
	}{
		{"absent object", tokenFile, []string{"get", "pi", "absent"}, "Error: podinterface \"absent\" not found\n"},
		{"feature off", tokenFile, []string{"get", "of", "-G", "all"}, "Error: groups is not enabled\n"},
		{"wrong token", wrongToken, []string{"get", "pi"}, "Error: Unauthorized\n"},
		{"no token file", tokenFile + "x", []string{"get", "pi"}, "is it running?"},
		{"answer is not JSON", tokenFile, []string{"get", "of", "-T", "garbage"}, "decoding the server's answer"},
		{"answer says nothing", tokenFile, []string{"get", "of", "-T", "silent"}, "the server answers 502 Bad Gateway"},
		{"timeout", tokenFile, []string{"get", "of", "-T", "slow", "-t", "50ms"}, "deadline exceeded"},
		{"format", tokenFile, []string{"version", "-o", "xml"}, `--output: "xml" is not a format; allowed: table, json, yaml, jsonpath=TEMPLATE`},
		{"no format for featuregates", tokenFile, []string{"get", "featuregates", "-o", "json"}, "unknown shorthand flag"},
		{"unknown command", tokenFile, []string{"get", "nonsense"}, "unknown command"},
		{"too many arguments", tokenFile, []string{"get", "podinterface", "a", "b"}, "accepts at most 1 arg"},
		{"server is not an address", tokenFile, []string{"get", "pi", "-s", "http://x"}, `--server: "http://x" is not an address`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			stdout, stderr, err := run(inAgent, tc.token, append([]string{"-s", address}, tc.args...)...)
			require.Error(t, err)
			require.Empty(t, stdout)
			require.Contains(t, stderr, tc.want)
		})
	}
	_, stderr, err := run(inAgent, tokenFile, "version", "-s", "127.0.0.1:1")
	require.Error(t, err)
	require.Contains(t, stderr, "connection refused")
}

func TestControllerModeThroughKubernetes(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/apis/system.antrea.io/v1beta1/controllerinfos/antrea-controller" && r.Header.Get("Authorization") == "Bearer user" {
			_, _ = w.Write([]byte(`{"kind":"AntreaControllerInfo","version":"v0.3.0","podRef":{"namespace":"kube-system","name":"antrea-controller-x"},` +
				`"nodeRef":{"name":"n1"},"networkPolicyControllerInfo":{"networkPolicyNum":3,"addressGroupNum":2,"appliedToGroupNum":1},` +
				`"connectedAgentNum":4,"controllerConditions":[{"type":"ControllerHealthy","status":"True","lastHeartbeatTime":null}]}`))
			return
		}
		// The query is part of the answer, so that a test can check it.
		name := r.URL.Query().Get("fieldSelector")
		switch strings.TrimPrefix(r.URL.Path, "/apis/controlplane.antrea.io/v1beta2/") {
		case "networkpolicies":
			_, _ = w.Write([]byte(`{"items":[{"metadata":{"name":"uid"},"rules":[{"direction":"In"}],"appliedToGroups":["g"],` +
				`"sourceRef":{"type":"K8sNetworkPolicy","namespace":"ns","name":"` + name + `"}}]}`))
		case "appliedtogroups":
			_, _ = w.Write([]byte(`{"items":[{"metadata":{"name":"g"},"groupMembers":[{"pod":{"namespace":"ns","name":"pod"}}]}]}`))
		case "addressgroups":
			_, _ = w.Write([]byte(`{"items":[{"metadata":{"name":"g"},"groupMembers":[{"ips":["CgAAAQ=="]}]}]}`))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	kubeconfig := kubeconfigFor(t, s)

	stdout, _, err := run(Environment{Mode: ModeController}, "", "version", "-k", kubeconfig, "-o", "json")
	require.NoError(t, err)
	require.Contains(t, stdout, `"controllerVersion": "v0.3.0"`)

	t.Setenv("KUBECONFIG", kubeconfig)
	stdout, _, err = run(Environment{Mode: ModeController}, "", "version")
	require.NoError(t, err)
	require.Contains(t, stdout, "controllerVersion: v0.3.0\n")

	for command, want := range map[string]string{
		"controllerinfo":    "kube-system/antrea-controller-x n1 Healthy 3 2 1 4",
		"networkpolicy":     "uid g 1 K8sNetworkPolicy:ns/ <NONE> <NONE>",
		"networkpolicy uid": "uid g 1 K8sNetworkPolicy:ns/metadata.name=uid <NONE> <NONE>",
		"atg":               "g ns/pod",
		"ag":                "g 10.0.0.1 <NONE>",
	} {
		stdout, _, err = run(Environment{Mode: ModeController}, "", append([]string{"get"}, strings.Fields(command)...)...)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		require.Len(t, lines, 2, command)
		require.Equal(t, want, strings.Join(strings.Fields(lines[1]), " "), command)
	}

	stdout, _, err = run(Environment{Mode: ModeController}, "", "get", "ci", "-o", "json")
	require.NoError(t, err)
	var info map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &info))
	require.EqualValues(t, 4, info["connectedAgentNum"])

	_, stderr, err := run(Environment{Mode: ModeController}, "", "version", "-s", "https://127.0.0.1:1")
	require.Error(t, err)
	require.Contains(t, stderr, "127.0.0.1:1")

	_, stderr, err = run(Environment{Mode: ModeController}, "", "version", "-k", kubeconfig+"x", "-t", "1s")
	require.Error(t, err)
	require.Contains(t, stderr, "finding the Kubernetes API")
}

func TestCommandsByMode(t *testing.T) {
	for _, tc := range []struct {
		podName string
		env     Environment
		exist   []string
		absent  []string
	}{
		{"antrea-agent-abcde", inAgent, []string{"version", "log-level", "get"}, []string{"proxy", "status"}},
		{"antrea-controller-1", Environment{Mode: ModeController, InPod: true}, []string{"version", "get", "proxy"}, []string{"log-level", "status"}},
		{"flow-aggregator-1", Environment{Mode: ModeFlowAggregator, InPod: true}, nil, []string{"version", "get"}},
		{"", Environment{Mode: ModeController}, []string{"version", "get", "proxy", "log-level", "oncache", "status"}, nil},
		{"web-1", Environment{Mode: ModeController}, []string{"version", "get", "log-level"}, nil},
	} {
		t.Run("POD_NAME="+tc.podName, func(t *testing.T) {
			require.Equal(t, tc.env, DetectEnvironment(tc.podName))
			names := map[string]bool{}
			for _, cmd := range NewCommand(tc.env, "").Commands() {
				names[cmd.Name()] = true
			}
			for _, name := range tc.exist {
				require.True(t, names[name], name)
			}
			for _, name := range tc.absent {
				require.False(t, names[name], name)
			}
		})
	}
}

func TestDefinitionsAreComplete(t *testing.T) {
	for _, d := range definitions {
		require.NotEmpty(t, d.Short, d.Use)
		require.False(t, d.Agent == nil && d.Controller == nil, d.Use)
		for _, e := range []*Endpoint{d.Agent, d.Controller} {
			if e != nil {
				require.True(t, e.Response != nil || e.ResponseFor != nil, d.Use)
				require.Equal(t, byte('/'), e.Path[0], d.Use)
			}
		}
	}
}

func TestTimeoutFlagBoundsTheRequest(t *testing.T) {
	address, tokenFile, _ := server(t)
	begin := time.Now()
	_, _, err := run(inAgent, tokenFile, "-s", address, "get", "of", "-T", "slow", "-t", "10ms")
	require.Error(t, err)
	require.Less(t, time.Since(begin), 20*time.Second)
}

// TestAbsentCommands: those who collect information accept only this answer from a command that fails.
func TestAbsentCommands(t *testing.T) {
	for _, command := range []string{
		"trace-packet", "get podmulticaststats", "get bgppolicy", "get bgppeers", "get bgproutes",
	} {
		for _, arguments := range []string{"", " name -n ns1 --domain example.com"} {
			stdout, stderr, err := run(inAgent, "", strings.Fields(command+arguments)...)
			require.Error(t, err)
			require.Empty(t, stdout)
			require.Equal(t, "Error: "+strings.TrimPrefix(command, "get ")+" is not enabled\n", stderr)
		}
	}
	stdout, _, err := run(inAgent, "", "get")
	require.NoError(t, err)
	require.NotContains(t, stdout, "bgppolicy", "help offers only what exists")

	// Outside, Antrea's own tests demand success of a traceflow without arguments, which says there what is missing.
	_, stderr, err := run(Environment{Mode: ModeController}, "", "traceflow")
	require.NoError(t, err)
	require.Contains(t, stderr, "Name a source (-S)")
}

// TestCommandsOfAntreasTests: Antrea's end-to-end tests run these commands in an agent's Pod, and outside with the service account
// antctl.
func TestCommandsOfAntreasTests(t *testing.T) {
	for env, commands := range map[Environment][]string{
		inAgent: {
			"version", "log-level", "trace-packet", "supportbundle", "traceflow", "get podmulticaststats", "get networkpolicy", "get appliedtogroup",
			"get addressgroup", "get agentinfo", "get podinterface", "get ovsflows", "get serviceexternalip", "get memberlist", "get bgppolicy",
			"get bgppeers", "get bgproutes", "get fqdncache", "get featuregates",
		},
		{Mode: ModeController}: {
			"version", "get networkpolicy", "get appliedtogroup", "get addressgroup", "get controllerinfo", "get featuregates", "supportbundle",
			"traceflow", "proxy", "query endpoint", "query networkpolicyevaluation",
		},
	} {
		for _, command := range commands {
			found, rest, err := NewCommand(env, "").Find(strings.Fields(command))
			require.NoError(t, err, command)
			require.Empty(t, rest, command)
			require.Equal(t, "antctl "+command, found.CommandPath())
		}
	}
	_, stderr, err := run(Environment{Mode: ModeController}, "", "version", "--kubeconfig", "/xyz")
	require.Error(t, err)
	require.Contains(t, stderr, "/xyz")
}
