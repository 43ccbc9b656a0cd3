// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/system/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apiserver/certificate"
)

// testSupportBundle collects a bundle through the Kubernetes API's aggregator.
func testSupportBundle(t *testing.T, f *fixture) {
	client := f.admin.Kube.Discovery().RESTClient()
	wanted, err := json.Marshal(map[string]any{"kind": "SupportBundle", "apiVersion": "system.antrea.io/v1beta1", "metadata": map[string]any{"name": "controller"}})
	require.NoError(t, err)
	answer, err := client.Post().AbsPath(v1beta1.SupportBundlePath).SetHeader("Content-Type", "application/json").Body(wanted).DoRaw(t.Context())
	require.NoError(t, err, string(answer))
	var bundle v1beta1.SupportBundle
	f.eventually("a support bundle", func() error {
		answer, err := client.Get().AbsPath(v1beta1.SupportBundlePath + "/controller").DoRaw(t.Context())
		if err == nil {
			err = json.Unmarshal(answer, &bundle)
		}
		if err == nil && bundle.Status != v1beta1.SupportBundleStatusCollected {
			err = fmt.Errorf("status %s", bundle.Status)
		}
		return err
	})
	archive, err := client.Get().AbsPath(v1beta1.SupportBundlePath + "/controller/download").DoRaw(t.Context())
	require.NoError(t, err)
	sum := sha256.Sum256(archive)
	require.Equal(t, bundle.Sum, hex.EncodeToString(sum[:]))
	unpack := exec.CommandContext(t.Context(), "tar", "-xzO")
	unpack.Stdin = bytes.NewReader(archive)
	text, err := unpack.Output()
	require.NoError(t, err)
	for _, part := range []string{"component: controller", "kind: AntreaControllerInfo", "appliedToGroups:", "heap profile", "goroutine "} {
		require.Contains(t, string(text), part)
	}
	key, err := f.admin.Kube.CoreV1().Secrets("kube-system").Get(t.Context(), certificate.Secret, metav1.GetOptions{})
	require.NoError(t, err)
	require.NotContains(t, string(text), string(key.Data["tls.key"]))
	resources, err := f.admin.Kube.Discovery().ServerResourcesForGroupVersion("system.antrea.io/v1beta1")
	require.NoError(t, err)
	var names []string
	for _, r := range resources.APIResources {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"controllerinfos", "supportbundles", "supportbundles/download"}, names)
}

// testRestart: agents and the aggregator continue to trust a controller that has restarted.
func testRestart(t *testing.T, f *fixture) {
	published := func() (ca, secret string) {
		configMap, err := f.admin.Kube.CoreV1().ConfigMaps("kube-system").Get(t.Context(), apis.ControllerCA, metav1.GetOptions{})
		require.NoError(t, err)
		kept, err := f.admin.Kube.CoreV1().Secrets("kube-system").Get(t.Context(), certificate.Secret, metav1.GetOptions{})
		require.NoError(t, err)
		return configMap.Data[apis.ControllerCAKey], string(kept.Data[apis.ControllerCAKey])
	}
	ca, secret := published()
	require.Equal(t, ca, secret)
	f.stop()
	t.Setenv("NODE_NAME", "node-1")
	f.startController() // it waits until a client that trusts the published CA is served
	again, secretAgain := published()
	require.Equal(t, ca, again)
	require.Equal(t, secret, secretAgain)
	f.waitAggregated()
}

// waitAggregated waits until kube-apiserver passes requests on again: it notices by itself that the controller was away and that it is back.
func (f *fixture) waitAggregated() {
	f.t.Helper()
	for _, name := range certificate.APIServices {
		version, group, _ := strings.Cut(name, ".")
		f.eventually(name+" behind the aggregator", func() error {
			return f.admin.Kube.Discovery().RESTClient().Get().AbsPath("/apis", group, version).Do(f.t.Context()).Error()
		})
	}
}
