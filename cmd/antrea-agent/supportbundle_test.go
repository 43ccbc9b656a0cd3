// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/system/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/supportbundle/bundletest"
)

// requireSupportBundle makes the running agent collect a bundle and looks into it.
func requireSupportBundle(t *testing.T, api *apiClient) {
	t.Helper()
	token, err := os.ReadFile(api.tokenFile)
	require.NoError(t, err)
	request, err := http.NewRequest(http.MethodPost, api.base+v1beta1.SupportBundlePath, strings.NewReader(`{"metadata":{"name":"agent"}}`))
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+string(token))
	answer, err := api.http.Do(request)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusCreated, answer.StatusCode)
	eventually(t, func() error {
		return api.want(v1beta1.SupportBundlePath+"/agent", string(v1beta1.SupportBundleStatusCollected))
	})
	require.NoError(t, api.want("/apis", "system.antrea.io"))
	require.NoError(t, api.want(v1beta1.APIPath, `"supportbundles/download"`))
	status, body, err := api.get(v1beta1.SupportBundlePath + "/agent/download")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)

	files := bundletest.Unpack(t, strings.NewReader(body))
	for name, part := range map[string]string{
		"agentinfo": "name: node1", "flows": "table=Classifier", "ovsports": "antrea-gw0", "ovsdb/Bridge": "br-int", "address": "192.168.0.1/24",
		"iptables": "ANTREA-INPUT", "ipset": "ANTREA-", "route": "10.10.2.0/24", "antrea-agent.conf": "cniSocket", "featuregates": "name: ONCache",
		"profiles/goroutines": "goroutine ", "profiles/heap": "heap profile", "metrics": "# TYPE go_goroutines", "problems": "[]",
	} {
		require.Contains(t, files[name], part, name)
	}
	var manifest struct {
		Files []struct{ Name, Error string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(files["manifest.yaml"]), &manifest))
	for _, f := range manifest.Files {
		switch {
		case f.Name == "oncache" || f.Name == "oncache-mode":
			require.Contains(t, f.Error, "oncache is not enabled")
		case f.Name == "memberlist": // antrea-controller, which makes the key, is missing
			require.Contains(t, f.Error, "the members are not known")
		case strings.HasPrefix(f.Name, "datapath/"): // the datapath of this test is in user space
		case strings.HasPrefix(f.Name, "kernel/"):
		default:
			require.Empty(t, f.Error, f.Name)
		}
	}
	for name, content := range files {
		require.NotContains(t, content, string(token), name)
	}
}

// TestBundleNames: the API's resource and its body are Antrea's.
func TestBundleNames(t *testing.T) {
	text, err := json.Marshal(v1beta1.SupportBundle{Status: v1beta1.SupportBundleStatusCollected, Sum: "00", Since: "1h", Size: 1})
	require.NoError(t, err)
	require.JSONEq(t, `{"metadata":{},"status":"Collected","sum":"00","since":"1h","size":1}`, string(text))
	require.Equal(t, "/apis/system.antrea.io/v1beta1/supportbundles", v1beta1.SupportBundlePath)
}
