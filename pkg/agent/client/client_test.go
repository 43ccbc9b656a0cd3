// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"

	"github.com/antrea-oncache/antrea/pkg/agent/client"
	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/generic"
)

// startController serves as antrea-controller does: with a certificate for the Service's name, which authority verifies. It
// returns its port, and the requests' Authorization headers.
func startController(t *testing.T) (port int32, authority string, asked <-chan string) {
	cert, key, err := generic.SelfSigned(generic.ECDSA, time.Hour, []string{apis.ControllerServerName(apis.DefaultNamespace)})
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(cert, key)
	require.NoError(t, err)
	requests := make(chan string, 1)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests <- r.Header.Get("Authorization")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"kind":"NetworkPolicyList","apiVersion":"controlplane.antrea.io/v1beta2","items":[]}`))
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	server.StartTLS()
	t.Cleanup(server.Close)
	_, text, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)
	number, err := strconv.Atoi(text)
	require.NoError(t, err)
	return int32(number), string(cert), requests
}

// start makes a Provider of a cluster with these objects.
func start(t *testing.T, objects ...runtime.Object) *client.Provider {
	provider, err := client.NewProvider(fake.NewClientset(objects...), &rest.Config{BearerToken: "secret"})
	require.NoError(t, err)
	var running sync.WaitGroup
	running.Go(func() { provider.Run(t.Context()) })
	t.Cleanup(running.Wait)
	return provider
}

func TestClient(t *testing.T) {
	port, certificate, asked := startController(t)
	endpoints := controllerAt("127.0.0.1", true)
	endpoints.Ports[0].Port = &port
	ca := controllerAuthority()
	ca.Data[apis.ControllerCAKey] = certificate
	other := controllerAuthority() // of another controller

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	clients, err := start(t, controllerServiceObject(), endpoints, ca).Client(ctx)
	require.NoError(t, err)
	_, err = clients.NetworkPolicies().List(ctx, metav1.ListOptions{})
	require.NoError(t, err)
	require.Equal(t, "Bearer secret", <-asked)

	clients, err = start(t, controllerServiceObject(), endpoints, other).Client(ctx)
	require.NoError(t, err)
	_, err = clients.NetworkPolicies().List(ctx, metav1.ListOptions{})
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	require.Empty(t, asked)
}

func TestNoClient(t *testing.T) {
	notReady := controllerAt("192.0.2.1", false)
	for _, tc := range []struct {
		name    string
		objects []runtime.Object
		err     string
	}{
		{"no controller", nil, client.ErrNoController.Error()},
		{"none is ready", []runtime.Object{controllerServiceObject(), controllerAuthority(), notReady}, "no antrea-controller is ready"},
		{"no authority", []runtime.Object{controllerServiceObject(), controllerAt("192.0.2.1", true)}, "there is no ConfigMap kube-system/antrea-ca with ca.crt"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			_, err := start(t, tc.objects...).Client(ctx)
			require.ErrorContains(t, err, tc.err)
		})
	}
}
