// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package native

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/bench/workload"
)

// A measurement counts only if Cilium's programs have received the packets that it needs at least.
func TestEnough(t *testing.T) {
	for _, c := range []struct {
		name           string
		did            workload.Outcome
		client, server uint64
		good           bool
	}{
		{"a packet per transaction and Node", workload.Outcome{Transactions: 100}, 100, 100, true},
		{"requests missing", workload.Outcome{Transactions: 100}, 100, 99, false},
		{"answers missing", workload.Outcome{Transactions: 100}, 99, 100, false},
		{"super-packets", workload.Outcome{Bytes: 10 << 16}, 1, 10, true},
		{"bytes missing", workload.Outcome{Bytes: 10 << 16}, 1, 9, false},
		{"acknowledgements missing", workload.Outcome{Bytes: 10 << 16}, 0, 10, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := enough(c.did, c.client, c.server)
			if c.good {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, "is not used")
			}
		})
	}
}
