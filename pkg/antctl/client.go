// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis"
)

// maxResponse bounds how much antctl accepts from a server: in an agent's Pod it shares the agent's memory.
const maxResponse = 64 << 20

// maxRedirects limits how often a server may redirect to another of its paths.
const maxRedirects = 3

// connection holds the global flags about the server.
type connection struct {
	server     string
	kubeconfig string
	// context, user and groups are kubectl's flags --context, --as and --as-group.
	context string
	user    string
	groups  []string
	timeout time.Duration
	verbose bool
}

// client sends requests to one server.
type client struct {
	http *http.Client
	base *url.URL
	// token is sent as a bearer token unless empty.
	token string
	// config is set if the server is the Kubernetes API.
	config *rest.Config
	// own returns the bearer token with which the transport authenticates the user, empty if it uses none or makes it by itself; may be nil.
	own func() string
}

// newLoopbackClient talks to the component in the same Pod. The certificate is not verified: the component makes a new one
// at each start and keeps it in memory.
func newLoopbackClient(mode Mode, server, tokenFile string) (*client, error) {
	if server == "" {
		port := apis.AgentPort
		if mode == ModeController {
			port = apis.ControllerPort
		}
		server = fmt.Sprintf("https://127.0.0.1:%d", port)
	}
	base, err := serverURL(server)
	if err != nil {
		return nil, err
	}
	token, err := os.ReadFile(tokenFile)
	if err != nil {
		return nil, fmt.Errorf("reading the token of the %s (is it running?): %w", mode, err)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	httpClient := &http.Client{Transport: transport, CheckRedirect: stayAtServer}
	return &client{http: httpClient, base: base, token: strings.TrimSpace(string(token))}, nil
}

// newKubernetesClient talks to the Kubernetes API, with the kubeconfig of the flag, of KUBECONFIG or of the home directory,
// or with the Pod's service account.
func newKubernetesClient(conn connection) (*client, error) {
	config, err := restConfig(conn)
	if err != nil {
		return nil, err
	}
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("connecting to the Kubernetes API %s: %w", config.Host, err)
	}
	base, _, err := rest.DefaultServerURL(config.Host, "", metav1.Unversioned, rest.IsConfigTransportTLS(*config))
	if err != nil {
		return nil, fmt.Errorf("address of the Kubernetes API %q: %w", config.Host, err)
	}
	httpClient.CheckRedirect = stayAtServer
	c := &client{http: httpClient, base: base, config: config}
	if config.Impersonate.UserName == "" {
		// Agents and the controller would not know whom the user impersonates.
		c.own = func() string { return ownToken(config) }
	}
	return c, nil
}

// ownToken is the token of a kubeconfig or of the Pod's service account. The latter is replaced from time to time.
func ownToken(config *rest.Config) string {
	if config.BearerTokenFile == "" {
		return config.BearerToken
	}
	token, err := os.ReadFile(config.BearerTokenFile)
	if err != nil {
		return config.BearerToken
	}
	return strings.TrimSpace(string(token))
}

func restConfig(conn connection) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = conn.kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: conn.context}
	overrides.ClusterInfo.Server = conn.server
	overrides.AuthInfo.Impersonate, overrides.AuthInfo.ImpersonateGroups = conn.user, conn.groups
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("finding the Kubernetes API: no kubeconfig; name one with --kubeconfig or in the environment variable KUBECONFIG")
	}
	if err != nil {
		return nil, fmt.Errorf("finding the Kubernetes API: %w", err)
	}
	return config, nil
}

// stayAtServer is for http.Client.CheckRedirect. The user's token is meant for one server, and the client library would
// send it to any other server that this one names.
func stayAtServer(next *http.Request, via []*http.Request) error {
	first := via[0].URL
	if next.URL.Scheme != first.Scheme || next.URL.Host != first.Host {
		return fmt.Errorf("the server %s redirects to %s://%s, which antctl does not follow: name that server with --server if it is the right one",
			first.Host, next.URL.Scheme, next.URL.Host)
	}
	if len(via) > maxRedirects {
		return fmt.Errorf("the server %s has redirected %d times", first.Host, len(via))
	}
	return nil
}

func serverURL(server string) (*url.URL, error) {
	if !strings.Contains(server, "://") {
		server = "https://" + server
	}
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || base.Scheme != "https" {
		return nil, fmt.Errorf("--server: %q is not an address; allowed: https://host:port or host:port", server)
	}
	return base, nil
}

// do returns the body of a successful answer. Otherwise the error has the server's message.
func (c *client) do(ctx context.Context, method, path string, query url.Values) ([]byte, error) {
	return c.send(ctx, method, path, query, nil)
}

// get decodes the object at a path.
func (c *client) get(ctx context.Context, path string, object any) error {
	return c.getWith(ctx, path, nil, object)
}

// getWith is get with a query.
func (c *client) getWith(ctx context.Context, path string, query url.Values, object any) error {
	body, err := c.do(ctx, http.MethodGet, path, query)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, object); err != nil {
		return fmt.Errorf("decoding %s: %w", path, err)
	}
	return nil
}

// send is do with a body, in JSON.
func (c *client) send(ctx context.Context, method, path string, query url.Values, content []byte) ([]byte, error) {
	response, err := c.open(ctx, method, path, query, content)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	target := response.Request.URL
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	if err == nil {
		err = ctx.Err() // A server that notices the end of the time first may end its answer in order.
	}
	if err != nil {
		return nil, fmt.Errorf("reading the answer of %s: %w", target, err)
	}
	if len(body) > maxResponse {
		return nil, fmt.Errorf("the answer of %s is larger than %d MiB; name an object or use a filter", target, maxResponse>>20)
	}
	klog.V(2).InfoS("Received response", "url", target.String(), "status", response.Status, "bytes", len(body))
	if response.StatusCode != http.StatusOK && response.StatusCode != http.StatusCreated {
		return nil, serverError(response, body)
	}
	return body, nil
}

// maxDownload bounds a file that antctl downloads.
const maxDownload = 1 << 30

// download copies the answer to GET into w and returns its size.
func (c *client) download(ctx context.Context, path string, w io.Writer) (int64, error) {
	response, err := c.open(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		// The error lacks the part of the message that cannot be read.
		body, _ := io.ReadAll(io.LimitReader(response.Body, maxResponse))
		return 0, serverError(response, body)
	}
	n, err := io.Copy(w, io.LimitReader(response.Body, maxDownload+1))
	if err == nil && n > maxDownload {
		err = fmt.Errorf("it is larger than %d MiB", maxDownload>>20)
	}
	if err != nil {
		return n, fmt.Errorf("downloading %s: %w", response.Request.URL, err)
	}
	klog.V(2).InfoS("Downloaded", "url", response.Request.URL.String(), "bytes", n)
	return n, nil
}

// open sends a request and returns the answer, whatever its status is. The caller closes its body.
func (c *client) open(ctx context.Context, method, path string, query url.Values, content []byte) (*http.Response, error) {
	target := c.base.JoinPath(path)
	target.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(content))
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", target, err)
	}
	if content != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Accept", "application/json")
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	klog.V(2).InfoS("Sending request", "method", method, "url", target.String())
	response, err := c.http.Do(request)
	if err != nil {
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	return response, nil
}

// refusal is an answer that is no success.
type refusal struct {
	code    int
	message string
}

func (r *refusal) Error() string { return r.message }

// serverError is the message of a metav1.Status or of plain text; the HTTP status when there is none.
func serverError(response *http.Response, body []byte) error {
	r := &refusal{code: response.StatusCode, message: "the server answers " + response.Status}
	var s metav1.Status
	if json.Unmarshal(body, &s) == nil && s.Message != "" {
		r.message = s.Message
	} else if text := strings.TrimSpace(string(body)); text != "" {
		r.message = text
	}
	return r
}
