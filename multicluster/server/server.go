// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server answers the webhooks of antrea-mc-controller over HTTPS, and the probes of the kubelet over HTTP.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// A review has at most two objects of 3 MiB, the limit of the Kubernetes API.
	maxBody        = 8 << 20
	requestTimeout = 10 * time.Second
	maxHeader      = 64 << 10
)

// Config contains what Run needs.
type Config struct {
	// Webhooks and Probes listen; Run closes them.
	Webhooks, Probes net.Listener
	// Handlers are the webhooks, by path.
	Handlers map[string]http.Handler
	// Certificate returns the certificate and the key of the webhooks in PEM.
	Certificate func() (certificate, key []byte)
	// Ready returns an error while the controller has not read its objects.
	Ready func() error
}

// Run serves until ctx ends.
func (c *Config) Run(ctx context.Context) error {
	reviews := http.NewServeMux()
	for path, handler := range c.Handlers {
		reviews.Handle(path, http.MaxBytesHandler(handler, maxBody))
	}
	probes := http.NewServeMux()
	probes.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	probes.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := c.Ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	encrypted := tls.NewListener(c.Webhooks, &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}, GetCertificate: c.certificate})
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serve(ctx, encrypted, reviews) })
	group.Go(func() error { return serve(ctx, c.Probes, probes) })
	return group.Wait()
}

func (c *Config) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	pair, err := tls.X509KeyPair(c.Certificate())
	return &pair, err
}

func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{
		Handler: handler, ReadTimeout: requestTimeout, WriteTimeout: 2 * requestTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving on %s: %w", listener.Addr(), err)
	}
	return nil
}
