// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLargeBodies: webhooks may have large bodies, a few at once, and no source can take the room of all.
func TestLargeBodies(t *testing.T) {
	b := &bodies{limit: 16 << 10, webhooks: []string{"/validate/x"}}
	allow := func(path, source string, length int64) (int64, func(), bool) {
		r := httptest.NewRequest("POST", path, nil)
		r.RemoteAddr, r.ContentLength = source+":1", length
		return b.allow(r)
	}
	for _, length := range []int64{-1, 1 << 20} {
		limit, release, ok := allow("/other", "10.0.0.1", length)
		require.True(t, ok)
		require.Equal(t, b.limit, limit, "not a webhook")
		release()
	}
	var releases []func()
	for range largeBodiesOfSource {
		limit, release, ok := allow("/validate/x", "10.0.0.1", -1)
		require.True(t, ok)
		require.EqualValues(t, webhookBytes, limit)
		releases = append(releases, release)
	}
	_, _, ok := allow("/validate/x", "10.0.0.1", 1<<20)
	require.False(t, ok, "one too many of this source")
	limit, _, ok := allow("/validate/x", "10.0.0.1", 100)
	require.True(t, ok)
	require.Equal(t, b.limit, limit, "small ones need no room")
	for i := range largeBodies - largeBodiesOfSource {
		_, release, ok := allow("/validate/x", fmt.Sprint("10.0.1.", i), -1)
		require.True(t, ok)
		releases = append(releases, release)
	}
	_, _, ok = allow("/validate/x", "10.0.2.1", -1)
	require.False(t, ok, "one too many of all")
	for _, release := range releases {
		release()
	}
	require.Empty(t, b.large)
}
