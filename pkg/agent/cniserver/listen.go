// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"k8s.io/klog/v2"

	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

const (
	socketDirMode = 0o750
	socketMode    = 0o600
	// gracefulStopTimeout bounds the wait for running requests at shutdown.
	gracefulStopTimeout = 10 * time.Second
)

// Run listens on the socket and serves until ctx ends; then it refuses new requests, waits for running ones and returns
// nil. It can be called once. It returns an error when it cannot listen or serve.
func (s *Server) Run(ctx context.Context) error {
	listener, err := listen(s.cfg.Socket)
	if err != nil {
		return err
	}
	server := newGRPCServer(defaultConnectionTimes)
	cnipb.RegisterCniServer(server, s)
	served := make(chan error, 1)
	go func() { served <- serveLimited(server, listener) }()
	klog.InfoS("Serving CNI requests", "socket", s.cfg.Socket)
	s.background.Go(func() { s.readmit(s.stopping, readmitInterval) })

	select {
	case err = <-served:
	case <-ctx.Done():
		s.stop()
		stopGracefully(server)
		if err = <-served; errors.Is(err, grpc.ErrServerStopped) { // it had not started to serve
			err = nil
		}
	}
	s.stop()
	s.background.Wait()
	if err != nil {
		return fmt.Errorf("serve CNI requests on %s: %w", s.cfg.Socket, err)
	}
	return nil
}

func stopGracefully(server *grpc.Server) {
	stopped := make(chan struct{})
	go func() {
		server.GracefulStop()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(gracefulStopTimeout):
		server.Stop()
		<-stopped
	}
}

// listen replaces the socket of an earlier agent, and refuses to replace anything else.
func listen(socket string) (net.Listener, error) {
	dir := filepath.Dir(socket)
	if err := os.MkdirAll(dir, socketDirMode); err != nil {
		return nil, fmt.Errorf("directory of the CNI socket: %w", err)
	}
	info, err := os.Lstat(socket)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("CNI socket: %w", err)
	case info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("CNI socket %s: the path exists and is not a socket (mode %s), remove it or set another cniSocket", socket, info.Mode())
	default:
		if err := os.Remove(socket); err != nil {
			return nil, fmt.Errorf("remove stale CNI socket: %w", err)
		}
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("listen on CNI socket: %w", err)
	}
	if err := os.Chmod(socket, socketMode); err != nil {
		listener.Close()
		return nil, fmt.Errorf("CNI socket: %w", err)
	}
	return listener, nil
}
