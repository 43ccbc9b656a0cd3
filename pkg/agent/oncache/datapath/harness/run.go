// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// SKB is the part of struct __sk_buff (include/uapi/linux/bpf.h) that BPF_PROG_TEST_RUN takes and returns.
type SKB struct {
	Len, PktType, Mark, QueueMapping, Protocol, VlanPresent, VlanTCI, VlanProto, Priority, IngressIfindex, Ifindex uint32
	TCIndex                                                                                                        uint32
	CB                                                                                                             [5]uint32
	Hash, TCClassid, Data, DataEnd, NapiID, Family, RemoteIP4, LocalIP4                                            uint32
	RemoteIP6, LocalIP6                                                                                            [4]uint32
	RemotePort, LocalPort, DataMeta                                                                                uint32
	FlowKeys, Tstamp                                                                                               uint64
	WireLen, GSOSegs                                                                                               uint32
	SK                                                                                                             uint64
	GSOSize                                                                                                        uint32
	TstampType, _                                                                                                  uint8
	_                                                                                                              uint16
	HWTstamp                                                                                                       uint64
}

// Result is the outcome of a program's run on a packet.
type Result struct {
	Verdict int
	Mark    uint32 // without the stamp
	Stamp   uint32 // 0: none
	Packet  []byte
	// Reason is the reason that the program counted; empty for none.
	Reason string
	// Also are the reasons that it counted in addition to that.
	Also []string
}

// additional are reasons that are counted in addition to another one.
var additional = []string{"restored", "no_key", "would_open"}

// Run passes one packet through a program, as a device with ifindex would.
func (w *World) Run(prog *ebpf.Program, ifindex int, mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	w.T.Helper()
	in := SKB{Ifindex: uint32(ifindex), Mark: mark}
	for _, f := range tweak {
		f(&in)
	}
	var out SKB
	opts := &ebpf.RunOptions{Data: packet, DataOut: make([]byte, len(packet)+256), Context: in, ContextOut: &out}
	var verdict uint32
	reason, also := w.counted(w.T, func() {
		var err error
		verdict, err = prog.Run(opts)
		require.NoError(w.T, err)
	})
	return Result{Verdict: int(int32(verdict)), Mark: Unstamped(out.Mark), Stamp: out.Mark ^ Unstamped(out.Mark), Packet: opts.DataOut, Reason: reason, Also: also}
}

// Unstamped returns the mark without its stamp, which Open vSwitch removes first.
func Unstamped(mark uint32) uint32 {
	if mark&StampBit != 0 {
		mark &^= EpochBits
	}
	return mark
}

// Counted returns the reason under which a program counted the one packet that f passes through it. If a signal interrupts the kernel, the
// packet passes a second time, perhaps on another CPU.
func (w *World) Counted(t testing.TB, f func()) (reason string) {
	t.Helper()
	reason, _ = w.counted(t, f)
	return reason
}

// counted also returns the additional reasons.
func (w *World) counted(t testing.TB, f func()) (reason string, also []string) {
	t.Helper()
	before := w.perCPUCounters(t)
	f()
	after := w.perCPUCounters(t)
	reasons, err := datapath.Reasons()
	require.NoError(t, err)
	for i, n := range after {
		if n != before[i] {
			former := reason
			if name := reasons[i/w.cpus%len(reasons)]; slices.Contains(additional, name) {
				also = append(also, name)
			} else if reason = reasons[i/w.cpus%len(reasons)]; former != "" {
				require.Equal(t, former, reason, "one packet counts for one reason")
			}
		}
	}
	return reason, also
}

// perCPUCounters returns the counters in the order of the map: program, reason, CPU. Datapath.Counters, which has names, takes ten times as
// long, and most tests do this twice for each packet.
func (in *Inside) perCPUCounters(t testing.TB) []uint64 {
	t.Helper()
	n := int(in.Maps.Counters.MaxEntries())
	counters := make([]uint64, n*in.cpus)
	var cursor ebpf.MapBatchCursor
	got, err := in.Maps.Counters.BatchLookup(&cursor, in.keys, counters, nil)
	if !errors.Is(err, ebpf.ErrKeyNotExist) { // the last batch returns this error
		require.NoError(t, err)
	}
	require.Equal(t, n, got)
	return counters
}

// Egress passes a packet of the Pod through Egress. The programs have seen its flow before, except in worlds of unseen flows.
func (w *World) Egress(mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	w.Note(w.T, packet, 14)
	return w.Run(w.Programs.OncacheEgress, w.PodIf, mark, packet, tweak...)
}

// EgressInit passes a packet that leaves by the uplink through Egress-Init.
func (w *World) EgressInit(mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	return w.Run(w.Programs.OncacheEgressInit, w.UplinkIf, mark, packet, tweak...)
}

// Ingress is Egress for a packet that arrives at the uplink.
func (w *World) Ingress(mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	w.Note(w.T, packet, w.inner())
	return w.Run(w.Programs.OncacheIngress, w.UplinkIf, mark, packet, tweak...)
}

// IngressInit passes a packet that Open vSwitch delivers to the Pod through Ingress-Init.
func (w *World) IngressInit(mark uint32, packet []byte, tweak ...func(*SKB)) Result {
	return w.Run(w.Programs.OncacheIngressInit, w.PodIf, mark, packet, tweak...)
}
