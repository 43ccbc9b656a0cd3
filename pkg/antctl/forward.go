// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/klog/v2"
	"k8s.io/streaming/pkg/httpstream"
)

// directPatience limits a direct connection to a Node, which many clusters do not allow from outside.
const directPatience = 3 * time.Second

// forwarder reaches a port of a Pod through the Kubernetes API, as kubectl port-forward does. The user needs the right to create pods/portforward.
type forwarder struct {
	config *rest.Config
	base   *url.URL
	pod    corev1.ObjectReference
	port   int
}

// dial connects to the component: directly, or through the Kubernetes API where that fails. From outside a cluster, a Node's address may also belong
// to a foreign machine, which its certificate shows.
func (c *component) dial(ctx context.Context, network, address string) (net.Conn, error) {
	direct, cancel := context.WithTimeout(ctx, directPatience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(direct, network, address)
	if err == nil {
		conn, err = c.handshake(direct, conn)
	}
	if err == nil || c.forward == nil || ctx.Err() != nil {
		return conn, err
	}
	forwarded, failure := c.forward.dial(ctx)
	if failure == nil {
		forwarded, failure = c.handshake(ctx, forwarded)
	}
	if failure != nil {
		return nil, fmt.Errorf("%w; through the Kubernetes API: %w", err, failure)
	}
	return forwarded, nil
}

// handshake verifies the component's certificate. It closes conn if that fails.
func (c *component) handshake(ctx context.Context, conn net.Conn) (net.Conn, error) {
	verified := tls.Client(conn, c.tls)
	if err := verified.HandshakeContext(ctx); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return verified, nil
}

// dial opens a port on loopback that leads to the Pod, and connects to it. The port is closed with the connection; what else connects to it
// meets the component's TLS and needs its token.
func (f *forwarder) dial(ctx context.Context) (net.Conn, error) {
	dialer, err := f.dialer()
	if err != nil {
		return nil, err
	}
	open, stop := context.WithCancel(context.WithoutCancel(ctx))
	ready, ended := make(chan struct{}), make(chan error, 1)
	forward, err := portforward.NewOnAddressesForStreamingWithContext(open, dialer, []string{"127.0.0.1"}, []string{"0:" + strconv.Itoa(f.port)}, ready, io.Discard, io.Discard)
	if err != nil {
		stop()
		return nil, err
	}
	go func() { ended <- forward.ForwardPorts() }()
	select {
	case <-ready:
	case err = <-ended:
		if err == nil {
			err = errors.New("the connection was closed")
		}
	case <-ctx.Done():
		err = ctx.Err()
	}
	var conn net.Conn
	if err == nil {
		conn, err = connectTo(ctx, forward)
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("forwarding a port to Pod %s/%s: %w", f.pod.Namespace, f.pod.Name, err)
	}
	return &forwardedConn{conn, stop}, nil
}

func connectTo(ctx context.Context, forward *portforward.PortForwarder) (net.Conn, error) {
	ports, err := forward.GetPorts()
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(ports[0].Local))))
}

// dialer upgrades a connection to the Kubernetes API: with WebSocket, or with SPDY where that fails, as before Kubernetes 1.31.
func (f *forwarder) dialer() (httpstream.Dialer, error) {
	target := f.base.JoinPath("/api/v1/namespaces", url.PathEscape(f.pod.Namespace), "pods", url.PathEscape(f.pod.Name), "portforward")
	webSocket, err := portforward.NewSPDYOverWebsocketDialerForStreamingWithLogger(klog.Background(), target, f.config)
	if err != nil {
		return nil, err
	}
	transport, upgrader, err := spdy.RoundTripperFor(f.config)
	if err != nil {
		return nil, err
	}
	older := spdy.NewDialerForStreaming(upgrader, &http.Client{Transport: transport}, http.MethodPost, target)
	return portforward.NewFallbackDialerForStreaming(webSocket, older, func(error) bool { return true }), nil
}

// forwardedConn ends the forwarding when it is closed.
type forwardedConn struct {
	net.Conn
	stop context.CancelFunc
}

func (c *forwardedConn) Close() error {
	defer c.stop()
	return c.Conn.Close()
}
