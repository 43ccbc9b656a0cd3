// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"fmt"
	"maps"
	"slices"
)

// MirroredPorts reads the table Mirror (ovs-vswitchd.conf.db(5)). A mirror selects ports by packets that enter or leave
// there, or all ports. MirroredPorts ignores a mirror's restriction to VLANs.
func (b *bridgeClient) MirroredPorts() ([]string, error) {
	var names []string
	err := b.do(fmt.Sprintf("read the mirrors of bridge %q", b.name), func(s *session) error {
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		selected := map[string]bool{}
		for _, uuid := range br.Mirrors {
			mirror := &mirrorRow{UUID: uuid}
			if err := s.follow(mirror, "mirror "+uuid); err != nil {
				return err
			}
			ports := append(slices.Clone(mirror.SelectSrcPort), mirror.SelectDstPort...)
			if mirror.SelectAll {
				ports = br.Ports
			}
			for _, uuid := range ports {
				port := &portRow{UUID: uuid}
				if err := s.follow(port, "port "+uuid); err != nil {
					return err
				}
				selected[port.Name] = true
			}
		}
		names = slices.Sorted(maps.Keys(selected))
		return nil
	})
	return names, err
}
