// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// FakeResume is one call of Resume.
type FakeResume struct {
	Packet  *PacketIn
	Changes []Match
}

// present returns a copy of the state if the switch can answer requests.
func (f *Fake) present(ctx context.Context) (fakeState, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return fakeState{}, err
	}
	return f.state.clone(), nil
}

// sorted applies of to the values in the order of their keys.
func sorted[V, T any](m map[uint32]V, of func(V) T) []T {
	var out []T
	for _, key := range slices.Sorted(maps.Keys(m)) {
		out = append(out, of(m[key]))
	}
	return out
}

// DumpFlows implements Switch. The counters are 0.
func (f *Fake) DumpFlows(ctx context.Context, table uint8) ([]FlowStats, error) {
	s, err := f.present(ctx)
	var out []FlowStats
	for _, key := range slices.Sorted(maps.Keys(s.flows)) {
		if flow := s.flows[key]; table == tableAll || flow.Table == table {
			out = append(out, FlowStats{Flow: flow})
		}
	}
	return out, err
}

// DumpGroups implements Switch.
func (f *Fake) DumpGroups(ctx context.Context) ([]GroupEntry, error) {
	s, err := f.present(ctx)
	return sorted(s.groups, func(g GroupEntry) GroupEntry { return g }), err
}

// DumpGroupStats implements Switch. The counters are 0.
func (f *Fake) DumpGroupStats(ctx context.Context) ([]GroupStats, error) {
	s, err := f.present(ctx)
	return sorted(s.groups, func(g GroupEntry) GroupStats {
		stats := GroupStats{ID: g.ID, Buckets: make([]Counters, len(g.Buckets))}
		for _, flow := range s.flows {
			if slices.Contains(GroupsOf(flow.Actions), g.ID) {
				stats.References++
			}
		}
		return stats
	}), err
}

// DumpMeters implements Switch.
func (f *Fake) DumpMeters(ctx context.Context) ([]MeterEntry, error) {
	s, err := f.present(ctx)
	return sorted(s.meters, func(m MeterEntry) MeterEntry { return m }), err
}

// DumpMeterStats implements Switch. The counters are 0.
func (f *Fake) DumpMeterStats(ctx context.Context) ([]MeterStats, error) {
	s, err := f.present(ctx)
	return sorted(s.meters, func(m MeterEntry) MeterStats { return MeterStats{ID: m.ID} }), err
}

// MeterFeatures implements Switch.
func (f *Fake) MeterFeatures(ctx context.Context) (MeterFeatures, error) {
	if _, err := f.present(ctx); err != nil {
		return MeterFeatures{}, err
	}
	return MeterFeatures{MaxMeters: MaxMeterID, KBPS: true, PacketsPerSecond: true, Burst: true}, nil
}

// PacketIns implements Switch.
func (f *Fake) PacketIns(ctx context.Context, id uint16, capacity int, sender Sender) (*PacketIns, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return nil, err
	}
	p, err := newPacketIns(id, capacity, sender)
	if err != nil {
		return nil, err
	}
	p.end = func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.subscriptions = slices.DeleteFunc(f.subscriptions, func(other *PacketIns) bool { return other == p })
	}
	f.subscriptions = append(f.subscriptions, p)
	return p, nil
}

// SendPacketIn gives packet to the subscriptions for a controller id and returns their number.
func (f *Fake) SendPacketIn(id uint16, packet PacketIn) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for _, p := range f.subscriptions {
		if p.id == id {
			n++
			copied := packet
			p.offer(&copied)
		}
	}
	return n
}

// PausedPacketIn returns packet, with its Metadata, as one that waits for Resume.
func PausedPacketIn(packet PacketIn) (PacketIn, error) {
	metadata, err := changeMetadata(nil, packet.Metadata)
	if err != nil {
		return PacketIn{}, err
	}
	packet.properties = appendProperty(nil, packetInData, packet.Data)
	packet.properties = appendProperty(packet.properties, packetInMetadata, metadata)
	packet.properties = appendProperty(packet.properties, packetInContinuation, make([]byte, 4))
	return packet, nil
}

// PacketOut implements Switch.
func (f *Fake) PacketOut(ctx context.Context, p PacketOut) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return err
	}
	_, err := encodePacketOut(&p, f.version, 0)
	if err == nil {
		err = f.state.checkActions(p.Actions)
	}
	if err != nil {
		return fmt.Errorf("packet-out of %d bytes with the actions %s: %w", len(p.Data), actionsText(p.Actions), explain(err, p.Actions))
	}
	f.packetOuts = append(f.packetOuts, p)
	return nil
}

// PacketOuts returns the packets of every PacketOut that succeeded, in order.
func (f *Fake) PacketOuts() []PacketOut {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.packetOuts)
}

// Resume implements Switch.
func (f *Fake) Resume(ctx context.Context, p *PacketIn, changes ...Match) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.usable(ctx); err != nil {
		return err
	}
	if _, err := encodeResume(p, changes, f.version, 0); err != nil {
		return fmt.Errorf("resume a packet of table %d and cookie %#x: %w", p.Table, p.Cookie, err)
	}
	f.resumed = append(f.resumed, FakeResume{p, slices.Clone(changes)})
	return nil
}

// Resumed returns every Resume that succeeded, in order.
func (f *Fake) Resumed() []FakeResume {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.resumed)
}
