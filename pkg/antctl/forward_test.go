// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// forwardTo forwards ports as the Kubernetes API does, with SPDY, to this machine. Like an older server it refuses WebSocket.
func forwardTo(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		http.Error(w, "only SPDY", http.StatusBadRequest)
		return
	}
	if _, err := httpstream.Handshake(r, w, []string{"portforward.k8s.io"}); err != nil {
		return
	}
	streams := make(chan httpstream.Stream, 2)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r, func(s httpstream.Stream, _ <-chan struct{}) error {
		streams <- s
		return nil
	})
	if conn == nil {
		return
	}
	defer conn.Close()
	for {
		select {
		case stream := <-streams:
			if stream.Headers().Get(corev1.StreamType) == corev1.StreamTypeError {
				_ = stream.Close()
				continue
			}
			go pass(stream)
		case <-conn.CloseChan():
			return
		}
	}
}

func pass(stream httpstream.Stream) {
	defer stream.Close()
	target, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", stream.Headers().Get(corev1.PortHeader)))
	if err != nil {
		return
	}
	defer target.Close()
	go func() {
		_, _ = io.Copy(target, stream)
		_ = target.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(stream, target)
}

// TestAgentThroughTheKubernetesAPI: where a Node's address cannot be reached, its agent is reached as kubectl port-forward does. Its certificate
// and token are used as before; what the API refuses is an error that names both ways.
func TestAgentThroughTheKubernetesAPI(t *testing.T) {
	c := newNodes(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer antctl-1" && r.Header.Get("Authorization") != "Bearer antctl-2" {
			http.Error(w, "Unauthorized", http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte(podInterfacesJSON))
	})
	// Nothing listens there: the agent listens at 127.0.0.1.
	c.objects["/api/v1/nodes/n1"] = corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "127.0.0.2"}}}}
	info := c.objects[agentInfosPath+"/n1"].(agentInfo)
	info.PodRef = corev1.ObjectReference{Namespace: "kube-system", Name: "antrea-agent-x"}
	c.objects[agentInfosPath+"/n1"] = info
	const path = "/api/v1/namespaces/kube-system/pods/antrea-agent-x/portforward"
	c.objects[path] = http.HandlerFunc(forwardTo)
	stdout, stderr, err := run(outside, "", "get", "pi", "--node", "n1", "-k", c.kubeconfig)
	require.NoError(t, err, stderr)
	require.Contains(t, stdout, "web-abcdef")

	// At the Node's address there is a foreign machine.
	foreign := httptest.NewUnstartedServer(http.NotFoundHandler())
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.2", strconv.Itoa(info.APIPort)))
	require.NoError(t, err)
	require.NoError(t, foreign.Listener.Close())
	foreign.Listener = listener
	foreign.StartTLS()
	stdout, stderr, err = run(outside, "", "get", "pi", "--node", "n1", "-k", c.kubeconfig)
	require.NoError(t, err, stderr)
	require.Contains(t, stdout, "web-abcdef")
	foreign.Close()

	c.objects[path] = http.StatusForbidden
	_, _, err = run(outside, "", "get", "pi", "--node", "n1", "-k", c.kubeconfig)
	require.ErrorContains(t, err, "connection refused")
	require.ErrorContains(t, err, "through the Kubernetes API: forwarding a port to Pod kube-system/antrea-agent-x")
}
