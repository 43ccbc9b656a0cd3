// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"time"

	"github.com/google/uuid"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	genericoptions "k8s.io/apiserver/pkg/server/options"
)

// loopbackMaxAge is far more than a process lives; each start makes a new certificate.
const loopbackMaxAge = 10 * 365 * 24 * time.Hour

// ServeHTTPS sets the server up that c configures to serve as o says, and makes its loopback client with a new bearer token
// and a certificate of its own, which c gets as LoopbackClientConfig. It is WithLoopback of package options, with keys of
// SelfSigned.
func ServeHTTPS(c *genericapiserver.Config, o *genericoptions.SecureServingOptions) error {
	if err := o.ApplyTo(&c.SecureServing); err != nil {
		return fmt.Errorf("setting up HTTPS for the API server: %w", err)
	}
	const name = genericapiserver.LoopbackClientServerNameOverride
	cert, key, err := SelfSigned(loopbackMaxAge, []string{name})
	if err != nil {
		return fmt.Errorf("making the certificate of the API server's loopback client: %w", err)
	}
	content, err := dynamiccertificates.NewStaticSNICertKeyContent("self-signed loopback", cert, key, name)
	if err != nil {
		return fmt.Errorf("making the certificate of the API server's loopback client: %w", err)
	}
	// The first certificate that has the name is the one that is used.
	c.SecureServing.SNICerts = append([]dynamiccertificates.SNICertKeyContentProvider{content}, c.SecureServing.SNICerts...)
	if c.LoopbackClientConfig, err = c.SecureServing.NewLoopbackClientConfig(uuid.NewString(), cert); err != nil {
		return fmt.Errorf("making the API server's loopback client: %w", err)
	}
	return nil
}
