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
// never change and are never deleted: the switch has the same ids from a former agent, or other ids.
func (s *Store) SetMeters(meters []of.MeterEntry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meters = meters
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
