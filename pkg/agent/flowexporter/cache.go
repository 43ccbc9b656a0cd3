// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowexporter

import (
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/flowexporter/flows"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// Cache is what the fast path has counted; CacheOf makes one.
type Cache interface {
	// Entries returns those of the cache.
	Entries() ([]flows.Entry, error)
	// Retired returns entries that were removed or replaced, each once. With an error, it returns those before it.
	Retired() ([]flows.Entry, error)
}

// ethernetHeader is in the cache's counts of bytes, and not in conntrack's.
const ethernetHeader = 14

// FlowMaps are the cache's entries; oncache.Manager has them.
type FlowMaps interface {
	EachFlow(yield func(datapath.Flow) bool) error
}

// CacheOf reads the cache.
func CacheOf(maps FlowMaps) Cache { return cache{maps} }

type cache struct{ maps FlowMaps }

// Entries implements Cache.
func (c cache) Entries() (entries []flows.Entry, err error) {
	err = c.maps.EachFlow(func(f datapath.Flow) bool {
		entries = append(entries, entryOf(&f))
		return true
	})
	return entries, err
}

func entryOf(f *datapath.Flow) flows.Entry {
	source, destination := f.Sent()
	return flows.Entry{
		Sent: tuple(f.Protocol, source, destination), Egress: f.Direction == datapath.DirectionEgress, Created: f.Created,
		Count: flows.Count{Packets: f.Packets, Bytes: f.Bytes - min(f.Bytes, ethernetHeader*f.Packets)},
	}
}

func tuple(protocol uint8, source, destination netip.AddrPort) conntrack.Tuple {
	return conntrack.Tuple{
		Source: source.Addr(), Destination: destination.Addr(), Protocol: protocol, SourcePort: source.Port(), DestinationPort: destination.Port(),
	}
}

// Retired implements Cache.
func (c cache) Retired() ([]flows.Entry, error) { return nil, nil }
