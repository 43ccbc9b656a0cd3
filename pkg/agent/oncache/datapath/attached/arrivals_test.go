// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
)

// maxArrivals is the capacity of arrivals, in packets.
const maxArrivals = 1024

// arrivals records the order in which a device receives packets: the filter of a packet socket, which never takes one, runs in the
// place where the device's namespace gets them, and loses none however late the test looks. It works for packets that one CPU passes.
type arrivals struct {
	// log has the number of packets, then a word of each that contains its identification.
	log  *ebpf.Map
	mask uint32
}

// recordArrivals records packets of one IP version that a device receives.
func recordArrivals(t testing.TB, in *proc.Thread, device string, ipv6 bool) *arrivals {
	t.Helper()
	a := &arrivals{mask: 0xffff}
	// The IPv4 identification is in the second word of the header, the IPv6 flow label in the first.
	protocol, word := object.WirePort(unix.ETH_P_IP), int32(14+2)
	if ipv6 {
		protocol, word, a.mask = object.WirePort(unix.ETH_P_IPV6), 14, 0xfffff
	}
	var err error
	a.log, err = ebpf.NewMap(&ebpf.MapSpec{Type: ebpf.Array, KeySize: 4, ValueSize: 4 * (1 + maxArrivals), MaxEntries: 1})
	require.NoError(t, err)
	t.Cleanup(func() { a.log.Close() })
	const packetType, packetProtocol = 4, 16 // offsets in struct __sk_buff
	packetFilter(t, in, device, asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, packetType, asm.Word),
		asm.JEq.Imm(asm.R2, unix.PACKET_OUTGOING, "out"),
		asm.LoadMem(asm.R2, asm.R1, packetProtocol, asm.Word),
		asm.JNE.Imm(asm.R2, int32(protocol), "out"),
		asm.Mov.Imm(asm.R2, word),
		asm.Mov.Reg(asm.R3, asm.RFP),
		asm.Add.Imm(asm.R3, -4),
		asm.Mov.Imm(asm.R4, 4),
		asm.FnSkbLoadBytes.Call(),
		asm.JNE.Imm(asm.R0, 0, "out"),
		asm.LoadMapValue(asm.R6, a.log.FD(), 0),
		asm.LoadMem(asm.R7, asm.R6, 0, asm.Word),
		asm.JGE.Imm(asm.R7, maxArrivals, "out"),
		asm.Mov.Reg(asm.R8, asm.R7),
		asm.LSh.Imm(asm.R8, 2),
		asm.Add.Reg(asm.R8, asm.R6),
		asm.LoadMem(asm.R1, asm.RFP, -4, asm.Word),
		asm.StoreMem(asm.R8, 4, asm.R1, asm.Word),
		// Counted last, so that whoever reads the number finds the packet.
		asm.Add.Imm(asm.R7, 1),
		asm.StoreMem(asm.R6, 0, asm.R7, asm.Word),
		asm.Mov.Imm(asm.R0, 0).WithSymbol("out"),
		asm.Return(),
	})
	return a
}

// clear forgets all packets. None may be under way.
func (a *arrivals) clear(t testing.TB) {
	t.Helper()
	require.NoError(t, a.log.Put(uint32(0), make([]byte, a.log.ValueSize())))
}

// identifications returns the identifications of the packets that have arrived, in the order of arrival.
func (a *arrivals) identifications() ([]uint32, error) {
	value := make([]byte, a.log.ValueSize())
	if err := a.log.Lookup(uint32(0), &value); err != nil {
		return nil, err
	}
	ids := make([]uint32, binary.NativeEndian.Uint32(value))
	for i := range ids {
		ids[i] = binary.BigEndian.Uint32(value[4*(1+i):]) & a.mask
	}
	return ids, nil
}

// await waits until n packets have arrived and returns their identifications.
func (a *arrivals) await(t testing.TB, n int) []uint32 {
	t.Helper()
	ids, err := a.identifications()
	if err != nil || len(ids) < n {
		require.Eventually(t, func() bool {
			ids, err = a.identifications()
			return err == nil && len(ids) >= n
		}, time.Minute, time.Millisecond, "of %d packets %d have not arrived", n, n-len(ids))
	}
	require.Len(t, ids, n)
	return ids
}
