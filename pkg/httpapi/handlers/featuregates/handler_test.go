// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package featuregates

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/features"
	"github.com/antrea-oncache/antrea/pkg/httpapi/apis"
)

func TestHandleAgent(t *testing.T) {
	gates, err := features.New(map[string]bool{"ONCache": true, "Egress": false})
	require.NoError(t, err)
	w := httptest.NewRecorder()
	HandleAgent(gates)(w, httptest.NewRequest("GET", "/featuregates", nil))
	require.Equal(t, 200, w.Code)
	var got []apis.FeatureGate
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.Len(t, got, len(features.AgentGates()))
	require.Equal(t, "AntreaIPAM", got[0].Name)
	for _, want := range []apis.FeatureGate{
		{Component: "agent", Name: "ONCache", Status: "Enabled", Version: "ALPHA"},
		{Component: "agent", Name: "Egress", Status: "Disabled", Version: "BETA"},
		{Component: "agent", Name: "AntreaProxy", Status: "Enabled", Version: "GA"},
	} {
		require.Contains(t, got, want)
	}
}
