// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

type fakeExplainer struct{ err error }

func (e fakeExplainer) Explain(_ context.Context, q explain.Question) (*api.Explanation, error) {
	return &api.Explanation{Treatment: api.Treatment{Path: fmt.Sprint(q)}}, e.err
}

func TestHandleFunc(t *testing.T) {
	const pods = "from=a/b&to=c/d"
	for _, test := range []struct {
		name, query string
		err         error
		code        int
		body        string
	}{
		{"TCP is the default", pods + "&port=80", nil, http.StatusOK, "{a/b c/d  TCP 80 0}"},
		{"protocol", pods + "&port=53&protocol=udp", nil, http.StatusOK, "{a/b c/d  udp 53 0}"},
		{"a Service's address", "from=a/b&to=10.96.0.1&port=80", nil, http.StatusOK, "{a/b 10.96.0.1  TCP 80 0}"},
		{"a Service", "from=a/b&service=c/d&port=80", nil, http.StatusOK, "{a/b  c/d TCP 80 0}"},
		{"a 5-tuple", "from=10.0.0.1:4000&to=10.0.1.1:80&protocol=UDP", nil, http.StatusOK, "{10.0.0.1 10.0.1.1  UDP 80 4000}"},
		{"a 5-tuple of IPv6", "from=[fd00::1]:4000&to=[fd00:1::1]:80", nil, http.StatusOK, "{fd00::1 fd00:1::1  TCP 80 4000}"},
		{"two ports", "from=a/b&to=10.0.1.1:80&port=81", nil, http.StatusBadRequest, "has a port already"},
		{"a Pod and a Service", pods + "&service=c/d&port=80", nil, http.StatusBadRequest, "either to or service"},
		{"no such Service", "from=a/b&service=c/d&port=80", explain.ErrNoService, http.StatusNotFound, "not handled by AntreaProxy"},
		{"no port", pods, nil, http.StatusBadRequest, "from, port, and either to or service are needed"},
		{"no Pod", "to=c/d&port=80", nil, http.StatusBadRequest, "from, port, and either to or service are needed"},
		{"port 0", pods + "&port=0", nil, http.StatusBadRequest, "must be 1 to 65535"},
		{"no number", pods + "&port=http", nil, http.StatusBadRequest, "must be 1 to 65535"},
		{"bad question", pods + "&port=80", explain.ErrBadQuestion, http.StatusBadRequest, "bad question"},
		{"another Node", pods + "&port=80", explain.ErrNotHere, http.StatusNotFound, "ask the agent of one of their Nodes"},
		{"failure", pods + "&port=80", errors.New("broken"), http.StatusInternalServerError, "broken"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			HandleFunc(fakeExplainer{test.err})(w, httptest.NewRequest(http.MethodGet, "/oncache/explain?"+test.query, nil))
			require.Equal(t, test.code, w.Code)
			require.Contains(t, w.Body.String(), test.body)
		})
	}
}
