// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	certutil "k8s.io/client-go/util/cert"
)

// kubeconfigFor writes a kubeconfig for a Kubernetes API that expects the token "user".
func kubeconfigFor(t *testing.T, s *httptest.Server) (file string) {
	t.Helper()
	// Credentials are sent over TLS only.
	ca := base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw}))
	file = filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "`+s.URL+`", certificate-authority-data: `+ca+`}}]
users: [{name: u, user: {token: user}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
`), 0o600))
	return file
}

// cluster is a Kubernetes API in which a component has published where it is: an agent on Node n1, or the controller.
type cluster struct {
	kubeconfig string
	// objects are the answers by path; tests change them.
	objects map[string]any
	// tokens counts the tokens made.
	tokens atomic.Int32
}

const tokenPath = "/api/v1/namespaces/kube-system/serviceaccounts/antctl/token"

// newCluster starts the Kubernetes API, and a component that answers with handler and has a certificate for a name.
func newCluster(t *testing.T, serverName string, handler http.HandlerFunc) *cluster {
	t.Helper()
	cert, key, err := certutil.GenerateSelfSignedCertKey(serverName, nil, nil)
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	component := httptest.NewUnstartedServer(handler)
	component.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	component.StartTLS()
	t.Cleanup(component.Close)
	port := component.Listener.Addr().(*net.TCPAddr).Port

	c := &cluster{}
	c.objects = map[string]any{
		"/api/v1/nodes/n1": corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeHostName, Address: "n1"}, {Type: corev1.NodeInternalIP, Address: "127.0.0.1"},
		}}},
		"/apis/crd.antrea.io/v1beta1/antreaagentinfos/n1": agentInfo{APIPort: port, APICABundle: cert},
		controllerInfoPath: controllerInfo{NodeRef: corev1.ObjectReference{Name: "n1"}, APIPort: port},
		"/api/v1/namespaces/kube-system/configmaps/antrea-ca": corev1.ConfigMap{Data: map[string]string{"ca.crt": string(cert)}},
	}
	s := httptest.NewTLSServer(http.HandlerFunc(c.serve))
	t.Cleanup(s.Close)
	c.kubeconfig = kubeconfigFor(t, s)
	return c
}

func (c *cluster) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer user" {
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	object, found := c.objects[r.URL.Path]
	if answer, ok := object.(http.HandlerFunc); ok {
		answer(w, r)
		return
	}
	switch {
	case r.Method == http.MethodPost && r.URL.Path == tokenPath && !found:
		w.WriteHeader(http.StatusCreated)
		object = authenticationv1.TokenRequest{Status: authenticationv1.TokenRequestStatus{
			Token: fmt.Sprintf("antctl-%d", c.tokens.Add(1)), ExpirationTimestamp: metav1.NewTime(time.Now().Add(time.Hour)),
		}}
	case found && object == http.StatusForbidden:
		http.Error(w, r.URL.Path+" is forbidden", http.StatusForbidden)
		return
	case !found || object == nil:
		http.Error(w, r.URL.Path+" is absent", http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(object)
}

func TestFeatureGatesOfTheRemoteController(t *testing.T) {
	c := newCluster(t, "antrea.kube-system.svc", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/featuregates" || r.Header.Get("Authorization") != "Bearer antctl-1" {
			http.Error(w, r.URL.Path+" "+r.Header.Get("Authorization"), http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(`[{"component":"controller","name":"Egress","status":"Enabled","version":"BETA"}]`))
	})
	stdout, stderr, err := run(Environment{Mode: ModeController}, "", "get", "featuregates", "-k", c.kubeconfig)
	require.NoError(t, err, stderr)
	require.Equal(t, "Antrea Controller Feature Gates\nFEATUREGATE STATUS  VERSION\nEgress      Enabled BETA\n", stdout)
}

// TestOwnTokenWhereAntctlsIsForbidden: an account that has the ClusterRole antctl, and no right to make tokens, sends its own token.
func TestOwnTokenWhereAntctlsIsForbidden(t *testing.T) {
	c := newCluster(t, "antrea.kube-system.svc", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer user" {
			http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(`[]`))
	})
	c.objects[tokenPath] = http.StatusForbidden
	_, stderr, err := run(Environment{Mode: ModeController}, "", "get", "featuregates", "-k", c.kubeconfig)
	require.NoError(t, err, stderr)
}

// TestImpersonation: who impersonates another user acts nowhere with rights of their own.
func TestImpersonation(t *testing.T) {
	c := newCluster(t, "antrea.kube-system.svc", func(http.ResponseWriter, *http.Request) { t.Error("the controller was asked in the user's own name") })
	var header http.Header
	c.objects[tokenPath] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		http.Error(w, "bob may not", http.StatusForbidden)
	})
	_, stderr, err := run(Environment{Mode: ModeController}, "", "get", "featuregates", "-k", c.kubeconfig, "--context", "x", "--as", "bob", "--as-group", "a", "--as-group", "b")
	require.Error(t, err)
	require.Contains(t, stderr, "asking for a token of ServiceAccount kube-system/antctl: bob may not")
	require.Equal(t, []string{"bob"}, header.Values("Impersonate-User"))
	require.Equal(t, []string{"a", "b"}, header.Values("Impersonate-Group"))

	_, stderr, err = run(Environment{Mode: ModeController}, "", "version", "-k", c.kubeconfig, "--context", "y")
	require.Error(t, err)
	require.Contains(t, stderr, `context "y" does not exist`)
}

func TestComponentsThatCannotBeFound(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) { t.Error("a component was asked that cannot be trusted") }
	const agent = "/apis/crd.antrea.io/v1beta1/antreaagentinfos/n1"
	for _, tc := range []struct {
		name, serverName, node string
		path                   string
		object                 any
		err                    string
	}{
		{name: "no such Node", node: "n2", err: "finding the agent of Node n2: /apis/crd.antrea.io/v1beta1/antreaagentinfos/n2 is absent"},
		{name: "path instead of a Node", node: "../../nodes/n1", err: `"../../nodes/n1" cannot be the name of a Node`},
		{name: "agent without port", node: "n1", path: agent, object: agentInfo{APICABundle: []byte("x")}, err: "has no apiPort"},
		{name: "agent without CA", node: "n1", path: agent, object: agentInfo{APIPort: 1}, err: "no apiCABundle"},
		{name: "CA is not PEM", node: "n1", path: agent, object: agentInfo{APIPort: 1, APICABundle: []byte("x")}, err: "no certificate in PEM"},
		{name: "Node without address", node: "n1", path: "/api/v1/nodes/n1", object: corev1.Node{}, err: "neither ExternalIP nor InternalIP"},
		{name: "Node deleted", node: "n1", path: "/api/v1/nodes/n1", err: "finding the address of Node n1"},
		{name: "controller without Node", path: controllerInfoPath, object: controllerInfo{}, err: "does not name a Node"},
		{name: "no controller", path: controllerInfoPath, err: "finding the controller: "},
		{name: "controller without CA", path: "/api/v1/namespaces/kube-system/configmaps/antrea-ca", err: "reading the controller's CA"},
		{name: "token refused", serverName: "antrea.kube-system.svc", path: tokenPath, err: "asking for a token of ServiceAccount kube-system/antctl: "},
		{name: "another's certificate", serverName: "other", err: "certificate is valid for other, not antrea.kube-system.svc"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newCluster(t, cmp.Or(tc.serverName, "localhost"), answer)
			if tc.path != "" {
				c.objects[tc.path] = tc.object
			}
			args := []string{"get", "featuregates"}
			if tc.node != "" {
				args = []string{"proxy", "--agent-node", tc.node}
			}
			_, stderr, err := run(Environment{Mode: ModeController}, "", append(args, "-k", c.kubeconfig)...)
			require.Error(t, err)
			require.Contains(t, stderr, tc.err)
		})
	}
}

func TestExternalAddressesArePreferred(t *testing.T) {
	c := newCluster(t, "localhost", nil)
	c.objects["/api/v1/nodes/n1"] = corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{
		{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}, {Type: corev1.NodeExternalIP, Address: "fd00::1"},
	}}}
	const path = "/apis/crd.antrea.io/v1beta1/antreaagentinfos/n1"
	info := c.objects[path].(agentInfo)
	info.APIPort = 10350
	c.objects[path] = info
	kubernetes, err := newKubernetesClient(connection{kubeconfig: c.kubeconfig})
	require.NoError(t, err)
	found, err := findAgent(t.Context(), kubernetes, "n1")
	require.NoError(t, err)
	require.Equal(t, "https://[fd00::1]:10350", found.base.String())
	require.Equal(t, "localhost", found.tls.ServerName)
}

func TestTokensAreRenewed(t *testing.T) {
	c := newCluster(t, "localhost", nil)
	kubernetes, err := newKubernetesClient(connection{kubeconfig: c.kubeconfig})
	require.NoError(t, err)
	now := time.Now()
	s := &tokenSource{kubernetes: kubernetes, now: func() time.Time { return now }}
	for _, step := range []struct {
		after time.Duration
		want  string
	}{{0, "antctl-1"}, {40 * time.Minute, "antctl-1"}, {10 * time.Minute, "antctl-2"}, {time.Minute, "antctl-2"}} {
		now = now.Add(step.after)
		token, err := s.token(context.Background())
		require.NoError(t, err)
		require.Equal(t, step.want, token, step.after)
	}
}
