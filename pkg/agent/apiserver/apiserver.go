// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is the agent's HTTPS API: health checks, metrics, and the endpoints that antctl reads.
//
// Who may read (GET) and change (PUT): a bearer token is checked by the Kubernetes API (TokenReview), a client certificate
// against the cluster's client CA when the cluster publishes one, and method and path are allowed or not by
// SubjectAccessReview. The loopback token that the server writes into a file at start may do everything; the health paths are
// open to everyone.
package apiserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

const (
	// shutdownTimeout bounds how long open requests may delay the agent's exit.
	shutdownTimeout = time.Second
	// certificateMaxAge is the validity of the server's certificate; each start of the agent makes a new one.
	certificateMaxAge = 10 * 365 * 24 * time.Hour
)

// Config configures New.
type Config struct {
	// Listener is a TCP listener; New takes it over.
	Listener net.Listener
	// TokenFile receives the loopback token, mode 0600.
	TokenFile string
	// Client is for TokenReview, SubjectAccessReview and reading the cluster's client CA.
	Client kubernetes.Interface
	// Routes are the endpoints by path, which answer GET.
	Routes map[string]http.HandlerFunc
	// Changes answer PUT, at paths of Routes or at others, which then cannot be read.
	Changes map[string]http.HandlerFunc
	// Handlers answer further paths and decide which methods.
	Handlers map[string]http.Handler
	// ReadinessChecks and HealthChecks are named checks of /readyz and of /healthz besides the built-in ones. /livez has no others: a restart of
	// the agent would mend nothing that is not in the agent.
	ReadinessChecks, HealthChecks map[string]func() error
	// EnableMetrics serves the process's Kubernetes metrics registry at /metrics.
	EnableMetrics bool
	// CipherSuites and MinTLSVersion restrict TLS; the zero values are Go's defaults. Names as in
	// k8s.io/component-base/cli/flag.
	CipherSuites  []string
	MinTLSVersion string
	// Limits of slow and unknown clients; what is not set has its default.
	Limits generic.Limits
}

// Server is the API server. It serves while Run runs.
type Server struct {
	generic  *genericapiserver.GenericAPIServer
	serving  *generic.Serving
	caBundle []byte
}

// New makes the server, generates its certificate (self-signed for localhost, in memory only) and writes the loopback
// token.
func New(ctx context.Context, c *Config) (*Server, error) {
	// Refusals are metav1.Status objects.
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config := genericapiserver.NewConfig(serializer.NewCodecFactory(scheme))
	config.EffectiveVersion = generic.EffectiveVersion()
	config.EnableMetrics = c.EnableMetrics
	config.EnableDiscovery = false
	config.SkipOpenAPIInstallation = true
	for name, check := range c.HealthChecks {
		config.HealthzChecks = append(config.HealthzChecks, healthz.NamedCheck(name, func(*http.Request) error { return check() }))
	}
	for name, check := range c.ReadinessChecks {
		config.AddReadyzChecks(healthz.NamedCheck(name, func(*http.Request) error { return check() }))
	}

	cert, key, err := generic.SelfSigned(generic.KeyFor(c.CipherSuites), certificateMaxAge, []string{"localhost"}, net.IPv4(127, 0, 0, 1), net.IPv6loopback)
	if err != nil {
		return nil, fmt.Errorf("making the API server's certificate: %w", err)
	}
	content, err := dynamiccertificates.NewStaticCertKeyContent("antrea-agent-api", cert, key)
	if err != nil {
		return nil, fmt.Errorf("making the API server's certificate: %w", err)
	}
	serving := &generic.Serving{
		Listener: c.Listener, Certificate: content, CipherSuites: c.CipherSuites, MinTLSVersion: c.MinTLSVersion,
		Client: c.Client, Limits: c.Limits,
	}
	if err := serving.Apply(ctx, config); err != nil {
		return nil, err
	}
	server, err := config.Complete(nil).New("antrea-agent-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("making the API server: %w", err)
	}
	server.ShutdownTimeout = shutdownTimeout
	generic.Install(server, c.Routes, c.Changes, c.Handlers)
	if err := generic.WriteToken(c.TokenFile, config.LoopbackClientConfig.BearerToken); err != nil {
		return nil, err
	}
	return &Server{generic: server, serving: serving, caBundle: cert}, nil
}

// CABundle returns the PEM certificates with which a remote client can verify the server under the name localhost.
func (s *Server) CABundle() []byte { return s.caBundle }

// Run serves until ctx ends, then lets open requests finish for at most a second.
func (s *Server) Run(ctx context.Context) error {
	return s.serving.Run(ctx, s.generic)
}
