// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"

	"github.com/quic-go/quic-go/http3"
)

// serve answers a GET of /N with N bytes. It writes a line that begins with "ready" to status when it listens.
func serve(ctx context.Context, listen string, status io.Writer) error {
	certificate, err := newCertificate()
	if err != nil {
		return err
	}
	address, err := net.ResolveUDPAddr("udp", listen)
	if err != nil {
		return fmt.Errorf("address %q must be an IP address and a port: %w", listen, err)
	}
	socket, err := net.ListenUDP("udp", address)
	if err != nil {
		return err
	}
	defer socket.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{size}", sendBody)
	server := &http3.Server{Handler: mux, TLSConfig: http3.ConfigureTLSConfig(&tls.Config{Certificates: []tls.Certificate{certificate}})}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })() // Serve returns the error, if any
	fmt.Fprintln(status, "ready", socket.LocalAddr())
	if err := server.Serve(socket); err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve at %s: %w", socket.LocalAddr(), err)
	}
	return nil
}

// content is the content of bodies. Encrypted, any content looks alike.
var content [64 << 10]byte

func sendBody(w http.ResponseWriter, r *http.Request) {
	size, err := strconv.ParseInt(r.PathValue("size"), 10, 64)
	if err != nil || size < 0 {
		http.Error(w, fmt.Sprintf("%s must be / and the number of bytes to send", r.URL.Path), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	for size > 0 {
		n, err := w.Write(content[:min(size, int64(len(content)))])
		if err != nil {
			return // the client has enough
		}
		size -= int64(n)
	}
}
