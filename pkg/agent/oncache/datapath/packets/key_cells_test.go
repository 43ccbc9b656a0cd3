// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package packets

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// keyCells is KEY_CELLS, keyStep KEY_STEP of bpf/oncache/rewriting/keys.h.
const keyCells, keyStep = 8, 0x6c8b

// TestNoKeyBesideOthers: numbers that can be no key take none from the flow, wherever they are among those that it may have.
func TestNoKeyBesideOthers(t *testing.T) {
	for _, number := range []uint32{0, 1, 1023, 1900, 11211} {
		for _, place := range []uint32{0, keyCells - 1} {
			t.Run(fmt.Sprint(number, " at ", place), func(t *testing.T) {
				w := harness.NewRewritingWorld(t, harness.Family{})
				out, in := w.FromPod(), w.ToPod()
				for (hash(w, in)+place*keyStep)&0xffff != number {
					if in.DstPort++; in.DstPort == 0 {
						in.SrcPort++
					}
				}
				out.SrcPort, out.DstPort = in.DstPort, in.SrcPort
				key := w.Give(out, in)
				require.NotZero(t, key)
				require.NotEqual(t, uint16(number), key)
			})
		}
	}
}
