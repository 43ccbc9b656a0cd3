// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// Affinity keeps a client's connections to an address of a Service at an Endpoint, as long as the Endpoint serves the address.
type Affinity struct {
	// Protocol is the IP protocol's number.
	Protocol uint8
	Client   netip.Addr
	// Frontend is the destination of the client's packets; for NodePorts an address of the Node, or the address to which the host
	// translates.
	Frontend, Endpoint netip.AddrPort
}

// affinityOf reads a flow that the switch has learned, or that affinityFlow has made.
func affinityOf(flow *of.Flow) (a Affinity, err error) {
	if flow.IdleTimeout == 0 || pipeline.CategoryOf(flow) != pipeline.CookieService {
		return a, fmt.Errorf("flow %s is not one of session affinity", flow)
	}
	var client, frontend netip.Addr
	var port uint16
	for _, m := range flow.Match {
		switch m.Field {
		case of.FieldIPProto:
			a.Protocol = lastByte(m.Value)
		case of.FieldIPv4Src, of.FieldIPv6Src:
			client, _ = netip.AddrFromSlice(m.Value)
		case of.FieldIPv4Dst, of.FieldIPv6Dst:
			frontend, _ = netip.AddrFromSlice(m.Value)
		case of.FieldTCPDst, of.FieldUDPDst, of.FieldSCTPDst:
			port = uint16(bigEndian(m.Value))
		}
	}
	a.Client, a.Frontend, a.Endpoint = client, netip.AddrPortFrom(frontend, port), loadedEndpoint(flow.Actions, frontend.Is6())
	if !a.valid() {
		return a, fmt.Errorf("flow %s of session affinity: want a client, an address of a Service and an Endpoint", flow)
	}
	return a, nil
}

// valid reports whether the affinity has all addresses, of one IP version, and a protocol of Services.
func (a Affinity) valid() bool {
	return a.Client.IsValid() && a.Frontend.Addr().IsValid() && a.Frontend.Port() != 0 && a.Endpoint.IsValid() && a.Endpoint.Port() != 0 &&
		a.Client.BitLen() == a.Frontend.Addr().BitLen() && a.Client.BitLen() == a.Endpoint.Addr().BitLen() && !a.Client.Is4In6() &&
		(a.Protocol == of.IPProtoTCP || a.Protocol == of.IPProtoUDP || a.Protocol == of.IPProtoSCTP)
}

// loadedEndpoint returns the Endpoint that the actions write into the registers.
func loadedEndpoint(actions []of.Action, v6 bool) netip.AddrPort {
	var addr [16]byte
	var port uint16
	for _, action := range actions {
		load, is := action.(of.LoadField)
		switch {
		case !is:
		case load.Field == pipeline.EndpointPortField.Field && load.Range == pipeline.EndpointPortField.Bits:
			port = uint16(load.Value)
		case load.Field == pipeline.EndpointIPField.Field && load.Range == pipeline.EndpointIPField.Bits:
			binary.BigEndian.PutUint32(addr[:], uint32(load.Value))
		case load.Field == endpointHalves[0].Field && load.Range == endpointHalves[0].Bits:
			binary.BigEndian.PutUint64(addr[8:], load.Value)
		case load.Field == endpointHalves[1].Field && load.Range == endpointHalves[1].Bits:
			binary.BigEndian.PutUint64(addr[:8], load.Value)
		}
	}
	if v6 {
		return netip.AddrPortFrom(netip.AddrFrom16(addr), port)
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte(addr[:4])), port)
}

// endpointHalves are the lower and the upper half of an IPv6 Endpoint's address: learn actions copy at most 64 bits.
var endpointHalves = [2]pipeline.BitField{
	{Field: of.FieldXXReg0 + 3, Bits: of.Range{From: 0, To: 63}}, {Field: of.FieldXXReg0 + 3, Bits: of.Range{From: 64, To: 127}},
}

// affinityFlow returns the flow that the switch would learn for the affinity from the port's frontend f, if the port still has both.
func (s serviceFlows) affinityFlow(f Frontend, a Affinity) (of.Flow, bool) {
	if f.Restricted && !slices.ContainsFunc(s.port.SourceRanges, func(p netip.Prefix) bool { return p.Contains(a.Client) }) {
		return of.Flow{}, false
	}
	to := scopeOf(f)
	if shortCircuits(f) && s.PodCIDR.Contains(a.Client) {
		to = scopeCluster
	}
	endpoints := s.port.endpoints(to)
	i := slices.IndexFunc(endpoints, func(e Endpoint) bool { return e.Address == a.Endpoint })
	if i < 0 {
		return of.Flow{}, false
	}
	match := append(pipeline.Matches(s.EthType), s.portMatch(a.Frontend.Port())...)
	actions := []of.Action{pipeline.EndpointPortField.Is(uint32(a.Endpoint.Port())).Load(), pipeline.RemoteEndpointField.Is(0).Load()}
	if endpoints[i].OnAnotherNode() {
		actions[1] = pipeline.RemoteEndpoint.Load()
	}
	actions = append(actions, loadHalves(a.Endpoint.Addr())...)
	actions = append(actions, pipeline.ServiceSelected.Load(), pipeline.RewriteMAC.Load(), pipeline.ServiceGroupIDField.Is(s.groups[to]).Load())
	if external(f) {
		actions = append(actions, pipeline.ExternalAddress.Load())
	}
	if s.port.Nested {
		actions = append(actions, pipeline.NestedService.Load())
	}
	return of.Flow{
		Table: s.ID(pipeline.TableSessionAffinity), Priority: pipeline.PriorityNormal, Cookie: s.learnedCookie(scopeOf(f)), IdleTimeout: s.port.affinitySeconds(),
		Match: append(match, s.Dst(pipeline.Host(a.Frontend.Addr())), s.Src(pipeline.Host(a.Client))), Actions: actions,
	}, true
}

// loadHalves is loadEndpoint in the form that a learned flow has.
func loadHalves(addr netip.Addr) []of.Action {
	if addr.Is4() {
		return []of.Action{loadEndpoint(addr)}
	}
	b := addr.As16()
	var actions []of.Action
	for i, half := range endpointHalves {
		actions = append(actions, of.LoadField{Field: half.Field, Range: half.Bits, Value: binary.BigEndian.Uint64(b[8-8*i:])})
	}
	return actions
}

func lastByte(b []byte) uint8 { return uint8(bigEndian(b)) }

// bigEndian reads a number of at most 8 bytes.
func bigEndian(b []byte) (n uint64) {
	for _, v := range b {
		n = n<<8 | uint64(v)
	}
	return n
}
