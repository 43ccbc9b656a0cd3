// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestIdleIntervals: a few intervals without traffic are left out, more are an error that is tried again, and either way the next profile
// reads its own files.
func TestIdleIntervals(t *testing.T) {
	symbols := &symbols{addresses: []uint64{0xffffffff81000100, 0xffffffff81000200}, names: []string{"__sys_sendto", "tcp_ack"}}
	for _, idle := range []int{0, 1, idleIntervals, idleIntervals + 1, intervals} {
		t.Run(fmt.Sprint(idle), func(t *testing.T) {
			dir := t.TempDir()
			for i := range intervals {
				text := "ffffffff81000200 10 3\n"
				if i >= idle {
					text += "ffffffff81000100 5 2\n"
				}
				require.NoError(t, os.WriteFile(filepath.Join(dir, strconv.Itoa(i)), []byte(text), 0o600))
			}
			f := &profiler{blocks: dir}
			all, err := f.readIntervals(symbols, tcp)
			require.Equal(t, intervals, f.read)
			if idle > idleIntervals {
				require.ErrorIs(t, err, errIdle)
				require.ErrorContains(t, err, fmt.Sprintf("%d of %d intervals were idle", idle, intervals))
				return
			}
			require.NoError(t, err)
			require.Len(t, all, intervals-idle)
			require.Equal(t, function{30, 3}, medians(all)["tcp_ack"])
		})
	}
}
