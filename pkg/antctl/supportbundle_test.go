// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/system/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/supportbundle/bundletest"
)

// bundleServer is the API of a component, which needs a few questions for a bundle.
type bundleServer struct {
	component, content string

	mu    sync.Mutex
	polls int
	since string
	// change, if set, changes the state that clients get.
	change func(*v1beta1.SupportBundle)
}

func (b *bundleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	path := v1beta1.SupportBundlePath + "/" + b.component
	sum := sha256.Sum256([]byte(b.content))
	state := v1beta1.SupportBundle{Status: v1beta1.SupportBundleStatusCollecting}
	switch {
	case r.Header.Get("Authorization") == "":
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	case r.Method == http.MethodPost && r.URL.Path == v1beta1.SupportBundlePath:
		var wanted v1beta1.SupportBundle
		if err := json.NewDecoder(r.Body).Decode(&wanted); err != nil || wanted.Name != b.component {
			http.Error(w, "bad bundle", http.StatusBadRequest)
			return
		}
		b.since = wanted.Since
		w.WriteHeader(http.StatusCreated)
	case r.Method == http.MethodGet && r.URL.Path == path:
		if b.polls++; b.polls > 1 {
			state = v1beta1.SupportBundle{Status: v1beta1.SupportBundleStatusCollected, Sum: hex.EncodeToString(sum[:]), Size: uint32(len(b.content))}
		}
		if b.change != nil {
			b.change(&state)
		}
	case r.Method == http.MethodGet && r.URL.Path == path+"/download":
		_, _ = io.WriteString(w, b.content)
		return
	default:
		http.NotFound(w, r)
		return
	}
	_ = json.NewEncoder(w).Encode(state)
}

// bundleCluster has Node n1 with an agent, and Node n2 whose agent has never started. The controller is absent unless
// the test adds it.
func bundleCluster(t *testing.T, b *bundleServer) *cluster {
	serverName := "localhost"
	if b.component == "controller" {
		serverName = "antrea.kube-system.svc"
	}
	c := newCluster(t, serverName, b.ServeHTTP)
	node := func(name string) corev1.Node { return corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	c.objects["/api/v1/nodes"] = corev1.NodeList{Items: []corev1.Node{node("n2"), node("n1")}}
	c.objects["/api/v1/pods"] = corev1.PodList{Items: []corev1.Pod{{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": `{"value":"hunter2"}`, "kubernetes.io/ingress-bandwidth": "1M",
			"example.com/note": "db password: correct horse hunter2", "example.com/database": "postgres://app@db:hunter2@db/x",
		}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Command: []string{"app", "--password", "hunter2", "--password=sword hunter2"},
			Args: []string{"--db-password=hunter2", longCommand, "postgres://app@db:hunter2@db/x"}, Env: []corev1.EnvVar{{Name: "SOME", Value: "hunter2"}}}}},
	}}}
	return c
}

// longCommand is broken into two lines in YAML, after --password.
var longCommand = "exec /usr/bin/database-client " + strings.Repeat("-", 28) + " --user root --password hunter2 --verbose"

var outside = Environment{Mode: ModeController}

func entries(t *testing.T, directory string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(directory)
	require.NoError(t, err)
	for _, e := range list {
		info, err := e.Info()
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm(), e.Name())
		names = append(names, e.Name())
	}
	return names
}

func TestSupportBundleOfTheCluster(t *testing.T) {
	b := &bundleServer{component: "agent", content: "the bundle of n1"}
	c := bundleCluster(t, b)
	directory := filepath.Join(t.TempDir(), "bundle")
	stdout, stderr, err := run(outside, "", "supportbundle", "-k", c.kubeconfig, "-d", directory, "--since", "2h")
	require.Error(t, err)
	require.Empty(t, stdout)
	require.Contains(t, stderr, "[3/3] ")
	require.Regexp(t, `Node n1: 1 KiB in`, stderr)
	require.Contains(t, stderr, "2 parts of the support bundle are missing; the rest is in "+directory+":\n")
	require.Contains(t, stderr, "\nNode n2: finding the agent of Node n2")
	require.NotContains(t, stderr, `\n`)
	require.Contains(t, stderr, "controller: ", "its certificate is not the controller's")
	require.Equal(t, []string{"agent_n1.tar.gz", "clusterinfo"}, entries(t, directory))
	content, err := os.ReadFile(filepath.Join(directory, "agent_n1.tar.gz"))
	require.NoError(t, err)
	require.Equal(t, "the bundle of n1", string(content))
	require.Equal(t, "2h0m0s", b.since)

	info, err := os.ReadFile(filepath.Join(directory, "clusterinfo"))
	require.NoError(t, err)
	require.NotContains(t, string(info), "hunter2")
	for _, part := range []string{"name: n2", "name: web", "kubernetes.io/ingress-bandwidth: 1M", "name: SOME", "# \"not in the cluster information: /apis/apps/v1/deployments: "} {
		require.Contains(t, string(info), part)
	}
	require.Contains(t, stderr, "not in the cluster information: /apis/apps/v1/deployments: ")
}

func TestSupportBundleOfTheController(t *testing.T) {
	c := bundleCluster(t, &bundleServer{component: "controller", content: "x"})
	directory := t.TempDir()
	stdout, stderr, err := run(outside, "", "supportbundle", "-k", c.kubeconfig, "-d", directory, "--controller-only")
	require.NoError(t, err, stderr)
	require.Equal(t, "Created bundle under "+directory+"\n", stdout)
	require.Equal(t, []string{"clusterinfo", "controller.tar.gz"}, entries(t, directory))
}

// TestSupportBundleOfAFailedCheck: the standard output is the report's alone. Here the API has no Deployment of the controller.
func TestSupportBundleOfAFailedCheck(t *testing.T) {
	c := bundleCluster(t, &bundleServer{component: "agent", content: "the bundle of n1"})
	directory := filepath.Join(t.TempDir(), "bundle")
	stdout, stderr, err := run(outside, "", "check", "installation", "-k", c.kubeconfig, "-o", "junit", "--bundle", directory)
	require.ErrorContains(t, err, "reading the Deployment of the controller")
	require.Empty(t, stdout)
	require.Contains(t, stderr, "The support bundle: 2 parts of the support bundle are missing; the rest is in "+directory)
	require.Equal(t, []string{"agent_n1.tar.gz", "clusterinfo"}, entries(t, directory))

	c = bundleCluster(t, &bundleServer{component: "controller", content: "x"})
	c.objects["/api/v1/nodes"] = corev1.NodeList{}
	directory = filepath.Join(t.TempDir(), "bundle")
	_, stderr, err = run(outside, "", "check", "installation", "-k", c.kubeconfig, "--bundle", directory)
	require.Error(t, err)
	require.Contains(t, stderr, "A check has failed: look through the support bundle under "+directory+" before")

	_, stderr, err = run(outside, "", "check", "installation", "-k", c.kubeconfig)
	require.Error(t, err)
	require.NotContains(t, stderr, "bundle")
}

// TestLogsOfAnAgentThatIsDown: the logs of its containers and of their former runs come from the Kubernetes API.
func TestLogsOfAnAgentThatIsDown(t *testing.T) {
	c := bundleCluster(t, &bundleServer{component: "controller", content: "x"})
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	crashed := corev1.ContainerStatus{Name: "antrea-agent", RestartCount: 2, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}}
	agent := func(node string, statuses ...corev1.ContainerStatus) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "antrea-agent-" + node}, Spec: corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{
			InitContainerStatuses: []corev1.ContainerStatus{{Name: "install-cni", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}}},
			ContainerStatuses:     statuses,
		}}
	}
	c.objects["/api/v1/namespaces/kube-system/pods"] = corev1.PodList{Items: []corev1.Pod{
		agent("n1"), agent("n2", crashed, corev1.ContainerStatus{Name: "antrea-ovs", State: running}),
	}}
	c.objects["/api/v1/namespaces/kube-system/pods/antrea-agent-n2/log"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if q.Get("container") == "install-cni" {
			http.Error(w, "it is gone", http.StatusNotFound)
			return
		}
		_, _ = fmt.Fprintf(w, "%s previous=%s since=%s token=hunter2\n", q.Get("container"), q.Get("previous"), q.Get("sinceSeconds"))
	})
	directory := t.TempDir()
	_, stderr, err := run(outside, "", "supportbundle", "-k", c.kubeconfig, "-d", directory, "--since", "2h", "n2")
	require.Error(t, err)
	require.Contains(t, stderr, "1 part of the support bundle is missing; the rest is in "+directory+":\nNode n2: ")
	require.Contains(t, stderr, "; its logs are in agent_n2_logs.tar.gz")
	require.Equal(t, []string{"agent_n2_logs.tar.gz", "clusterinfo", "controller.tar.gz"}, entries(t, directory))
	archive, err := os.Open(filepath.Join(directory, "agent_n2_logs.tar.gz"))
	require.NoError(t, err)
	defer archive.Close()
	require.Equal(t, map[string]string{
		"logs/antrea-agent-n2/antrea-agent":          "antrea-agent previous= since=7200 token=<redacted>\n",
		"logs/antrea-agent-n2/antrea-agent.previous": "antrea-agent previous=true since=7200 token=<redacted>\n",
		"logs/antrea-agent-n2/antrea-ovs":            "antrea-ovs previous= since=7200 token=<redacted>\n",
	}, bundletest.Unpack(t, archive))

	c.objects["/api/v1/namespaces/kube-system/pods"] = http.StatusForbidden
	_, stderr, err = run(outside, "", "supportbundle", "-k", c.kubeconfig, "-d", t.TempDir(), "n2")
	require.Error(t, err)
	require.Contains(t, stderr, "its logs could not be read from the Kubernetes API either: listing its Pods: ")
}

func TestSupportBundleInAPod(t *testing.T) {
	for mode, component := range map[Mode]string{ModeAgent: "agent", ModeController: "controller"} {
		address, tokenFile := evil(t, (&bundleServer{component: component, content: "x"}).ServeHTTP)
		t.Chdir(t.TempDir())
		stdout, stderr, err := run(Environment{Mode: mode, InPod: true}, tokenFile, "supportbundle", "-s", address)
		require.NoError(t, err, stderr)
		directory := strings.TrimSpace(strings.TrimPrefix(stdout, "Created bundle under "))
		require.Regexp(t, `^support-bundles_\d{8}T\d{6}`, directory)
		require.Equal(t, []string{component + ".tar.gz"}, entries(t, directory))
	}
}

// TestBadBundles: nothing is left of what is not complete.
func TestBadBundles(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*v1beta1.SupportBundle)
		err    string
	}{
		{"other checksum", func(b *v1beta1.SupportBundle) { b.Sum = "0" }, "the download has 1 bytes with SHA-256"},
		{"shorter than announced", func(b *v1beta1.SupportBundle) { b.Size = 5 }, "the component has 5 bytes"},
		{"removed during collection", func(b *v1beta1.SupportBundle) { b.Status = v1beta1.SupportBundleStatusNone }, "the bundle was removed while it was collected"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address, tokenFile := evil(t, (&bundleServer{component: "agent", content: "x", change: tc.change}).ServeHTTP)
			directory := filepath.Join(t.TempDir(), "bundle")
			stdout, stderr, err := run(inAgent, tokenFile, "supportbundle", "-s", address, "-d", directory)
			require.Error(t, err)
			require.Empty(t, stdout)
			require.Contains(t, stderr, tc.err)
			require.NoDirExists(t, directory, "it is empty")
		})
	}
	asked := make(chan struct{})
	address, tokenFile := evil(t, func(http.ResponseWriter, *http.Request) { <-asked })
	t.Cleanup(func() { close(asked) })
	directory := t.TempDir()
	_, stderr, err := run(inAgent, tokenFile, "supportbundle", "-s", address, "-d", directory, "-t", "50ms")
	require.Error(t, err)
	require.Contains(t, stderr, "agent: no answer within 50ms")
	require.DirExists(t, directory, "it is not antctl's")
}

func TestSelectNodes(t *testing.T) {
	b := &bundleServer{component: "agent", content: "x"}
	c := bundleCluster(t, b)
	list := filepath.Join(t.TempDir(), "nodes")
	require.NoError(t, os.WriteFile(list, []byte("# ours\n\n n1 \n"), 0o600))
	for _, args := range [][]string{{"n1"}, {"*1"}, {"n1", "[n]1"}, {"--node-list-file", list}} {
		_, stderr, err := run(outside, "", append([]string{"supportbundle", "-k", c.kubeconfig, "-d", t.TempDir()}, args...)...)
		require.Error(t, err, "there is no controller")
		require.Contains(t, stderr, "Node n1: 1 KiB")
		require.NotContains(t, stderr, "n2")
	}
	empty := filepath.Join(t.TempDir(), "empty")
	require.NoError(t, os.WriteFile(empty, []byte("#\n"), 0o600))
	for _, tc := range []struct {
		args []string
		err  string
	}{
		{[]string{"n3"}, `no Node has the name "n3"; there are: n1,n2`},
		{[]string{"[n"}, `"[n" is not the name of a Node or a pattern`},
		{[]string{"-l", "=="}, "--label-selector: "},
		{[]string{"--node-list-file", "/absent"}, "--node-list-file: open /absent"},
		{[]string{"--node-list-file", empty}, "has no name of a Node"},
		{[]string{"--controller-only", "n1"}, "--controller-only: no Nodes can be selected with it"},
		{[]string{"--since", "-1h"}, "--since: -1h0m0s is not a time that has passed"},
	} {
		directory := filepath.Join(t.TempDir(), "bundle")
		_, stderr, err := run(outside, "", append([]string{"supportbundle", "-k", c.kubeconfig, "-d", directory}, tc.args...)...)
		require.Error(t, err)
		require.Contains(t, stderr, tc.err)
		require.NoDirExists(t, directory)
	}
}
