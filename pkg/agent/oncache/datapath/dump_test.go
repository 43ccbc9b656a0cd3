// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// restore writes the entries of a dump into a map.
func restore(t *testing.T, m *ebpf.Map, dump string) (entries int) {
	for line := range strings.Lines(dump) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		keyText, valueText, ok := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, ok, line)
		key, err := hex.DecodeString(keyText)
		require.NoError(t, err)
		value, err := hex.DecodeString(valueText)
		require.NoError(t, err)
		require.NoError(t, m.Put(key, value), line)
		entries++
	}
	return entries
}

// TestDumpReplaysVerdicts: after a dump of all maps is restored, the programs decide as they did before.
func TestDumpReplaysVerdicts(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			// So long that it does not end during the test.
			w.Control().Lease = 1 << 20
			w.Learn(w.FromPod(), w.ToPod())
			out, in := w.FromPod().Bytes(t), w.FromPeer().Wrap(t, w.ToPod().Bytes(t))
			dumps := map[string]string{}
			stats, err := w.MapStats()
			require.NoError(t, err)
			for _, m := range stats {
				var text bytes.Buffer
				require.NoError(t, w.DumpMap(m.Name, 1000, &text))
				dumps[m.Name] = text.String()
			}
			wanted := w.Egress(0, out)
			require.Equal(t, "hit", wanted.Reason)
			require.Equal(t, w.Decapsulated(), w.Ingress(0, in).Reason)

			require.NoError(t, w.Reset())
			require.NotEqual(t, "hit", w.Egress(0, out).Reason)
			require.NotEqual(t, w.Decapsulated(), w.Ingress(0, in).Reason)

			fields := reflect.ValueOf(w.Maps)
			for i := range fields.NumField() {
				m := fields.Field(i).Interface().(*ebpf.Map)
				if m.Type() == ebpf.PerCPUArray || m.Type() == ebpf.RingBuf {
					continue // nothing is decided by them
				}
				mapName := fields.Type().Field(i).Tag.Get("ebpf")
				require.Contains(t, dumps, mapName)
				entries := restore(t, m, dumps[mapName])
				require.Contains(t, dumps[mapName], fmt.Sprintf("# entries=%d\n", entries))
			}
			got := w.Egress(0, out)
			require.Equal(t, wanted.Reason, got.Reason)
			require.Equal(t, len(wanted.Packet), len(got.Packet))
			require.Equal(t, w.Decapsulated(), w.Ingress(0, in).Reason)
		})
	}
}

func TestDumpIsBounded(t *testing.T) {
	w := harness.NewWorld(t)
	w.Learn(w.FromPod(), w.ToPod())
	var text bytes.Buffer
	require.NoError(t, w.DumpMap("egress_flows4", 0, &text))
	require.Contains(t, text.String(), "# map=egress_flows4 type=LRUHash ")
	require.Contains(t, text.String(), "# entries=0\n# there are more than 0 entries\n")
	text.Reset()
	require.NoError(t, w.DumpMap("counters", 1000, &text))
	require.Regexp(t, `(?m)^[0-9a-f]{8} [0-9a-f,]+$`, text.String())
	require.ErrorContains(t, w.DumpMap("nonsense", 1, &text), `there is no map "nonsense"`)
}
