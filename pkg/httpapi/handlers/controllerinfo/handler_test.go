// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerinfo

import (
	"encoding/json"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// agents counts the questions, to show that answers are of the time of the request.
type agents int32

func (a *agents) ControllerInfo() v1beta1.AntreaControllerInfo {
	*a++
	return v1beta1.AntreaControllerInfo{Version: "v1", ConnectedAgentNum: int32(*a)}
}

func TestRoutes(t *testing.T) {
	const group = "/apis/system.antrea.io/v1beta1"
	routes := Routes(new(agents))
	get := func(path string) map[string]any {
		t.Helper()
		require.Contains(t, routes, path)
		answer := httptest.NewRecorder()
		routes[path](answer, httptest.NewRequest("GET", path, nil))
		var got map[string]any
		require.NoError(t, json.Unmarshal(answer.Body.Bytes(), &got))
		return got
	}
	for n := 1; n < 3; n++ {
		info := get(group + "/controllerinfos/antrea-controller")
		require.Equal(t, "AntreaControllerInfo", info["kind"])
		require.Equal(t, "system.antrea.io/v1beta1", info["apiVersion"])
		require.Equal(t, "antrea-controller", info["metadata"].(map[string]any)["name"])
		require.EqualValues(t, n, info["connectedAgentNum"])
	}
	list := get(group + "/controllerinfos")
	require.Equal(t, "AntreaControllerInfoList", list["kind"])
	require.EqualValues(t, 3, list["items"].([]any)[0].(map[string]any)["connectedAgentNum"])
	resource := get(group)["resources"].([]any)[0].(map[string]any)
	require.Equal(t, "controllerinfos", resource["name"])
	require.Equal(t, []any{"get", "list"}, resource["verbs"])
}
