// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// TestFlow looks single entries up.
func TestFlow(t *testing.T) {
	for name, f := range harness.Families {
		t.Run(name, func(t *testing.T) {
			w := harness.NewWorldOf(t, f)
			out, in := w.FromPod(), w.ToPod()
			w.Learn(out, in)
			from, to := netip.AddrPortFrom(out.Src, out.SrcPort), netip.AddrPortFrom(out.Dst, out.DstPort)
			for _, want := range w.Entries() {
				source, destination := from, to
				if want.Direction == datapath.DirectionIngress {
					source, destination = to, from
				}
				got, err := w.Flow(want.Direction, 6, source, destination)
				require.NoError(t, err)
				require.Empty(t, cmp.Diff(&want, got, cmpopts.EquateComparable(netip.AddrPort{}), cmpopts.EquateApproxTime(time.Minute),
					cmpopts.IgnoreFields(datapath.Flow{}, "Age", "LeaseLeft"), cmpopts.IgnoreFields(datapath.Seen{}, "Ago")))
				got, err = w.Flow(want.Direction, 17, source, destination)
				require.NoError(t, err)
				require.Nil(t, got)
			}
		})
	}
}
