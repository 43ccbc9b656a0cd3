// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oracle_test

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
)

// install writes the case's state into the maps, and returns a function that removes the flow entry again.
func (w *fuzzWorld) install(t *testing.T, c *fuzzCase) (remove func()) {
	s := &c.state
	control := w.Control()
	control.Mode, control.Generation = s.Mode, s.Generation
	control.UplinkMac, control.VirtualMac = s.Uplink.MAC, s.Uplink.VirtualMAC
	control.UplinkIp4, control.UplinkIp6 = object.Wire4(s.Uplink.IPv4), object.Wire6(s.Uplink.IPv6)
	control.TunnelPort = object.WirePort(s.Uplink.Port)
	control.PortFirst, control.PortCount = s.Uplink.PortFirst, s.Uplink.PortCount
	control.TunnelHeader = s.Uplink.TunnelHeader
	control.RewritePort = object.WirePort(s.Uplink.RewritePort)
	control.KeyLife = fuzzKeyLife
	if s.Given != nil {
		w.give(t, s)
	}

	w.setEndpoint(harness.PodSlot, &s.Endpoint)
	if s.Peer.Interface != 0 {
		w.setEndpoint(harness.PodSlot+1, &s.Peer)
	}

	var former object.BpfOncAddress
	for w.Maps.NodeIps.NextKey(nil, &former) == nil {
		require.NoError(t, w.Maps.NodeIps.Delete(former))
	}
	present := object.BpfOncAddress{Addr: object.Wire6(netip.AddrFrom16(s.Node.Address.As16()))}
	require.NoError(t, w.Maps.NodeIps.Put(present, uint32(harness.PeerSlot)))

	n := w.NodeAt(harness.PeerSlot)
	n.Generation, n.Mtu = s.Node.Generation, uint32(s.Node.MTU)
	n.Ip4, n.Ip6 = object.Wire4(s.Node.Address), object.Wire6(s.Node.Address)
	n.Claim, n.TemplateGen = s.Node.Generation, s.Node.Generation
	clear(n.Header[:])
	copy(n.Header[:], s.Node.Header)
	n.HeaderSum = 0
	for i := 14; i < 34; i += 2 {
		n.HeaderSum += uint32(binary.NativeEndian.Uint16(n.Header[i:]))
	}
	for n.HeaderSum > 0xffff {
		n.HeaderSum = n.HeaderSum>>16 + n.HeaderSum&0xffff
	}

	if s.Entry == nil {
		return func() {}
	}
	k4, k6, six := harness.Keys(harness.FiveTuple(s.Entry.Flow))
	port, source := object.WirePort(s.Entry.Translated.Port()), uint16(0)
	if s.Entry.SourceTranslated {
		source = 1
	}
	seen := w.seen(t, s.Entry)
	v := validity(s.Entry, harness.Hash4(k4))
	if !six {
		to := object.BpfOncTranslation4{Port: port, Source: source, Addr: object.Wire4(s.Entry.Translated.Addr())}
		if c.ingress {
			return put(t, w.Maps.IngressFlows4, k4, object.BpfOncIngress4{V: v, Seen: seen, Macs: s.Entry.MACs, To: to})
		}
		return put(t, w.Maps.EgressFlows4, k4, object.BpfOncEgress4{V: v, Seen: seen, To: to, Keys: w.heard(t, s)})
	}
	v = validity(s.Entry, harness.Hash6(k6))
	to := object.BpfOncTranslation{Port: port, Source: source, Addr: object.Wire6(s.Entry.Translated.Addr())}
	if c.ingress {
		return put(t, w.Maps.IngressFlows6, k6, object.BpfOncIngress{V: v, Seen: seen, Macs: s.Entry.MACs, To: to})
	}
	return put(t, w.Maps.EgressFlows6, k6, object.BpfOncEgress{V: v, Seen: seen, To: to, Keys: w.heard(t, s)})
}

func (w *fuzzWorld) setEndpoint(slot int, s *oracle.Endpoint) {
	e := w.EndpointAt(slot)
	e.Ip4, e.Ip6 = object.Wire4(s.IPv4), object.Wire6(s.IPv6)
	e.Changed, e.Epoch, e.Flags = s.Changed, s.Epoch, 0
	if s.Gateway {
		e.Flags = 2
	}
	e.Generation, e.Ifindex, e.Mac, e.GatewayMac = s.Generation, s.Interface, s.MAC, s.GatewayMAC
}

func put[K, V any](t *testing.T, m *ebpf.Map, key K, value V) (remove func()) {
	require.NoError(t, m.Put(key, value))
	return func() { forget(t, m, key) }
}

// forget deletes an entry, which is already gone if the packet has ended the flow.
func forget[K any](t *testing.T, m *ebpf.Map, key K) {
	if err := m.Delete(key); !errors.Is(err, ebpf.ErrKeyNotExist) {
		require.NoError(t, err)
	}
}

// seen returns the record of super-packets in the entry of a UDP flow; programs ignore it for TCP.
func (w *fuzzWorld) seen(t *testing.T, e *oracle.Entry) (s object.BpfOncSeen) {
	if e.Divided {
		s.End, s.Length = uint32(w.Jiffies(t))+1<<20, 1
	}
	return s
}

func validity(e *oracle.Entry, tag uint32) object.BpfOncValidity {
	v := object.BpfOncValidity{Tag: tag, Endpoint: harness.PodSlot, Node: harness.PeerSlot, AllGen: e.Everything, EndpointGen: e.Endpoint, NodeGen: e.Node, Hash: e.Hash}
	if e.Local {
		v.Node = 1<<15 | (harness.PodSlot + 1)
	}
	if !e.Intact {
		v.Tag++
	}
	if e.Own {
		v.Proved |= 1
	}
	if e.Other {
		v.Proved |= 2
	}
	if e.Running {
		v.Lease = 1 << 62
	}
	return v
}

// adopt copies the packet's addresses into the state, so that changes of both cancel out.
func (c *fuzzCase) adopt() {
	s, b := &c.state, c.packet.Frame
	if len(b) < 14 {
		return
	}
	if !c.ingress {
		s.Endpoint.MAC, s.Endpoint.GatewayMAC, s.Endpoint.Interface = [6]byte(b[6:]), [6]byte(b), c.packet.Interface
		return
	}
	s.Uplink.MAC = [6]byte(b)
	at := len(s.Node.Header)
	if len(b) < at {
		return
	}
	ip, size := b[14:], 4
	first := 12
	if s.Node.Address.Is6() {
		size, first = 16, 8
	}
	from, _ := netip.AddrFromSlice(ip[first : first+size])
	to, _ := netip.AddrFromSlice(ip[first+size : first+2*size])
	// The unspecified address means "none" in the maps.
	if !from.IsUnspecified() && !to.IsUnspecified() {
		s.Node.Address = from
		if size == 4 {
			s.Uplink.IPv4 = to
		} else {
			s.Uplink.IPv6 = to
		}
	}
	udp := ip[first+2*size:]
	s.Uplink.Port = binary.BigEndian.Uint16(udp[2:])
	s.Uplink.TunnelHeader = [8]byte(udp[8:])
	s.Uplink.VirtualMAC = [6]byte(udp[16:])
}
