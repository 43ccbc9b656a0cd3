// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/ipfix"
	agentconfig "github.com/antrea-oncache/antrea/pkg/config/agent"
)

// credentials are a certificate and its key.
func credentials(t *testing.T) (certificate, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded})
}

// silent accepts connections and says nothing.
func silent(t *testing.T) (port uint16) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// deaf has a full queue of connections, so that it does not answer to more of them.
func deaf(t *testing.T) (port uint16) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	raw, err := l.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { err = shrinkBacklog(fd) }))
	require.NoError(t, err)
	// On a busy machine a single timeout may have another reason.
	for timeouts := 0; timeouts < 3; timeouts++ {
		conn, err := net.DialTimeout("tcp", l.Addr().String(), 200*time.Millisecond)
		if err == nil {
			t.Cleanup(func() { _ = conn.Close() })
			timeouts = -1
		}
	}
	return uint16(l.Addr().(*net.TCPAddr).Port)
}

// Whatever the collector does, an exporter that stops stores all counts at once.
func TestNothingIsLostToACollectorThatHangs(t *testing.T) {
	certificate, key := credentials(t)
	kube := fake.NewClientset(
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: aggregatorNamespace, Name: caConfigMap}, Data: map[string]string{caKey: string(certificate)}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: aggregatorNamespace, Name: clientSecret}, Data: map[string][]byte{corev1.TLSCertKey: certificate, corev1.TLSPrivateKeyKey: key}},
	)
	collector := func(protocol string, port uint16) func(context.Context) (Session, error) {
		return (&Collector{FlowCollector: agentconfig.FlowCollector{Host: "127.0.0.1", Port: port, Protocol: protocol}, NodeName: "n", Kube: kube}).Dial
	}
	hung := make(chan struct{})
	defer close(hung)
	for _, test := range []struct {
		name string
		dial func(context.Context) (Session, error)
	}{
		{"it accepts, and does not complete TLS", collector(ipfix.TLS, silent(t))},
		{"it does not accept", collector(ipfix.TCP, deaf(t))},
		{"records are not taken", func(context.Context) (Session, error) { return hungSession{closed: hung}, nil }},
	} {
		t.Run(test.name, func(t *testing.T) {
			var dialled atomic.Bool
			e := &Exporter{
				Poll: 10 * time.Millisecond, Timeouts: flows.Timeouts{Active: 20 * time.Millisecond, Idle: time.Hour}, Begun: time.Now(),
				StateFile:   filepath.Join(t.TempDir(), "state"),
				Connections: func(func(*conntrack.Connection) bool) error { return nil },
				Ends:        func() (*conntrack.Ends, error) { return nil, os.ErrClosed },
				Describer: func() flows.Describe {
					return func(*conntrack.Connection) (flows.Info, bool) { return flows.Info{}, false }
				},
				Dial: func(ctx context.Context) (Session, error) { dialled.Store(true); return test.dial(ctx) },
			}
			ctx, cancel := context.WithCancel(t.Context())
			go e.Run(ctx)
			require.Eventually(t, dialled.Load, patience, time.Millisecond)
			cancel()
			began := time.Now()
			require.Eventually(t, func() bool { _, err := os.Stat(e.StateFile); return err == nil }, patience, time.Millisecond)
			require.Less(t, time.Since(began), dialTimeout)
		})
	}
}

// hungSession takes nothing, and does not even end.
type hungSession struct{ closed chan struct{} }

func (s hungSession) Send([]*flows.Record) (int, error) { <-s.closed; return 0, net.ErrClosed }
func (s hungSession) Close()                            {}

// shrinkBacklog makes the queue of a listener as short as possible.
func shrinkBacklog(fd uintptr) error { return unix.Listen(int(fd), 0) }
