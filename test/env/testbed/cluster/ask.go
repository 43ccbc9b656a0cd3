// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/pkg/apis"
)

// AskAgent reads path, which may have a query, from the API of the Node's agent, with the agent's token, as antctl does in the agent's Pod. Tests
// that poll do not start antctl each time: that takes a fifth of a second of CPU time on a machine of user-mode Linux.
func (n *Node) AskAgent(ctx context.Context, path string) ([]byte, error) {
	return n.ask(ctx, apis.AgentPort, path)
}

// AskController reads path from the controller's API.
func (c *Cluster) AskController(ctx context.Context, path string) ([]byte, error) {
	return c.Controller().ask(ctx, apis.ControllerPort, path)
}

// ask reads path from the component that serves its API at a port of the space.
func (s *Space) ask(ctx context.Context, port int, path string) ([]byte, error) {
	token, err := s.ReadFile(apis.LoopbackTokenFile)
	if err != nil {
		return nil, err
	}
	client, end := s.httpClient()
	defer end()
	return get(ctx, client, fmt.Sprintf("https://127.0.0.1:%d%s", port, path), strings.TrimSpace(string(token)))
}

// httpClient makes a client that connects from the space. Whoever has made it calls end.
func (s *Space) httpClient() (client *http.Client, end func()) {
	transport := &http.Transport{
		DialContext:     s.DialContext,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // a component makes a new certificate at each start
	}
	return &http.Client{Transport: transport, Timeout: 30 * time.Second}, transport.CloseIdleConnections
}

// get returns the body of a successful answer. A token of "" is not sent.
func get(ctx context.Context, client *http.Client, url, token string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, response.Status, strings.TrimSpace(string(body[:min(len(body), 2000)])))
	}
	return body, err
}
