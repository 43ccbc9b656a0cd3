// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	cliflag "k8s.io/component-base/cli/flag"
)

// earlyMaxAge is far longer than a start takes.
const earlyMaxAge = 10 * 365 * 24 * time.Hour

// Early answers health checks while a process starts, which may wait for others for any time: /livez with 200, everything else with 503. Stop
// it before the real server listens.
type Early struct{ server *http.Server }

// ServeEarly listens on the TCP port and serves in the background. CipherSuites and minTLSVersion are as in Serving.
func ServeEarly(port int, cipherSuites []string, minTLSVersion string) (*Early, error) {
	config, err := earlyTLS(cipherSuites, minTLSVersion)
	if err != nil {
		return nil, err
	}
	listener, err := Listen(port)
	if err != nil {
		return nil, err
	}
	limits := DefaultLimits()
	e := &Early{&http.Server{
		Handler: http.HandlerFunc(answerEarly), TLSConfig: config, ConnContext: withConnection, ErrorLog: log.New(io.Discard, "", 0),
		ReadTimeout: limits.Header, WriteTimeout: limits.Write, IdleTimeout: limits.Idle, MaxHeaderBytes: limits.HeaderBytes,
	}}
	go func() {
		_ = e.server.ServeTLS(NewGuests(limits.Guests, limits.GuestsOfSource).Listen(listener), "", "")
	}()
	return e, nil
}

// Stop closes all connections and the port. It can be repeated, and called on nil.
func (e *Early) Stop() {
	if e != nil {
		_ = e.server.Close()
	}
}

func answerEarly(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/livez" {
		_, _ = io.WriteString(w, "ok")
		return
	}
	http.Error(w, "the agent is starting", http.StatusServiceUnavailable)
}

func earlyTLS(cipherSuites []string, minVersion string) (*tls.Config, error) {
	certificate, key, err := SelfSigned(KeyFor(cipherSuites), earlyMaxAge, []string{"localhost"}, net.IPv4(127, 0, 0, 1), net.IPv6loopback)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("using the certificate of the first moments: %w", err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}}
	if config.MinVersion, err = cliflag.TLSVersion(minVersion); err != nil {
		return nil, err
	}
	if len(cipherSuites) > 0 {
		if config.CipherSuites, err = cliflag.TLSCipherSuites(cipherSuites); err != nil {
			return nil, err
		}
	}
	return config, nil
}
