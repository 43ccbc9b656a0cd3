// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package loglevel

import (
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"
)

func TestHandleFunc(t *testing.T) {
	defer func() {
		var level klog.Level
		_ = level.Set("0")
	}()
	handle := HandleFunc()
	for _, tc := range []struct {
		name, query string
		status      int
		body        string
	}{
		{"read", "", 200, `{"level":0}`},
		{"set", "?level=4", 200, `{"level":4}`},
		{"read what was set", "", 200, `{"level":4}`},
		{"negative", "?level=-1", 400, `level "-1" is not a number`},
		{"no number", "?level=debug", 400, `level "debug" is not a number`},
		{"unchanged after bad values", "", 200, `{"level":4}`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			handle(w, httptest.NewRequest("GET", "/loglevel"+tc.query, nil))
			require.Equal(t, tc.status, w.Code)
			require.Contains(t, w.Body.String(), tc.body)
		})
	}
	require.True(t, klog.V(4).Enabled())
	require.False(t, klog.V(5).Enabled())
}
