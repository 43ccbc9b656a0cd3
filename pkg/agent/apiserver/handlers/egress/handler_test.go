// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"errors"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
)

type known struct {
	list []apis.Egress
	err  error
}

func (k known) List() ([]apis.Egress, error) { return k.list, k.err }

func TestHandleFunc(t *testing.T) {
	const first = `{"name":"a","egressIP":"192.0.2.1","externalIPPool":"p","egressNode":"n1","pods":["x/y"],"state":"Assigned"}`
	const second = `{"name":"b","state":"NoAddress","reason":"full"}`
	all := known{list: []apis.Egress{
		{Name: "a", EgressIP: "192.0.2.1", ExternalIPPool: "p", EgressNode: "n1", Pods: []string{"x/y"}, State: apis.EgressAssigned},
		{Name: "b", State: apis.EgressNoAddress, Reason: "full"},
	}}
	for _, tt := range []struct {
		known known
		query string
		code  int
		want  string
	}{
		{all, "", 200, "[" + first + "," + second + "]"}, {all, "?name=b", 200, "[" + second + "]"}, {all, "?name=c", 404, ""},
		{known{list: []apis.Egress{}}, "", 200, "[]"}, {known{err: errors.New("not read yet")}, "", 503, ""},
	} {
		w := httptest.NewRecorder()
		HandleFunc(known{append([]apis.Egress{}, tt.known.list...), tt.known.err})(w, httptest.NewRequest("GET", "/egresses"+tt.query, nil))
		require.Equal(t, tt.code, w.Code, tt.query)
		if tt.want != "" {
			require.JSONEq(t, tt.want, w.Body.String(), tt.query)
		}
	}
}
