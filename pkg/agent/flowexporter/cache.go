// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// Cache holds the counters of the fast path; CacheOf makes one.
type Cache interface {
	// Started is closed when the cache can be read, or never will have entries.
	Started() <-chan struct{}
	// Entries returns the entries of the cache.
	Entries() ([]flows.Entry, error)
	// WatchRetired hands each entry that is removed or replaced to yield, until ctx ends. yield may be called concurrently. drained is called when
	// yield has got those that were gone at the call.
	WatchRetired(ctx context.Context, drained func(), yield func(flows.Entry)) error
}

// ethernetHeader is in the cache's counts of bytes, and not in conntrack's.
const ethernetHeader = 14

// FlowMaps are the cache's entries; oncache.Manager has them.
type FlowMaps interface {
	Started() <-chan struct{}
	EachFlow(yield func(datapath.Flow) bool) error
	// WatchRetired is called when Started is closed. It returns nil when ctx has ended, or if the cache is not available.
	WatchRetired(ctx context.Context, drained func(), yield func(datapath.Retired)) error
}

// CacheOf reads the cache.
func CacheOf(maps FlowMaps) Cache { return cache{maps} }

type cache struct{ maps FlowMaps }

// Entries implements Cache.
func (c cache) Entries() (entries []flows.Entry, err error) {
	err = c.maps.EachFlow(func(f datapath.Flow) bool {
		source, destination := f.Sent()
		entries = append(entries, entryOf(datapath.Retired{
			Source: source, Destination: destination, Protocol: f.Protocol, Direction: f.Direction, Packets: f.Packets, Bytes: f.Bytes, Created: f.Created,
		}))
		return true
	})
	return entries, err
}

func entryOf(r datapath.Retired) flows.Entry {
	return flows.Entry{
		Sent: tuple(r.Protocol, r.Source, r.Destination), Egress: r.Direction == datapath.DirectionEgress, Created: r.Created,
		Count: flows.Count{Packets: r.Packets, Bytes: r.Bytes - min(r.Bytes, ethernetHeader*r.Packets)},
	}
}

func tuple(protocol uint8, source, destination netip.AddrPort) conntrack.Tuple {
	return conntrack.Tuple{
		Source: source.Addr(), Destination: destination.Addr(), Protocol: protocol, SourcePort: source.Port(), DestinationPort: destination.Port(),
	}
}

// Started implements Cache.
func (c cache) Started() <-chan struct{} { return c.maps.Started() }

// WatchRetired implements Cache.
func (c cache) WatchRetired(ctx context.Context, drained func(), yield func(flows.Entry)) error {
	if err := c.maps.WatchRetired(ctx, drained, func(r datapath.Retired) { yield(entryOf(r)) }); err != nil {
		return fmt.Errorf("read what entries of the cache have counted that are gone: %w", err)
	}
	return nil
}
