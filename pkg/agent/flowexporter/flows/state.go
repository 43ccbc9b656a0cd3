// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"slices"
)

// actionAllow is a value of the information element ingressNetworkPolicyRuleAction.
const actionAllow = 1

// state is the stored form of a Ledger.
type state struct {
	// Boot identifies the run of the kernel whose counters these are.
	Boot string
	// Adopt is set if there was no reading, and what an agent before has reported is still unknown.
	Adopt       bool
	Flows, Gone []*flow
	Seen        map[entryKey]Count
}

// Save writes what another Ledger needs to continue. boot identifies the run of the kernel. Counts of connections that are not known
// are not saved: they are lost.
func (l *Ledger) Save(w io.Writer, boot string) error {
	s := state{Boot: boot, Adopt: l.adopt, Flows: slices.Collect(maps.Values(l.flows)), Gone: l.gone, Seen: make(map[entryKey]Count, len(l.seen))}
	for k, seen := range l.seen {
		s.Seen[k] = seen.Count
	}
	if err := gob.NewEncoder(w).Encode(&s); err != nil {
		return fmt.Errorf("save the flow records' state: %w", err)
	}
	return nil
}

// Load continues with the state that another Ledger has saved in the same run of the kernel. If it fails, l starts
// empty.
func (l *Ledger) Load(r io.Reader, boot string) error {
	var s state
	if err := gob.NewDecoder(r).Decode(&s); err != nil {
		return fmt.Errorf("load the flow records' state: %w", err)
	}
	if s.Boot != boot {
		return fmt.Errorf("load the flow records' state: it is of the kernel's run %s; this is %s", s.Boot, boot)
	}
	l.adopt = s.Adopt
	for _, f := range append(slices.Clone(s.Flows), s.Gone...) {
		for _, p := range []*Policy{&f.Info.Ingress, &f.Info.Egress} {
			if p.Name != "" && p.Action == 0 { // an earlier version has saved it
				p.Action = actionAllow
			}
		}
	}
	for _, f := range s.Gone {
		f.gone = true
		l.locate(f)
	}
	l.gone = s.Gone
	// The latest flow with the same addresses gets the place.
	slices.SortFunc(s.Flows, func(a, b *flow) int { return a.First.Compare(b.First) })
	for _, f := range s.Flows {
		l.flows[f.key()] = f
		l.locate(f)
	}
	for k, count := range s.Seen {
		l.seen[k] = &seenEntry{Count: count}
	}
	return nil
}
