// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// Cache is what the fast path has counted; CacheOf makes one.
type Cache interface {
	// Entries returns those of the cache.
	Entries() ([]flows.Entry, error)
	// WatchRetired hands each entry that is removed or replaced to yield, until ctx ends. yield may be called concurrently.
	WatchRetired(ctx context.Context, yield func(flows.Entry)) error
}

const (
	// ethernetHeader is in the cache's counts of bytes, and not in conntrack's.
	ethernetHeader = 14
	// cachePatience is how long it takes until a cache that has become available is noticed.
	cachePatience = time.Second
)

// FlowMaps are the cache's entries; oncache.Manager has them.
type FlowMaps interface {
	EachFlow(yield func(datapath.Flow) bool) error
	// NewRetiredReader fails while the cache is not available.
	NewRetiredReader(removed func(datapath.Retired)) (*datapath.RetiredReader, error)
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

// WatchRetired implements Cache.
func (c cache) WatchRetired(ctx context.Context, yield func(flows.Entry)) error {
	retired := func(r datapath.Retired) { yield(entryOf(r)) }
	reader, err := c.maps.NewRetiredReader(retired)
	for err != nil {
		if retry.Sleep(ctx, cachePatience) != nil {
			return nil
		}
		reader, err = c.maps.NewRetiredReader(retired)
	}
	stop := context.AfterFunc(ctx, func() { _ = reader.Close() })
	defer stop()
	for {
		if err := reader.Wait(time.Time{}, retired); ctx.Err() != nil {
			return nil
		} else if err != nil {
			return fmt.Errorf("read what entries of the cache have counted that are gone: %w", err)
		}
	}
}
