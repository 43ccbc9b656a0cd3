// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicehealth

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"

	"k8s.io/klog/v2"
)

const (
	// A load balancer asks in one small packet. Whoever is slow, or sends more, may come from anywhere.
	requestTimeout = 5 * time.Second
	maxHeaderBytes = 8 << 10
	// maxConnections limits the connections of all ports together, maxConnectionsOfSource the connections of one client
	// (IPv6: one /64). One more closes the oldest.
	maxConnections, maxConnectionsOfSource = 500, 50
)

// everywhere is the address of a listener at all addresses of the Node, of both IP versions.
var everywhere netip.Addr

// listen serves HTTP at a port of one address.
func (s *Server) listen(addr netip.Addr, port uint16, handler http.Handler) (*http.Server, error) {
	at := fmt.Sprintf(":%d", port)
	if addr != everywhere {
		at = netip.AddrPortFrom(addr, port).String()
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, err
	}
	return s.serve(l, handler), nil
}

func (s *Server) serve(l net.Listener, handler http.Handler) *http.Server {
	server := &http.Server{Handler: handler, ReadTimeout: requestTimeout, WriteTimeout: requestTimeout, MaxHeaderBytes: maxHeaderBytes}
	server.SetKeepAlivesEnabled(false)
	go func() {
		if err := server.Serve(s.guests.Listen(l)); err != nil && !errors.Is(err, http.ErrServerClosed) {
			klog.ErrorS(err, "A health check server has ended", "address", l.Addr())
		}
	}()
	return server
}

// answer writes text, which is JSON.
func answer(w http.ResponseWriter, healthy bool, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !healthy {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	// The client has gone if this fails.
	_, _ = w.Write(text)
}
