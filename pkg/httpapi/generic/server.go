// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/routes"
	"k8s.io/klog/v2"
)

const (
	// The maximum number of concurrent requests per HTTP/2 connection. The aggregator sends the requests of all users
	// over a few connections.
	maxStreams = 100
	// Requests have no bodies that need a buffer.
	streamBuffer     = 64 << 10
	connectionBuffer = 1 << 20
	// An HTTP/2 connection that has been silent this long gets a ping.
	pingAfter = 30 * time.Second
)

// Install serves further paths: reads answers GET, changes PUT; others decide themselves which methods they answer. It also serves
// Go's profiles below /debug/pprof.
func Install(server *genericapiserver.GenericAPIServer, reads, changes map[string]http.HandlerFunc, others map[string]http.Handler) {
	mux := server.Handler.NonGoRestfulMux
	for path, other := range others {
		mux.Handle(path, other)
	}
	for path, read := range reads {
		mux.HandleFunc(path, byMethod(read, changes[path]))
	}
	for path, change := range changes {
		if reads[path] == nil {
			mux.HandleFunc(path, byMethod(nil, change))
		}
	}
	routes.Profiling{}.Install(mux)
}

// Run serves the content of server until ctx ends; s must have been applied to server's configuration. Open requests may
// then continue for server.ShutdownTimeout; watches end at once.
func (s *Serving) Run(ctx context.Context, server *genericapiserver.GenericAPIServer) error {
	prepared := server.PrepareRun()
	group, ctx := errgroup.WithContext(ctx)
	certificates, err := s.certificates(ctx, server.SecureServingInfo)
	if err != nil {
		return err
	}
	httpServer := s.newHTTPServer(server.Handler, certificates)
	group.Go(func() error { return prepared.RunWithContext(ctx) })
	group.Go(func() error {
		klog.InfoS("Serving the API", "address", s.Listener.Addr().String())
		if err := httpServer.ServeTLS(NewGuests(s.Limits.Guests, s.Limits.GuestsOfSource).Listen(s.Listener), "", ""); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serving the API on %s: %w", s.Listener.Addr(), err)
		}
		return nil
	})
	group.Go(func() error {
		<-ctx.Done()
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), server.ShutdownTimeout)
		defer cancel()
		if err := httpServer.Shutdown(patience); err != nil {
			klog.InfoS("Ended connections with open requests", "after", server.ShutdownTimeout)
		}
		// Only connections are left; an error would be of no use.
		_ = httpServer.Close()
		return nil
	})
	return group.Wait()
}

func (s *Serving) newHTTPServer(handler http.Handler, certificates *tls.Config) *http.Server {
	return &http.Server{
		Handler: handler, TLSConfig: certificates, ConnContext: withConnection,
		ReadHeaderTimeout: s.Limits.Header, IdleTimeout: s.Limits.Idle, MaxHeaderBytes: s.Limits.HeaderBytes,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: maxStreams, MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: connectionBuffer,
			SendPingTimeout: pingAfter, PingTimeout: s.Limits.Header, WriteByteTimeout: s.Limits.Write,
		},
		ErrorLog: log.New(serverLog{}, "", 0),
	}
}

// certificates returns the TLS configuration for info. It follows changes of certificates until ctx ends.
func (s *Serving) certificates(ctx context.Context, info *genericapiserver.SecureServingInfo) (*tls.Config, error) {
	base := &tls.Config{MinVersion: max(tls.VersionTLS12, info.MinTLSVersion), CipherSuites: info.CipherSuites, NextProtos: []string{"h2", "http/1.1"}}
	if info.ClientCA != nil {
		// The authenticators verify them.
		base.ClientAuth = tls.RequestClientCert
	}
	controller := dynamiccertificates.NewDynamicServingCertificateController(base, info.ClientCA, info.Cert, info.SNICerts, nil)
	if info.ClientCA != nil {
		info.ClientCA.AddListener(controller)
	}
	info.Cert.AddListener(controller)
	if err := controller.RunOnce(); err != nil {
		return nil, fmt.Errorf("reading the API server's certificates: %w", err)
	}
	go controller.Run(1, ctx.Done())
	served := base.Clone()
	served.GetConfigForClient = controller.GetConfigForClient
	return served, nil
}

// serverLog receives the messages of net/http, most of which unknown clients can cause.
type serverLog struct{}

func (serverLog) Write(p []byte) (int, error) {
	klog.V(4).InfoS("HTTP server", "message", strings.TrimSpace(string(p)))
	return len(p), nil
}
