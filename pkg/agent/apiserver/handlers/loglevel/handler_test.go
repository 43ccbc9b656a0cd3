// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package loglevel

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

func TestLogLevel(t *testing.T) {
	defer func() {
		var level klog.Level
		_ = level.Set("0")
	}()
	read, set := HandleFunc(), HandleSet()
	for _, tc := range []struct {
		name, method, query string
		status              int
		body                string
	}{
		{"read", "GET", "", 200, `{"level":0}`},
		{"set", "PUT", "?level=4", 200, `{"level":4}`},
		{"read what was set", "GET", "", 200, `{"level":4}`},
		{"set by GET", "GET", "?level=3", 405, "use PUT with the same parameter level"},
		{"set by GET, no value", "GET", "?level=", 405, "use PUT"},
		{"nothing to set", "PUT", "", 400, `level "" is not a number`},
		{"negative", "PUT", "?level=-1", 400, `level "-1" is not a number from 0 to 7`},
		{"no number", "PUT", "?level=debug", 400, `level "debug" is not a number`},
		{"at which secrets are logged", "PUT", "?level=8", 400, `level "8" is not a number from 0 to 7; above that tokens would be logged`},
		{"unchanged after bad values", "GET", "", 200, `{"level":4}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handle := read
			if tc.method == "PUT" {
				handle = set
			}
			handle(w, httptest.NewRequest(tc.method, "/loglevel"+tc.query, nil))
			require.Equal(t, tc.status, w.Code)
			require.Contains(t, w.Body.String(), tc.body)
		})
	}
	require.True(t, klog.V(4).Enabled())
	require.False(t, klog.V(5).Enabled())
}
