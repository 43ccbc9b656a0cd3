// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/sets"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericfilters "k8s.io/apiserver/pkg/server/filters"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/client-go/kubernetes"
)

// loopbackMaxAge is far longer than a process lives; each start makes a new certificate.
const loopbackMaxAge = 10 * 365 * 24 * time.Hour

// Serving describes how a server is reached, and by whom.
type Serving struct {
	// Listener is the TCP listener to serve on; Run closes it.
	Listener net.Listener
	// Certificate is the server's own. It is read again at each change that it announces.
	Certificate dynamiccertificates.CertKeyContentProvider
	// CipherSuites and MinTLSVersion restrict TLS; the zero values are Go's defaults. Names as in
	// k8s.io/component-base/cli/flag.
	CipherSuites  []string
	MinTLSVersion string
	// Client is for TokenReview, SubjectAccessReview and reading the cluster's CAs.
	Client kubernetes.Interface
	// Aggregated is set when the cluster's aggregator may name its clients.
	Aggregated bool
	// Webhooks are paths at which the Kubernetes API asks, which does not identify itself: they are open to everyone.
	Webhooks []string
	Limits   Limits
}

// Apply sets up the server that c configures. It makes a loopback client with a new bearer token and a certificate of its
// own, which c gets as LoopbackClientConfig. This is WithLoopback of package options, with keys made by SelfSigned.
func (s *Serving) Apply(ctx context.Context, c *genericapiserver.Config) error {
	s.Limits = s.Limits.complete()
	o := genericoptions.NewSecureServingOptions()
	o.Listener = newIdleListener(s.Listener.Addr())
	o.BindPort = s.Listener.Addr().(*net.TCPAddr).Port
	o.CipherSuites, o.MinTLSVersion = s.CipherSuites, s.MinTLSVersion
	o.ServerCert.GeneratedCert = s.Certificate
	if err := o.ApplyTo(&c.SecureServing); err != nil {
		return fmt.Errorf("setting up HTTPS for the API server: %w", err)
	}
	const name = genericapiserver.LoopbackClientServerNameOverride
	cert, key, err := SelfSigned(ECDSA, loopbackMaxAge, []string{name})
	if err != nil {
		return fmt.Errorf("making the certificate of the API server's loopback client: %w", err)
	}
	content, err := dynamiccertificates.NewStaticSNICertKeyContent("self-signed loopback", cert, key, name)
	if err != nil {
		return fmt.Errorf("making the certificate of the API server's loopback client: %w", err)
	}
	// The first certificate with the name is used.
	c.SecureServing.SNICerts = append([]dynamiccertificates.SNICertKeyContentProvider{content}, c.SecureServing.SNICerts...)
	if c.LoopbackClientConfig, err = c.SecureServing.NewLoopbackClientConfig(uuid.NewString(), cert); err != nil {
		return fmt.Errorf("making the API server's loopback client: %w", err)
	}
	// Install serves the profiles. The library would add a path that sets any log level.
	c.EnableProfiling = false
	// The time for a request is limited, but not that for a download, which depends on the client's network.
	c.LongRunningFunc = genericfilters.BasicLongRunningRequestCheck(sets.NewString("watch"), sets.NewString("download"))
	tokens, err := delegateAuth(ctx, c, s.Client, s.Aggregated, s.Webhooks, s.Limits)
	if err != nil {
		return err
	}
	guard(c, s.Limits, s.Webhooks, tokens)
	return nil
}

// idleListener is the listener of the library's own HTTP server, whose limits cannot be set. It never accepts a
// connection; the library only needs that server to know when a server has started and ended. The real server is in
// server.go.
type idleListener struct {
	address net.Addr
	closed  chan struct{}
	once    sync.Once
}

func newIdleListener(address net.Addr) *idleListener {
	return &idleListener{address: address, closed: make(chan struct{})}
}

func (l *idleListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *idleListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *idleListener) Addr() net.Addr { return l.address }
