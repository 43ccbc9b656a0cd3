// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"cmp"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// Openings lists the openings by server; none without oncache.openings.
func (m *Manager) Openings() ([]api.OpeningInfo, error) {
	out := []api.OpeningInfo{}
	if m.Unavailable() != nil {
		return out, nil
	}
	names := m.slotNames()
	err := m.dp.Openings(func(o datapath.Opening) bool {
		out = append(out, openingInfo(&o, names))
		return true
	})
	slices.SortFunc(out, func(a, b api.OpeningInfo) int {
		return cmp.Or(cmp.Compare(a.Server, b.Server), cmp.Compare(a.Client, b.Client))
	})
	return out, err
}

func openingInfo(o *datapath.Opening, names slotNames) api.OpeningInfo {
	f := &o.Validity
	pod, _ := names.podsOf(f)
	return api.OpeningInfo{
		Client: f.Source.Addr().String(), Server: f.Destination.String(), Pod: pod, Node: names.nodes[f.NodeSlot], State: flowState(f),
		Covered: o.Covered, LeaseSeconds: f.LeaseLeft.Seconds(), AgeSeconds: f.Age.Seconds(),
	}
}

// openingStats is the summary of the openings, nil without them.
func (m *Manager) openingStats(counters datapath.Counters) (*api.Openings, error) {
	if !m.config.Openings {
		return nil, nil
	}
	s := &api.Openings{Covered: counters["egress"]["would_open"] + counters["ingress"]["would_open"]}
	for _, program := range []string{"egress_init", "ingress_init"} {
		s.Learned += counters[program]["opening_learned"]
		s.Renewed += counters[program]["opening_renewed"]
	}
	return s, m.dp.Openings(func(datapath.Opening) bool { s.Entries++; return true })
}
