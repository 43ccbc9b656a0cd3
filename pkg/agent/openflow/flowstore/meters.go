// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package flowstore

import (
	"context"
	"fmt"
	"slices"

	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// SetMeters sets the meters that flows may refer to. A full resend adds them before the flows. Call it before the first Commit. Meters
// are never deleted: the switch has the same ids from a former agent, or other ids.
func (s *Store) SetMeters(meters []of.MeterEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meters = meters
}

// AddMeters adds meters for the flows of the change to come, or changes the rates of meters that exist. After an error they are as before, or the
// next resend makes them so.
func (t Turn) AddMeters(meters []of.MeterEntry) error {
	s := t.store
	s.mu.Lock()
	former, all := s.meters, slices.Clone(s.meters)
	var changed bool
	for _, meter := range meters {
		i := slices.IndexFunc(all, func(m of.MeterEntry) bool { return m.ID == meter.ID })
		switch {
		case i < 0:
			all = append(all, meter)
		case all[i] == meter:
			continue
		default:
			all[i] = meter
		}
		changed = true
	}
	s.meters = all
	s.mu.Unlock()
	if !changed || t.NeedsResync() {
		return nil // A full resend adds them.
	}
	if err := s.sending.takeSoon(); err != nil {
		return err
	}
	defer s.sending.give()
	mods, err := s.metersAgain()
	if err == nil {
		err = s.apply(of.Transaction{Meters: mods})
	}
	if fateUnknown(err) {
		s.setResync(true)
	}
	if err != nil {
		s.SetMeters(former) // A refused meter must not make every later resend fail.
	}
	return err
}

// metersAgain returns what makes the switch have the meters. The caller holds sending.
func (s *Store) metersAgain() ([]of.MeterMod, error) {
	s.mu.Lock()
	wanted := s.meters
	s.mu.Unlock()
	if len(wanted) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), SwitchTimeout)
	defer cancel()
	present, err := s.sw.DumpMeters(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the meters of the switch: %w", err)
	}
	var mods []of.MeterMod
	for _, meter := range wanted {
		mod := of.MeterMod{Command: of.MeterAdd, Meter: meter}
		if i := slices.IndexFunc(present, func(m of.MeterEntry) bool { return m.ID == meter.ID }); i >= 0 {
			if present[i] == meter {
				continue
			}
			mod.Command = of.MeterModify
		}
		mods = append(mods, mod)
	}
	return mods, nil
}
