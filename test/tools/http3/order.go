// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"

	"github.com/quic-go/quic-go"
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// order watches in which order the packets of a connection come. A sender numbers them in the order in which it sends them (RFC 9000, section
// 12.3). It is the library's trace of the connection, and its only recorder.
type order struct {
	mu      sync.Mutex
	arrived arrivals
	highest qlog.PacketNumber
}

// arrivals are the packets with application data that the client has received, including packets at the end of the
// handshakes.
type arrivals struct {
	Packets int `json:"packets"`
	// Late counts packets that came after one that was sent later.
	Late int `json:"late"`
}

// trace is a quic.Config.Tracer.
func (o *order) trace(context.Context, bool, quic.ConnectionID) qlogwriter.Trace { return o }

// AddProducer implements qlogwriter.Trace.
func (o *order) AddProducer() qlogwriter.Recorder { return o }

// RecordEvent implements qlogwriter.Recorder.
func (o *order) RecordEvent(e qlogwriter.Event) {
	received, ok := e.(qlog.PacketReceived)
	if !ok || received.Header.PacketType != qlog.PacketType1RTT {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.arrived.Packets++
	if received.Header.PacketNumber < o.highest {
		o.arrived.Late++
		return
	}
	o.highest = received.Header.PacketNumber
}

// Close implements qlogwriter.Recorder.
func (o *order) Close() error { return nil }

// addTo adds the packets that have come until now.
func (o *order) addTo(sum *arrivals) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sum.Packets += o.arrived.Packets
	sum.Late += o.arrived.Late
}
