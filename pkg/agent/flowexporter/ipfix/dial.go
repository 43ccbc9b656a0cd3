// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ipfix

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/vmware/go-ipfix/pkg/exporter"
)

// maxHanging is the number of calls of the library that may hang at once. It connects, and begins TLS, without a limit.
const maxHanging = 4

var (
	hanging    atomic.Int32
	errHanging = errors.New("earlier attempts to connect have not ended yet")
)

// try connects in the same way as the library does, but within ctx, and closes the connection again. So a collector that is away, or does not
// complete TLS, is found without a call that hangs.
func try(ctx context.Context, o Options) error {
	if o.Protocol == UDP {
		return nil
	}
	var config *tls.Config
	if o.Protocol == TLS {
		var err error
		if config, err = o.Credentials.config(); err != nil {
			return err
		}
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.Address)
	if err != nil {
		return err
	}
	defer conn.Close()
	if config == nil {
		return nil
	}
	return tls.Client(conn, config).HandshakeContext(ctx)
}

func (c *Credentials) config() (*tls.Config, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(c.CA) {
		return nil, errors.New("its CA has no certificate")
	}
	certificate, err := tls.X509KeyPair(c.Certificate, c.Key)
	if err != nil {
		return nil, fmt.Errorf("the agent's certificate for it: %w", err)
	}
	return &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{certificate}, ServerName: c.ServerName, MinVersion: tls.VersionTLS12}, nil
}

// within calls the library in a goroutine, and waits for it no longer than ctx lasts.
func within(ctx context.Context, input exporter.ExporterInput) (*exporter.ExportingProcess, error) {
	if hanging.Add(1) > maxHanging {
		hanging.Add(-1)
		return nil, errHanging
	}
	type result struct {
		process *exporter.ExportingProcess
		err     error
	}
	done := make(chan result, 1)
	go func() {
		defer hanging.Add(-1)
		process, err := exporter.InitExportingProcess(input)
		done <- result{process, err}
		if ctx.Err() == nil || err != nil {
			return
		}
		select {
		case <-done: // within has given up
			process.CloseConnToCollector()
		default:
		}
	}()
	select {
	case r := <-done:
		return r.process, r.err
	case <-ctx.Done():
	}
	select {
	case r := <-done:
		return r.process, r.err
	default:
		return nil, ctx.Err()
	}
}
