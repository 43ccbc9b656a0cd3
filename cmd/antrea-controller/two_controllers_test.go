// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/client/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/freeport"
)

// A rolling update: the new controller starts while the old one still runs. Then the update is rolled back.
func TestTwoControllers(t *testing.T) {
	f := startKubernetes(t)
	f.createPod("web", "node-1", "10.0.1.1", map[string]string{"app": "web"})
	f.createPolicy()
	testMissingDefinitions(t, f)
	published := func() string {
		ca, err := f.admin.Kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), apis.ControllerCA, metav1.GetOptions{})
		require.NoError(t, err)
		return ca.Data[apis.ControllerCAKey]
	}
	ca := published()
	client, err := f.direct()
	require.NoError(t, err)
	policies, err := client.NetworkPolicies().Watch(t.Context(), controlplane.OfNode("node-1"))
	require.NoError(t, err)
	defer policies.Stop()
	require.Equal(t, watch.Added, next(t, policies).Type)

	second := *f
	options := *f.options
	config := *f.options.config
	ports, err := freeport.Loopback(1)
	require.NoError(t, err)
	config.APIPort, second.port = ports[0], ports[0]
	options.config, options.tokenFile, second.options = &config, filepath.Join(t.TempDir(), "token"), &options
	second.startController() // returns when it is ready

	for range policies.ResultChan() {
		// Wait until the former controller has ended the watch.
	}
	f.eventually("the former controller stands by", func() error {
		_, err := f.direct()
		require.ErrorContains(t, err, "/readyz: 500")
		return nil
	})
	_, err = client.NetworkPolicies().List(t.Context(), metav1.ListOptions{})
	require.ErrorContains(t, err, "another antrea-controller serves")
	require.Equal(t, ca, published(), "the CA is the same")
	client, err = second.direct()
	require.NoError(t, err)
	list, err := client.NetworkPolicies().List(t.Context(), metav1.ListOptions{})
	require.NoError(t, err)
	require.Len(t, list.Items, 1)

	second.stop()
	f.eventually("the former controller serves again", func() error {
		_, err := f.direct()
		return err
	})
	require.Equal(t, ca, published())
	f.stop()
}
