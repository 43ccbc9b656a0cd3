// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceexternalip

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
)

type known struct{}

func (known) Addresses() ([]apis.ServiceExternalIP, error) {
	return []apis.ServiceExternalIP{
		{ServiceName: "web", Namespace: "a", ExternalIPPool: "p", ExternalIP: "192.0.2.1", AssignedNode: "n1"}, {ServiceName: "web", Namespace: "b", ExternalIPPool: "p"},
	}, nil
}

func TestHandleFunc(t *testing.T) {
	const first = `{"serviceName":"web","namespace":"a","externalIPPool":"p","externalIP":"192.0.2.1","assignedNode":"n1"}`
	const second = `{"serviceName":"web","namespace":"b","externalIPPool":"p"}`
	for query, want := range map[string]string{
		"": "[" + first + "," + second + "]", "?name=web": "[" + first + "," + second + "]", "?namespace=b": "[" + second + "]", "?namespace=c": "[]", "?name=x": "",
	} {
		w := httptest.NewRecorder()
		HandleFunc(known{})(w, httptest.NewRequest("GET", "/serviceexternalip"+query, nil))
		if want == "" {
			require.Equal(t, 404, w.Code, query)
			continue
		}
		require.Equal(t, 200, w.Code, query)
		require.JSONEq(t, want, w.Body.String(), query)
	}
}
