// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

func TestForeignMarks(t *testing.T) {
	problems := problem.NewRecorder()
	marks := ForeignMarks(problems)
	require.EqualValues(t, oncache.PacketMark, marks.Bits)
	marks.Found("iptables", []string{"mangle -A OUTPUT -j MARK --set-xmark 0x1/0xffffffff", "b", "c", "d"})
	marks.Found("ip6tables", nil)
	list, _ := problems.List()
	require.Len(t, list, 1)
	require.Equal(t, oncache.ReasonPacketMarkShared, list[0].Reason)
	require.Equal(t, "Firewall iptables", list[0].Subject.String())
	require.Contains(t, list[0].Message, "(0x3fff3f00): mangle -A OUTPUT -j MARK --set-xmark 0x1/0xffffffff; b; c and 1 more.")
	marks.Found("iptables", nil)
	list, _ = problems.List()
	require.Empty(t, list)
}
