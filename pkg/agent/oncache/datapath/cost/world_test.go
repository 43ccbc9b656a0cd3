// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"encoding/binary"
	"slices"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// costWorld is a world whose cache is filled with flows between the local Pod and 16 remote ones: flow n is between port n&0xffff
// of the Pod and the remote address that ends with 2 + n>>16.
type costWorld struct {
	*harness.World
	out, in []byte // packets of the learned flow
	// offsets of the addresses in these packets, and the length of addresses and ports together
	outAddresses, inAddresses, keyLength int16
	// resident are the flows that have found a place in the sets of both directions.
	resident []uint32
}

func newCostWorld(t *testing.T, f harness.Family, flows uint32) *costWorld {
	// An LRU map that is completely full evicts.
	w := &costWorld{World: harness.NewWorldWith(t, f, datapath.Options{MaxFlows: flows + flows/4 + 16384})}
	out, in := w.FromPod(), w.ToPod()
	w.Learn(out, in)
	w.out, w.in = out.Bytes(t), w.FromPeer().Wrap(t, in.Bytes(t))
	w.outAddresses, w.keyLength = 14+12, 4+4+4
	if f.Inner6 {
		w.outAddresses, w.keyLength = 14+8, 16+16+4
	}
	w.inAddresses = w.outAddresses + 50
	if f.Outer6 {
		w.inAddresses += 20
	}
	const forever = 1 << 62
	set := func(v *object.BpfOncValidity, tag uint32) { v.Tag, v.Lease = tag, forever }
	if f.Inner6 {
		fillFlows(t, w.Maps.EgressFlows6, w.outKey, harness.Hash6, func(e *object.BpfOncEgress, tag uint32) { set(&e.V, tag) }, flows)
		fillFlows(t, w.Maps.IngressFlows6, w.inKey, harness.Hash6, func(e *object.BpfOncIngress, tag uint32) { set(&e.V, tag) }, flows)
	} else {
		w.fillSets(t, flows, set)
	}
	return w
}

// fillFlows copies the only entry of m to all flows; key returns addresses and ports of flow n.
func fillFlows[K, V any](t *testing.T, m *ebpf.Map, key func(n uint32) []byte, tag func(K) uint32, set func(*V, uint32), flows uint32) {
	t.Helper()
	var first K
	var value V
	require.NoError(t, m.NextKey(nil, &first))
	require.NoError(t, m.Lookup(first, &value))
	for n := uint32(0); n < flows; {
		var keys []K
		var values []V
		for ; n < flows && len(keys) < 1<<16; n++ {
			k := first // for the protocol
			copy(unsafe.Slice((*byte)(unsafe.Pointer(&k)), unsafe.Sizeof(k)), key(n))
			set(&value, tag(k))
			keys, values = append(keys, k), append(values, value)
		}
		_, err := m.BatchUpdate(keys, values, nil)
		require.NoError(t, err)
	}
}

func (w *costWorld) outKey(n uint32) []byte {
	w.outFlow(w.out, n)
	return w.out[w.outAddresses : w.outAddresses+w.keyLength]
}

func (w *costWorld) inKey(n uint32) []byte {
	w.inFlow(w.in, n)
	return w.in[w.inAddresses : w.inAddresses+w.keyLength]
}

// fillSets copies the learned entries to all flows for which the sets have room, and to the LRU maps, for the yardsticks.
func (w *costWorld) fillSets(t *testing.T, flows uint32, set func(*object.BpfOncValidity, uint32)) {
	out, err := object.MapArray[object.BpfOncEgressSet4](w.Maps.EgressSets4)
	require.NoError(t, err)
	defer out.Unmap()
	in, err := object.MapArray[object.BpfOncIngressSet4](w.Maps.IngressSets4)
	require.NoError(t, err)
	defer in.Unmap()
	var outKey, inKey object.BpfOncFlow4
	var egress object.BpfOncEgress4
	var ingress object.BpfOncIngress4
	for i := range out.Elements {
		for way := range out.Elements[i].Way {
			if out.Elements[i].Tag[way] != 0 {
				outKey, egress = out.Elements[i].Way[way].Key, out.Elements[i].Way[way].E
				out.Elements[i].Tag[way] = 0
			}
			if in.Elements[i].Tag[way] != 0 {
				inKey, ingress = in.Elements[i].Way[way].Key, in.Elements[i].Way[way].E
				in.Elements[i].Tag[way] = 0
			}
		}
	}
	require.NotZero(t, outKey.Proto)
	require.NotZero(t, inKey.Proto)
	sets := uint64(len(out.Elements))
	for n := range flows {
		k, back := outKey, inKey
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&k)), unsafe.Sizeof(k)), w.outKey(n))
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&back)), unsafe.Sizeof(back)), w.inKey(n))
		there, here := harness.Hash4(k), harness.Hash4(back)
		o, i := &out.Elements[uint64(there)*sets>>32], &in.Elements[uint64(here)*sets>>32]
		a, b := slices.Index(o.Tag[:], 0), slices.Index(i.Tag[:], 0)
		if a < 0 || b < 0 {
			continue
		}
		set(&egress.V, there)
		set(&ingress.V, here)
		o.Tag[a], o.Way[a].Key, o.Way[a].E = there, k, egress
		i.Tag[b], i.Way[b].Key, i.Way[b].E = here, back, ingress
		w.resident = append(w.resident, n)
	}
	t.Logf("%d sets of %d bytes, %d of %d flows resident", len(out.Elements), unsafe.Sizeof(out.Elements[0]), len(w.resident), flows)
	require.NoError(t, w.Maps.EgressFlows4.Put(outKey, egress))
	require.NoError(t, w.Maps.IngressFlows4.Put(inKey, ingress))
	fillFlows(t, w.Maps.EgressFlows4, w.outKey, harness.Hash4, func(e *object.BpfOncEgress4, tag uint32) { set(&e.V, tag) }, flows)
	fillFlows(t, w.Maps.IngressFlows4, w.inKey, harness.Hash4, func(e *object.BpfOncIngress4, tag uint32) { set(&e.V, tag) }, flows)
}

// present is flow n, or another one that is resident in its place.
func (w *costWorld) present(n uint32) uint32 {
	if w.resident == nil {
		return n
	}
	return w.resident[int(n)%len(w.resident)]
}

// outFlow and inFlow turn a packet into one of flow n.
func (w *costWorld) outFlow(packet []byte, n uint32) {
	ports := w.outAddresses + w.keyLength - 4
	w.setHost(packet, w.outAddresses, ports-1, byte(2+n>>16))
	binary.BigEndian.PutUint16(packet[ports:], uint16(n))
}

func (w *costWorld) inFlow(packet []byte, n uint32) {
	ports := w.inAddresses + w.keyLength - 4
	w.setHost(packet, w.inAddresses, w.inAddresses+(w.keyLength-4)/2-1, byte(2+n>>16))
	binary.BigEndian.PutUint16(packet[ports+2:], uint16(n))
}

// setHost changes the last byte of an address, and the header's checksum as in RFC 1624: a packet with a wrong one is not a hit.
func (w *costWorld) setHost(packet []byte, addresses, at int16, host byte) {
	before := packet[at]
	packet[at] = host
	if w.Family.Inner6 {
		return // no checksum
	}
	checksum := packet[addresses-2:]
	sum := uint32(^binary.BigEndian.Uint16(checksum)) + uint32(^uint16(before)) + uint32(host)
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	binary.BigEndian.PutUint16(checksum, ^uint16(sum))
}
