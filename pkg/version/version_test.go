// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGetFullVersion(t *testing.T) {
	defer func(v, sha, tree, status string) {
		Version, GitSHA, GitTreeState, ReleaseStatus = v, sha, tree, status
	}(Version, GitSHA, GitTreeState, ReleaseStatus)
	for _, tc := range []struct{ version, sha, tree, status, want string }{
		{"", "", "", "unreleased", "UNKNOWN"},
		{"v0.1.0", "abc1234", "clean", "released", "v0.1.0"},
		{"v0.1.0-dev", "", "", "unreleased", "v0.1.0-dev-unknown"},
		{"v0.1.0-dev", "abc1234", "clean", "unreleased", "v0.1.0-dev-abc1234"},
		{"v0.1.0-dev", "abc1234", "dirty", "unreleased", "v0.1.0-dev-abc1234.dirty"},
	} {
		Version, GitSHA, GitTreeState, ReleaseStatus = tc.version, tc.sha, tc.tree, tc.status
		require.Equal(t, tc.want, GetFullVersion())
	}
	require.Regexp(t, `^antrea-oncache v\S+ linux/\S+ go\S+`, GetFullVersionWithRuntimeInfo())
}
