// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate provides antrea-controller's certificate. It makes or reads it, and publishes the CA that verifies it
// to agents (ConfigMap antrea-ca) and to the cluster's aggregator (APIServices).
package certificate

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	certutil "k8s.io/client-go/util/cert"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apiserver/generic"
)

// maxAge is how long a generated certificate is valid before and after it was made. A clock without a battery may be wrong by
// more than ten years at start.
const maxAge = 30 * 365 * 24 * time.Hour

// Certificate is the controller's certificate and the CA that verifies it.
type Certificate struct {
	dynamiccertificates.CertKeyContentProvider
	// CA returns CA certificates in PEM.
	CA func() ([]byte, error)
	// Run watches for changes until ctx ends.
	Run func(ctx context.Context)
}

// Generate makes a self-signed certificate, in memory only.
func Generate(namespace string) (*Certificate, error) {
	server := apis.ControllerServerName(namespace)
	cert, key, err := generic.SelfSigned(maxAge, []string{
		apis.ControllerService, apis.ControllerService + "." + namespace, server, server + ".cluster.local", "localhost",
	})
	if err != nil {
		return nil, fmt.Errorf("making the API server's certificate: %w", err)
	}
	return static(cert, key, cert)
}

// static is a certificate that does not change while the controller runs.
func static(cert, key, ca []byte) (*Certificate, error) {
	content, err := dynamiccertificates.NewStaticCertKeyContent("self-signed", cert, key)
	if err != nil {
		return nil, fmt.Errorf("making the API server's certificate: %w", err)
	}
	return &Certificate{
		CertKeyContentProvider: content,
		CA:                     func() ([]byte, error) { return ca, nil },
		Run:                    func(context.Context) {},
	}, nil
}

// Read reads tls.crt, tls.key and ca.crt in dir. Changes of the files take effect while the controller runs.
func Read(dir string) (*Certificate, error) {
	content, err := dynamiccertificates.NewDynamicServingContentFromFiles("user-provided", filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	if err != nil {
		return nil, fmt.Errorf("reading the API server's certificate (selfSignedCert is false): %w", err)
	}
	ca := func() ([]byte, error) {
		data, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
		if err == nil {
			_, err = certutil.ParseCertsPEM(data)
		}
		if err != nil {
			return nil, fmt.Errorf("reading the API server's CA (selfSignedCert is false): %w", err)
		}
		return data, nil
	}
	if _, err := ca(); err != nil {
		return nil, err
	}
	return &Certificate{CertKeyContentProvider: content, CA: ca, Run: func(ctx context.Context) { content.Run(ctx, 1) }}, nil
}
