// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/kubernetes/scheme"
)

// memoryAPI is a Kubernetes API that keeps objects by their paths, fills in tokens, and connects each member with its leader.
type memoryAPI struct {
	mu      sync.Mutex
	objects map[string]map[string]any
}

func (m *memoryAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	status := func(code int, reason string) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code, "message": r.URL.Path + ": " + reason})
	}
	w.Header().Set("Content-Type", "application/json")
	stored := m.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPost:
		m.create(w, r)
	case r.Method == http.MethodGet && isCollection(r.URL.Path):
		m.list(w, r)
	case stored == nil:
		status(http.StatusNotFound, "NotFound")
	case r.Method == http.MethodDelete:
		delete(m.objects, r.URL.Path)
		fallthrough
	default:
		_ = json.NewEncoder(w).Encode(stored)
	}
}

// isCollection reports whether a path is a resource's rather than an object's.
func isCollection(p string) bool {
	_, rest, _ := strings.Cut(p, "/v1")
	rest = strings.TrimPrefix(rest, "alpha1")
	rest = strings.Trim(strings.TrimPrefix(rest, "alpha2"), "/")
	return strings.Count(rest, "/")%2 == 0
}

func (m *memoryAPI) create(w http.ResponseWriter, r *http.Request) {
	var object map[string]any
	body, _ := io.ReadAll(r.Body)
	// Typed clients send protobuf.
	if typed, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil); err == nil {
		body, _ = json.Marshal(typed)
	}
	_ = json.Unmarshal(body, &object)
	metadata := object["metadata"].(map[string]any)
	place := strings.Split(r.URL.Path, "/")
	metadata["namespace"] = place[len(place)-2]
	spec, _ := object["spec"].(map[string]any)
	switch {
	case object["type"] == "kubernetes.io/service-account-token":
		object["data"] = map[string]any{"token": "dG9rZW4=", "ca.crt": "Q0E="}
	case object["kind"] == "ClusterSet" && spec["namespace"] != nil:
		object["status"] = map[string]any{"clusterStatuses": []any{map[string]any{"clusterID": "north", "conditions": []any{
			map[string]any{"type": "Ready", "status": "True", "reason": "Connected"},
		}}}}
	}
	m.objects[r.URL.Path+"/"+metadata["name"].(string)] = object
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(object)
}

// list lists the objects of a resource, in one Namespace or in all.
func (m *memoryAPI) list(w http.ResponseWriter, r *http.Request) {
	items := []any{}
	resource := path.Base(r.URL.Path)
	for at, object := range m.objects {
		in := path.Dir(at)
		if in == r.URL.Path || !strings.Contains(r.URL.Path, "/namespaces/") && path.Base(in) == resource {
			items = append(items, object)
		}
	}
	version := "v1"
	if parts := strings.Split(r.URL.Path, "/"); parts[1] == "apis" {
		version = parts[2] + "/" + parts[3]
	}
	kind := map[string]string{"serviceaccounts": "ServiceAccountList", "secrets": "SecretList", "rolebindings": "RoleBindingList"}[resource]
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": cmp.Or(kind, "List"), "apiVersion": version, "metadata": map[string]any{}, "items": items})
}

// TestMulticluster: a ClusterSet from its beginning to its end. The only file with a token is for its owner.
func TestMulticluster(t *testing.T) {
	const lead = "antrea-multicluster"
	role := map[string]any{"metadata": map[string]any{"name": "antrea-mc-member-cluster-role"}}
	api := &memoryAPI{objects: map[string]map[string]any{"/apis/rbac.authorization.k8s.io/v1/namespaces/" + lead + "/roles/antrea-mc-member-cluster-role": role}}
	s := httptest.NewTLSServer(api)
	t.Cleanup(s.Close)
	kubeconfig := kubeconfigFor(t, s)
	dir := t.TempDir()
	joinFile, tokenFile := filepath.Join(dir, "join.yml"), filepath.Join(dir, "east.yml")
	mc := func(args ...string) (stdout, stderr string) {
		t.Helper()
		stdout, stderr, err := run(Environment{Mode: ModeController}, "", append([]string{"mc", "--kubeconfig", kubeconfig}, args...)...)
		require.NoError(t, err, stderr)
		return stdout, stderr
	}
	fails := func(want string, args ...string) {
		t.Helper()
		_, _, err := run(Environment{Mode: ModeController}, "", append([]string{"mc", "--kubeconfig", kubeconfig}, args...)...)
		require.ErrorContains(t, err, want)
	}

	fails("--clusterset is missing", "init", "-n", lead, "--clusterid", "north")
	_, stderr := mc("init", "-n", lead, "--clusterset", "cs", "--clusterid", "north", "-j", joinFile)
	require.Equal(t, "Created ClusterSet antrea-multicluster/cs with the leader north\n", stderr)
	fails("the token's name is missing", "create", "membertoken", "-n", lead)
	mc("create", "membertoken", "east-token", "-n", lead, "--cluster-id", "east", "-o", tokenFile)
	for file, mode := range map[string]os.FileMode{joinFile: 0o644, tokenFile: 0o600} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), file)
	}
	stdout, _ := mc("get", "membertoken")
	require.Equal(t, "NAMESPACE           NAME\nantrea-multicluster east-token\n", stdout)
	stdout, _ = mc("get", "membertoken", "east-token", "-A", "-o", "json")
	require.JSONEq(t, `[{"namespace": "antrea-multicluster", "name": "east-token", "clusterID": "east"}]`, stdout)
	stdout, _ = mc("get", "joinconfig", "-n", lead)
	content, err := os.ReadFile(joinFile)
	require.NoError(t, err)
	require.Equal(t, string(content), stdout)
	require.Contains(t, stdout, "leaderAPIServer: "+s.URL+"\n")
	stdout, _ = mc("get", "joinconfig", "-n", lead, "--member-token", "east-token")
	require.Contains(t, stdout, "token: dG9rZW4=")

	fails("--clusterid is missing", "join", "-f", joinFile, "--token-secret-file", tokenFile)
	fails("--token-secret-file: open x", "join", "-f", joinFile, "--clusterid", "east", "--token-secret-file", "x")
	fails("--config-file: "+tokenFile, "join", "-f", tokenFile, "--clusterid", "east")
	stdout, _ = mc("join", "-f", joinFile, "--clusterid", "east", "--token-secret-file", tokenFile, "--leader-apiserver", "https://the.file.wins")
	require.Equal(t, "Member cluster joined successfully\n", stdout)
	stdout, _ = mc("get", "clusterset", "-n", "kube-system")
	require.Equal(t, "CLUSTER-ID NAMESPACE   CLUSTERSET-ID TYPE  STATUS REASON\nnorth      kube-system cs            Ready True   Connected\n", stdout)
	fails("name one of them", "get", "clusterset", "-n", "kube-system", "-A")
	stdout, _ = mc("get", "clusterset", "-o", "jsonpath={[*].spec.leaders[0].server}", "-n", "kube-system")
	require.Equal(t, s.URL+"\n", stdout)

	mc("leave", "--clusterset", "cs")
	mc("delete", "membertoken", "east-token", "-n", lead)
	mc("destroy", "--clusterset", "cs", "-n", lead)
	require.Len(t, api.objects, 1, "the Role")
}
