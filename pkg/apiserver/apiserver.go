// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiserver is antrea-controller's HTTPS API. It serves the API group controlplane.antrea.io for agents and, through the
// cluster's aggregator, for users, and stats.antrea.io for users. It also serves health checks and metrics.
//
// The Kubernetes API decides who may do what (TokenReview, SubjectAccessReview). The loopback token that the server writes
// into a file at start may do everything; the health paths and the webhooks are open to everyone.
package apiserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/healthz"
	"k8s.io/client-go/kubernetes"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/apiserver/registry"
	"github.com/antrea-oncache/antrea/pkg/apiserver/webhook"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	"github.com/antrea-oncache/antrea/pkg/controller/stats"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers/endpoint"
)

// shutdownTimeout bounds how long open requests may delay the controller's exit. Watches are ended at once.
const shutdownTimeout = time.Second

var (
	scheme         = runtime.NewScheme()
	codecs         = serializer.NewCodecFactory(scheme)
	parameterCodec = runtime.NewParameterCodec(scheme)
)

func init() {
	utilruntime.Must(controlplane.AddToScheme(scheme))
	utilruntime.Must(v1beta2.AddToScheme(scheme))
	utilruntime.Must(scheme.SetVersionPriority(v1beta2.SchemeGroupVersion))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	utilruntime.Must(scheme.SetVersionPriority(v1alpha1.SchemeGroupVersion))
	// Options and refusals have this version.
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
}

// Config has everything that New needs.
type Config struct {
	// Listener is the TCP listener to serve on; New takes ownership.
	Listener net.Listener
	// Certificate is the server's own. It is read again at each change that it announces.
	Certificate dynamiccertificates.CertKeyContentProvider
	// TokenFile receives the loopback token, mode 0600.
	TokenFile string
	// Client is for TokenReview, SubjectAccessReview and reading the cluster's CAs.
	Client kubernetes.Interface
	// Store has the objects to serve, once Synced is closed.
	Store  *networkpolicy.Store
	Synced <-chan struct{}
	// EgressesRead is closed once all Egresses are read as well; nil if egressgroups are not served.
	EgressesRead <-chan struct{}
	// Groups answers questions about groups.
	Groups registry.Groups
	// Serving, if set, returns an error while the objects of Store must not be served, because another controller serves.
	Serving func() error
	// Stats takes the agents' reports of traffic and has their sums; nil if the feature is off. Then the statistics are empty.
	Stats *stats.Aggregator
	// Routes are further paths, GET only.
	Routes map[string]http.HandlerFunc
	// Handlers answer further paths and decide which methods.
	Handlers map[string]http.Handler
	// Webhooks answer the Kubernetes API.
	Webhooks webhook.Webhooks
	// EnableMetrics serves the process's Kubernetes metrics registry at /metrics.
	EnableMetrics bool
	// CipherSuites and MinTLSVersion restrict TLS; the zero values are Go's defaults. Names as in
	// k8s.io/component-base/cli/flag.
	CipherSuites  []string
	MinTLSVersion string
	// AgentAccount is the user name of the agents' service account. Such a user sees only the objects of its own Node.
	AgentAccount string
	// NodeOfPod finds the Node of an agent's Pod when its token does not name the Node; empty if the Pod is not known.
	NodeOfPod func(namespace, name, uid string) string
	// Limits of slow and unknown clients; unset fields have their defaults.
	Limits generic.Limits
}

// Server is the API server. It serves while Run runs.
type Server struct {
	generic *genericapiserver.GenericAPIServer
	serving *generic.Serving
}

// New makes the server and writes the loopback token.
func New(ctx context.Context, c *Config) (*Server, error) {
	config := genericapiserver.NewConfig(codecs)
	config.EffectiveVersion = generic.EffectiveVersion()
	config.EnableMetrics = c.EnableMetrics
	config.SkipOpenAPIInstallation = true
	config.OpenAPIV3Config = openAPI()
	config.AddReadyzChecks(healthz.NamedCheck("networkpolicy-sync", func(*http.Request) error {
		select {
		case <-c.Synced:
			return nil
		default:
			return errors.New("not all objects of the Kubernetes API are read yet")
		}
	}))
	if c.Serving == nil {
		c.Serving = func() error { return nil }
	}
	config.AddReadyzChecks(healthz.NamedCheck("leadership", func(*http.Request) error { return c.Serving() }))

	serving := &generic.Serving{
		Listener: c.Listener, Certificate: c.Certificate, CipherSuites: c.CipherSuites, MinTLSVersion: c.MinTLSVersion,
		Client: c.Client, Aggregated: true, Webhooks: slices.Collect(maps.Keys(c.Webhooks)), Limits: c.Limits,
	}
	if err := serving.Apply(ctx, config); err != nil {
		return nil, err
	}
	server, err := config.Complete(nil).New("antrea-controller-apiserver", genericapiserver.NewEmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("making the API server: %w", err)
	}
	server.ShutdownTimeout = shutdownTimeout
	if err := installGroups(server, c); err != nil {
		return nil, err
	}
	routes := maps.Clone(c.Routes)
	if routes == nil {
		routes = map[string]http.HandlerFunc{}
	}
	routes[endpoint.Path] = endpoint.Handle(c.Store.Endpoint, c.readiness().Ready)
	handlers := c.Webhooks.Handlers()
	maps.Copy(handlers, c.Handlers)
	generic.Install(server, routes, nil, handlers)
	if err := generic.WriteToken(c.TokenFile, config.LoopbackClientConfig.BearerToken); err != nil {
		return nil, err
	}
	return &Server{generic: server, serving: serving}, nil
}

func (c *Config) readiness() registry.Readiness {
	return registry.Readiness{Synced: c.Synced, Serving: c.Serving}
}

// installGroups serves the API groups.
func installGroups(server *genericapiserver.GenericAPIServer, c *Config) error {
	readiness := c.readiness()
	agents := registry.Agents{Account: c.AgentAccount, NodeOfPod: c.NodeOfPod}
	controlPlane := registry.Resources(c.Store, readiness, agents)
	question, answers := registry.Evaluation(c.Store, readiness)
	controlPlane[question] = answers
	if c.Groups != nil {
		maps.Copy(controlPlane, registry.GroupQueries(c.Groups, readiness))
	}
	if c.EgressesRead != nil {
		name, storage := registry.EgressGroups(c.Store, registry.Readiness{Synced: c.EgressesRead, Serving: c.Serving}, agents)
		controlPlane[name] = storage
	}
	name, storage := registry.PolicyStatus(c.Store, readiness, agents)
	controlPlane[name] = storage
	if c.Stats != nil {
		name, storage := registry.Reports(c.Stats, readiness, agents)
		controlPlane[name] = storage
	}
	for version, storage := range map[schema.GroupVersion]map[string]rest.Storage{
		v1beta2.SchemeGroupVersion:  controlPlane,
		v1alpha1.SchemeGroupVersion: registry.Stats(c.Stats, readiness),
	} {
		group := genericapiserver.NewDefaultAPIGroupInfo(version.Group, scheme, parameterCodec, codecs)
		group.VersionedResourcesStorageMap[version.Version] = storage
		if err := server.InstallAPIGroup(&group); err != nil {
			return fmt.Errorf("serving %s: %w", version, err)
		}
	}
	return nil
}

// Run serves until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	return s.serving.Run(ctx, s.generic)
}
