// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/antrea-oncache/antrea/pkg/apis"
)

const (
	// account is the service account, in the default Namespace, whose rights antctl uses at agents and the controller.
	account = "antctl"
	// recheck is the time after which the user's own token is read again.
	recheck = time.Minute
	// agentServerName is the name in an agent's certificate.
	agentServerName = "localhost"
)

// component is the API of an agent or of the controller, which antctl reaches from anywhere without the Kubernetes API in
// between. The certificate is verified with what the component has published in the Kubernetes API.
type component struct {
	base *url.URL
	tls  *tls.Config
	// forward is the way through the Kubernetes API where the Node cannot be reached; nil if there is none.
	forward *forwarder
	// token returns a bearer token that is valid now.
	token func(context.Context) (string, error)
}

// agentInfo is the part of AntreaAgentInfo (crd.antrea.io/v1beta1) that says where an agent is.
type agentInfo struct {
	APIPort     int                    `json:"apiPort"`
	APICABundle []byte                 `json:"apiCABundle"`
	PodRef      corev1.ObjectReference `json:"podRef"`
}

// findAgent finds the agent of a Node.
func findAgent(ctx context.Context, kubernetes *client, node string) (*component, error) {
	if problems := validation.IsDNS1123Subdomain(node); len(problems) > 0 {
		return nil, fmt.Errorf("%q cannot be the name of a Node: %s", node, strings.Join(problems, "; "))
	}
	var info agentInfo
	if err := kubernetes.get(ctx, "/apis/crd.antrea.io/v1beta1/antreaagentinfos/"+node, &info); err != nil {
		return nil, fmt.Errorf("finding the agent of Node %s: %w", node, err)
	}
	if info.APIPort == 0 || len(info.APICABundle) == 0 {
		return nil, fmt.Errorf("finding the agent of Node %s: AntreaAgentInfo %s has no apiPort or no apiCABundle; has the agent started?", node, node)
	}
	return newComponent(ctx, kubernetes, place{node, info.PodRef, info.APIPort}, info.APICABundle, agentServerName)
}

// agentClient makes a client for a few requests to the agent of a Node.
func agentClient(ctx context.Context, kubernetes *client, node string) (*client, error) {
	agent, err := findAgent(ctx, kubernetes, node)
	if err != nil {
		return nil, err
	}
	return agent.client(ctx)
}

// findController finds the controller.
func findController(ctx context.Context, kubernetes *client) (*component, error) {
	var info controllerInfo
	if err := kubernetes.get(ctx, controllerInfoPath, &info); err != nil {
		return nil, fmt.Errorf("finding the controller: %w", err)
	}
	if info.NodeRef.Name == "" {
		return nil, errors.New("finding the controller: AntreaControllerInfo antrea-controller does not name a Node")
	}
	var ca corev1.ConfigMap
	path := "/api/v1/namespaces/" + apis.DefaultNamespace + "/configmaps/" + apis.ControllerCA
	if err := kubernetes.get(ctx, path, &ca); err != nil {
		return nil, fmt.Errorf("reading the controller's CA: %w", err)
	}
	port := info.APIPort
	if port == 0 {
		port = apis.ControllerPort
	}
	return newComponent(ctx, kubernetes, place{info.NodeRef.Name, info.PodRef, port}, []byte(ca.Data[apis.ControllerCAKey]), apis.ControllerServerName(apis.DefaultNamespace))
}

// place is the Pod of a component, its Node, and the port of its API in the Node's network.
type place struct {
	node string
	pod  corev1.ObjectReference
	port int
}

func newComponent(ctx context.Context, kubernetes *client, at place, ca []byte, serverName string) (*component, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("the CA that %s on Node %s has published has no certificate in PEM", serverName, at.node)
	}
	address, err := nodeAddress(ctx, kubernetes, at.node)
	if err != nil {
		return nil, err
	}
	tokens := &tokenSource{kubernetes: kubernetes, now: time.Now}
	c := &component{
		base:  &url.URL{Scheme: "https", Host: net.JoinHostPort(address, strconv.Itoa(at.port))},
		tls:   &tls.Config{RootCAs: roots, ServerName: serverName, MinVersion: tls.VersionTLS12},
		token: tokens.token,
	}
	if at.pod.Name != "" && at.pod.Namespace != "" {
		c.forward = &forwarder{config: kubernetes.config, base: kubernetes.base, pod: at.pod, port: at.port}
	}
	return c, nil
}

// nodeAddress is the address of a Node at which it is reached from outside the cluster, if there is one.
func nodeAddress(ctx context.Context, kubernetes *client, name string) (string, error) {
	var node corev1.Node
	if err := kubernetes.get(ctx, "/api/v1/nodes/"+name, &node); err != nil {
		return "", fmt.Errorf("finding the address of Node %s: %w", name, err)
	}
	for _, wanted := range []corev1.NodeAddressType{corev1.NodeExternalIP, corev1.NodeInternalIP} {
		for _, address := range node.Status.Addresses {
			if address.Type == wanted {
				return address.Address, nil
			}
		}
	}
	return "", fmt.Errorf("finding the address of Node %s: it has neither ExternalIP nor InternalIP", name)
}

// client makes a client for a few requests.
func (c *component) client(ctx context.Context) (*client, error) {
	token, err := c.token(ctx)
	if err != nil {
		return nil, err
	}
	httpClient := &http.Client{Transport: &http.Transport{DialTLSContext: c.dial}, CheckRedirect: stayAtServer}
	return &client{http: httpClient, base: c.base, token: token}, nil
}

// tokenSource holds tokens of the service account antctl, which it requests. A user who may not request them (who has
// only the ClusterRole antctl, for example) sends their own token. So a component never learns a token with more rights
// than that account, unless there is no other.
type tokenSource struct {
	kubernetes *client
	now        func() time.Time

	mu      sync.Mutex
	current string
	// renew is the time at which a new token is needed.
	renew time.Time
}

func (s *tokenSource) token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Before(s.renew) {
		return s.current, nil
	}
	request, err := json.Marshal(authenticationv1.TokenRequest{})
	if err != nil {
		return "", fmt.Errorf("asking for a token: %w", err)
	}
	path := "/api/v1/namespaces/" + apis.DefaultNamespace + "/serviceaccounts/" + account + "/token"
	body, err := s.kubernetes.send(ctx, http.MethodPost, path, nil, request)
	if own := s.ownInstead(err); own != "" {
		s.current, s.renew = own, now.Add(recheck)
		return s.current, nil
	}
	if err != nil {
		return "", fmt.Errorf("asking for a token of ServiceAccount %s/%s: %w", apis.DefaultNamespace, account, err)
	}
	var answer authenticationv1.TokenRequest
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("decoding a token of ServiceAccount %s/%s: %w", apis.DefaultNamespace, account, err)
	}
	// Not so late that a request could arrive after the token's end, nor so early that there is a token for each request.
	s.current, s.renew = answer.Status.Token, now.Add(answer.Status.ExpirationTimestamp.Sub(now)*4/5)
	return s.current, nil
}

// ownInstead returns the user's own token if a token of the service account antctl is forbidden.
func (s *tokenSource) ownInstead(err error) string {
	var refused *refusal
	if !errors.As(err, &refused) || refused.code != http.StatusForbidden || s.kubernetes.own == nil {
		return ""
	}
	return s.kubernetes.own()
}
