// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate provides antrea-controller's certificate. It makes or reads it, and publishes the CA that verifies it
// to agents (ConfigMap antrea-ca), to the cluster's aggregator (APIServices) and to the webhooks' clients. Other components whose webhooks the
// Kubernetes API calls have a certificate for their Service (GenerateFor) and publish its CA elsewhere (Targets).
package certificate

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

// maxAge is the validity of a generated certificate before and after its creation. A clock without a battery may be
// wrong by more than ten years at start.
const maxAge = 30 * 365 * 24 * time.Hour

// Certificate is the controller's certificate and the CA that verifies it.
type Certificate struct {
	dynamiccertificates.CertKeyContentProvider
	// CA returns CA certificates in PEM.
	CA func() []byte
	// Changed has a value when CA may return something else than before; nil if it never does.
	Changed <-chan struct{}
	// Run watches for changes until ctx ends.
	Run func(ctx context.Context)
}

// material is a certificate with its key and the CA that verifies it, in PEM.
type material struct {
	crt, key, ca []byte
}

// generate makes a certificate that verifies itself, for a Service.
func generate(kind generic.Key, service, namespace string) (material, error) {
	server := service + "." + namespace + ".svc"
	crt, key, err := generic.SelfSigned(kind, maxAge, []string{service, service + "." + namespace, server, server + ".cluster.local", "localhost"})
	if err != nil {
		return material{}, fmt.Errorf("making the API server's certificate: %w", err)
	}
	return material{crt: crt, key: key, ca: crt}, nil
}

// Generate makes a self-signed certificate of antrea-controller, in memory only. It does not change while the controller runs.
func Generate(kind generic.Key, namespace string) (*Certificate, error) {
	return GenerateFor(kind, apis.ControllerService, namespace)
}

// GenerateFor is Generate for the component to which a Service leads.
func GenerateFor(kind generic.Key, service, namespace string) (*Certificate, error) {
	m, err := generate(kind, service, namespace)
	if err != nil {
		return nil, err
	}
	content, err := dynamiccertificates.NewStaticCertKeyContent("self-signed", m.crt, m.key)
	if err != nil {
		return nil, fmt.Errorf("making the API server's certificate: %w", err)
	}
	return &Certificate{
		CertKeyContentProvider: content,
		CA:                     func() []byte { return m.ca },
		Run:                    func(context.Context) {},
	}, nil
}

// Read reads tls.crt, tls.key and ca.crt in dir. Changes of the files take effect while the controller runs.
func Read(dir string) (*Certificate, error) {
	content, err := dynamiccertificates.NewDynamicServingContentFromFiles("user-provided", filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the API server's certificate (selfSignedCert is false): %w", err)
	}
	ca, err := dynamiccertificates.NewDynamicCAContentFromFile("user-provided CA", filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("reading the API server's CA (selfSignedCert is false): %w", err)
	}
	changed := make(signal, 1)
	ca.AddListener(changed)
	run := func(ctx context.Context) {
		var running sync.WaitGroup
		running.Go(func() { content.Run(ctx, 1) })
		running.Go(func() { ca.Run(ctx, 1) })
		running.Wait()
	}
	return &Certificate{
		CertKeyContentProvider: content,
		CA:                     ca.CurrentCABundleContent,
		Changed:                changed, Run: run,
	}, nil
}

// signal has a value when something has changed. Its capacity is one.
type signal chan struct{}

// Enqueue implements dynamiccertificates.Listener.
func (s signal) Enqueue() {
	select {
	case s <- struct{}{}:
	default:
	}
}
