// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package round

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzRounds reads rounds from arbitrary external_ids. The next round is none of those that may have flows on the switch.
func FuzzRounds(f *testing.F) {
	f.Add("3", "4")
	f.Add("65535", "0")
	f.Add("-1", "70000")
	f.Add("0x10", "")
	f.Fuzz(func(t *testing.T, completed, started string) {
		ids := map[string]string{roundNumKey: completed, StartedKey: started}
		next := Next(ids)
		if last, ok := roundOf(ids, roundNumKey); ok {
			require.NotEqual(t, last, next.RoundNum)
			require.NotNil(t, next.PrevRoundNum)
		}
	})
}
