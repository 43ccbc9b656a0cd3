// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestByMethod: a path answers the methods that it has, and says which these are.
func TestByMethod(t *testing.T) {
	answer := func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte(r.Method)) }
	for _, tc := range []struct {
		name         string
		read, change http.HandlerFunc
		allowed      string
		codes        map[string]int
	}{
		{"read only", answer, nil, "GET", map[string]int{"GET": 200, "PUT": 405, "POST": 405}},
		{"both", answer, answer, "GET, PUT", map[string]int{"GET": 200, "PUT": 200, "DELETE": 405}},
		{"change only", nil, answer, "PUT", map[string]int{"GET": 405, "PUT": 200, "POST": 405}},
	} {
		for method, code := range tc.codes {
			w := httptest.NewRecorder()
			byMethod(tc.read, tc.change)(w, httptest.NewRequest(method, "/x", nil))
			require.Equal(t, code, w.Code, "%s: %s", tc.name, method)
			if code == http.StatusOK {
				require.Equal(t, method, w.Body.String())
			} else {
				require.Equal(t, tc.allowed, w.Header().Get("Allow"), tc.name)
			}
		}
	}
}
