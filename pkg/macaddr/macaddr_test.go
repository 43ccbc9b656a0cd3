// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package macaddr

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRandom(t *testing.T) {
	seen := map[string]bool{}
	for range 200 {
		mac := Random().String()
		require.Regexp(t, regexp.MustCompile(`^[0-9a-f][26ae](:[0-9a-f]{2}){5}$`), mac, "locally administered unicast")
		seen[mac] = true
	}
	require.Len(t, seen, 200)
}
