// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/antrea-oncache/antrea/pkg/httpapi/apiservertest"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

const agentAccount = "system:serviceaccount:kube-system:antrea-agent"

var regexpWatches = regexp.MustCompile(`(?m)^antrea_controller_watches\{resource="appliedtogroups"\} [0-9]+$`)

// firstOfWatch returns the status of a watch and the first line of its answer, which may be an event.
func (f *fixture) firstOfWatch(path, token string) (int, string) {
	f.t.Helper()
	request, err := http.NewRequest("GET", f.url+path, nil)
	require.NoError(f.t, err)
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := f.http.Do(request)
	require.NoError(f.t, err)
	defer response.Body.Close()
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	require.NoError(f.t, err)
	return response.StatusCode, line
}

func TestAgentsSeeTheirOwnNodeOnly(t *testing.T) {
	type extra = map[string]authenticationv1.ExtraValue
	all := []string{
		"get networkpolicies", "list networkpolicies", "watch networkpolicies", "list addressgroups", "watch addressgroups",
		"list appliedtogroups", "watch appliedtogroups", "get appliedtogroups",
	}
	f := startWith(t, &apiservertest.Kubernetes{
		Users: map[string]string{
			"node-1": agentAccount, "node-2": agentAccount, "pod": agentAccount, "old-pod": agentAccount, "no-pod": agentAccount,
			"unbound": agentAccount, "two-nodes": agentAccount, "admin": "admin", "other": "system:serviceaccount:other:antrea-agent",
		},
		Extra: map[string]extra{
			"node-1":    {serviceaccount.NodeNameKey: {"node-1"}, serviceaccount.PodNameKey: {"x"}, serviceaccount.PodUIDKey: {"y"}},
			"node-2":    {serviceaccount.NodeNameKey: {"node-2"}},
			"pod":       {serviceaccount.PodNameKey: {"antrea-agent-x"}, serviceaccount.PodUIDKey: {"uid-agent"}},
			"old-pod":   {serviceaccount.PodNameKey: {"antrea-agent-x"}, serviceaccount.PodUIDKey: {"uid-of-an-earlier-one"}},
			"no-pod":    {serviceaccount.PodNameKey: {"antrea-agent-y"}, serviceaccount.PodUIDKey: {"uid-agent"}},
			"two-nodes": {serviceaccount.NodeNameKey: {"node-1", "node-2"}},
		},
		Allowed: map[string][]string{agentAccount: all, "admin": all, "system:serviceaccount:other:antrea-agent": all},
	}, generic.Limits{})
	close(f.synced)
	of := func(node string) string { return "?fieldSelector=nodeName%3D" + node }
	for _, tc := range []struct {
		name, token, path string
		status            int
		body              string
	}{
		{"its own Node", "node-1", "/networkpolicies" + of("node-1"), 200, `"uid-1"`},
		{"its own Node, groups", "node-1", "/appliedtogroups" + of("node-1"), 200, `"groupMembers"`},
		{"another Node", "node-2", "/networkpolicies" + of("node-1"), 403, `the agent of Node \"node-2\" asks for nodeName=\"node-1\"; allowed: nodeName=node-2`},
		{"another Node, groups", "node-2", "/appliedtogroups" + of("node-1"), 403, "allowed: nodeName=node-2"},
		{"another Node, addresses", "node-2", "/addressgroups" + of("node-1"), 403, "allowed: nodeName=node-2"},
		{"all Nodes", "node-1", "/networkpolicies", 403, `asks for nodeName=\"\"; allowed: nodeName=node-1`},
		{"all Nodes, one name", "node-1", "/networkpolicies?fieldSelector=metadata.name%3Duid-1", 403, "allowed: nodeName=node-1"},
		{"by the Pod", "pod", "/networkpolicies" + of("node-1"), 200, `"uid-1"`},
		{"by the Pod, another Node", "pod", "/networkpolicies" + of("node-2"), 403, "allowed: nodeName=node-1"},
		{"by a Pod that was replaced", "old-pod", "/networkpolicies" + of("node-1"), 403, "whose Node is not known"},
		{"by a Pod that is not known", "no-pod", "/networkpolicies" + of("node-1"), 403, "Pod kube-system/antrea-agent-y (uid-agent)"},
		{"bound to nothing", "unbound", "/networkpolicies" + of("node-1"), 403, "agents need the token that the kubelet mounts"},
		{"two Nodes", "two-nodes", "/networkpolicies" + of("node-1"), 403, "bound to no Pod"},
		{"user", "admin", "/networkpolicies", 200, `"uid-1"`},
		{"user, some Node", "admin", "/networkpolicies" + of("node-1"), 200, `"uid-1"`},
		{"account of the same name in another Namespace", "other", "/networkpolicies", 200, `"uid-1"`},
		{"loopback token", f.token, "/networkpolicies", 200, `"uid-1"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, body := f.do("GET", group+tc.path, tc.token, "")
			require.Equal(t, tc.status, status, body)
			require.Contains(t, body, tc.body)
			if tc.token != f.token {
				separator := "?"
				if tc.path[len(tc.path)-1] != 's' {
					separator = "&"
				}
				status, line := f.firstOfWatch(group+tc.path+separator+"watch=true", tc.token)
				require.Equal(t, tc.status, status, line)
				if status != http.StatusOK {
					require.Contains(t, line, tc.body)
				} else {
					require.Contains(t, line, `"type":"ADDED"`)
				}
			}
		})
	}
	for token, want := range map[string]int{"node-1": 200, "pod": 200, "node-2": 404, "unbound": 403, "admin": 200} {
		status, body := f.do("GET", group+"/networkpolicies/uid-1", token, "")
		require.Equal(t, want, status, "%s: %s", token, body)
	}
}

// A watch whose client does not read is ended even if few events wait for it; a watch that is read continues.
func TestWatchThatIsNotRead(t *testing.T) {
	f := startWith(t, &apiservertest.Kubernetes{}, generic.Limits{Write: 300 * time.Millisecond})
	close(f.synced)
	// HTTP/2 as agents use it, but with a small buffer.
	transport := f.http.Transport.(*http.Transport).Clone()
	defer transport.CloseIdleConnections()
	transport.ForceAttemptHTTP2, transport.HTTP2 = true, &http.HTTP2Config{MaxReceiveBufferPerStream: 16 << 10}
	watch := func() *http.Response {
		request, err := http.NewRequest("GET", f.url+group+"/appliedtogroups?watch=true&fieldSelector=nodeName%3Dnode-1", nil)
		require.NoError(t, err)
		request.Header.Set("Authorization", "Bearer "+f.token)
		response, err := (&http.Client{Transport: transport}).Do(request)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.Equal(t, "HTTP/2.0", response.Proto)
		return response
	}
	read, unread := watch(), watch()
	defer unread.Body.Close()
	var reading sync.WaitGroup
	reading.Go(func() { _, _ = io.Copy(io.Discard, read.Body) })
	defer reading.Wait()
	defer read.Body.Close()
	watches := func() string {
		_, body := f.do("GET", "/metrics", f.token, "")
		return regexpWatches.FindString(body)
	}
	require.Equal(t, `antrea_controller_watches{resource="appliedtogroups"} 2`, watches())
	// Each Pod is a patch.
	names := 0
	for began := time.Now(); watches() != `antrea_controller_watches{resource="appliedtogroups"} 1`; {
		require.Less(t, time.Since(began), patience)
		for range 50 {
			names++
			_, err := f.kube.CoreV1().Pods("ns").Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%0200d", names), Namespace: "ns"},
				Spec:       corev1.PodSpec{NodeName: "node-1"}, Status: corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.2"},
			}, metav1.CreateOptions{})
			require.NoError(t, err)
		}
	}
}
