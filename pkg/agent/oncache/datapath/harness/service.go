// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net/netip"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
)

// Exchange are the packets of a connection from the local Pod through a Service to another Pod, as Open vSwitch gets them and as it
// passes them on.
type Exchange struct {
	// The Pod sends Sent to the Service; SentOn leaves for the Endpoint.
	Sent, SentOn Packet
	// Received comes from the Endpoint; the Pod gets ReceivedOn from the Service.
	Received, ReceivedOn Packet
}

// AnnounceService announces the addresses of the Service.
func (w *World) AnnounceService() {
	require.NoError(w.T, w.AddServiceAddress(ServiceIP))
	require.NoError(w.T, w.AddServiceAddress(ServiceIP6))
}

// Service is the Service's address and port of the world's IP version.
func (w *World) Service() netip.AddrPort {
	if w.Family.Inner6 {
		return netip.AddrPortFrom(ServiceIP6, ServicePort)
	}
	return netip.AddrPortFrom(ServiceIP, ServicePort)
}

// ThroughService announces the Service's addresses and returns packets of a connection through it.
func (w *World) ThroughService(udp bool) Exchange {
	w.AnnounceService()
	service := w.Service().Addr()
	e := Exchange{Sent: w.FromPod(), Received: w.ToPod()}
	e.Sent.UDP, e.Received.UDP = udp, udp
	e.Received.SrcPort = EndpointPort
	e.SentOn, e.ReceivedOn = e.Sent.BehindOVS(GatewayMAC, VirtualMAC), e.Received.BehindOVS(GatewayMAC, PodMAC)
	e.SentOn.DstPort = EndpointPort
	e.Sent.Dst, e.Sent.DstPort = service, ServicePort
	e.ReceivedOn.Src, e.ReceivedOn.SrcPort = service, ServicePort
	return e
}

// LearnSent passes a packet that the Pod sends through Egress, where it must miss, and what Open vSwitch makes of it through
// Egress-Init, and returns the result of Egress-Init.
func (w *World) LearnSent(e Exchange) Result {
	w.T.Helper()
	r := w.Egress(0, e.Sent.Bytes(w.T))
	require.Equal(w.T, Next, r.Verdict, r.Reason)
	return w.EgressInit(r.Mark|Epoch<<20, w.ToPeer().Wrap(w.T, e.SentOn.Bytes(w.T)))
}

// LearnReceived is LearnSent for Ingress and Ingress-Init.
func (w *World) LearnReceived(e Exchange) Result {
	w.T.Helper()
	r := w.Ingress(0, w.FromPeer().Wrap(w.T, e.Received.Bytes(w.T)))
	require.Equal(w.T, Next, r.Verdict, r.Reason)
	return w.IngressInit(r.Mark|Epoch<<20, e.ReceivedOn.Bytes(w.T))
}

// LearnExchange teaches the cache both directions.
func (w *World) LearnExchange(e Exchange) {
	w.T.Helper()
	require.Equal(w.T, "learned", w.LearnSent(e).Reason)
	require.Equal(w.T, "learned", w.LearnReceived(e).Reason)
}

// TranslateSources makes the Service of all ingress entries with a translation one with another address.
func (w *World) TranslateSources(service netip.Addr) {
	changeAll[object.BpfOncFlow4](w.T, w.Maps.IngressFlows4, func(e *object.BpfOncIngress4) { e.To.Addr = object.Wire4(service) })
	changeAll[object.BpfOncFlow6](w.T, w.Maps.IngressFlows6, func(e *object.BpfOncIngress) { e.To.Addr = object.Wire6(service) })
}
