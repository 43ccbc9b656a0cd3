// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bed declares what a measurement environment must offer. There are four: native (package native), which is also
// peers, ovs and instructions. Beds that run programs in network namespaces offer a Setup and let package workload measure. The bed that
// counts instructions measures in its own way and fills in the same result.Run.
package bed

import (
	"context"
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// Bed makes one kind of measurement.
type Bed interface {
	// Name is the name of the result file.
	Name() string
	// Run measures what plan asks for as far as the bed can, and lists in Limits what it left out.
	Run(ctx context.Context, plan Plan) (*result.Run, error)
}

// Plan is the extent of a measurement.
type Plan struct {
	// Rounds is the number of repetitions of each measurement, Length the time of one.
	Rounds int
	Length time.Duration
	// Budget limits the time of the run, 0 for no limit. On a machine that is slow or busy with other work the
	// remaining workloads get fewer rounds, but at least MinRounds.
	Budget time.Duration
	// Smoke chooses the few workloads of the guard.
	Smoke bool
	// Profile requests a Breakdown.
	Profile bool
	// Only selects workloads by name; nil for all.
	Only func(name string) bool
}

// MinRounds is the minimum number of rounds for a meaningful result.
const MinRounds = 3

// Setup is a network in all states at the same time, so that they can be measured in turn.
type Setup interface {
	// Name is a key of result.Run.Networks.
	Name() string
	// States are its states, in the order of a table.
	States() []result.State
	Link(result.State) Link
	// Cache controls the caches of a state; nil if it has none.
	Cache(result.State) Cache
	// CPUs is the number of CPUs of each Node.
	CPUs() int
	// Cost reads the meters: the CPU time that the client's and the server's Node have used for this state since some point.
	Cost(result.State) (Cost, error)
	Describe() (result.Network, error)
	Close() error
}

// Link is the pair of ends of a workload.
type Link struct {
	Client, Server Space
	// Address is the one that the client connects to: the server's, or a Service's.
	Address netip.Addr
	// Own is the server's address if Address is another one.
	Own netip.Addr
}

// AtServer is the link as the server sees it: Address is the server's.
func (l Link) AtServer() Link {
	if l.Own.IsValid() {
		l.Address = l.Own
	}
	return l
}

// Space is a Node or a Pod in which programs of a workload run.
type Space interface {
	Start(args ...string) (*cluster.Process, error)
	Exec(ctx context.Context, args ...string) (string, error)
	ReadFile(path string) ([]byte, error)
}

// Cost is CPU time of both sides.
type Cost struct{ Client, Server time.Duration }

// Cache is the pair of caches of two Nodes.
type Cache interface {
	// Learning switches learning: without it every packet misses.
	Learning(on bool) error
	// Fill adds this number of entries per direction to the maps, without packets.
	Fill(flows int) error
	// Evict voids every entry and returns how long that took on the slower Node.
	Evict() (time.Duration, error)
	// Status reads the status of both caches.
	Status() ([]*api.Status, error)
}
