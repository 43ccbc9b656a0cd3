// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"net/netip"
)

// GuardClusters implements Interface.
func (c *Client) GuardClusters(addresses []netip.Addr) error {
	return c.each(func(s *stack) error {
		if err := s.guardClusters(addresses); err != nil {
			return fmt.Errorf("drop what is not encrypted to and from other clusters %v: %w", addresses, err)
		}
		return nil
	})
}

func (s *stack) encryptsClusters() bool { return s.firewall.params.clusterPort != 0 }

// guardClusters adds addresses before it removes others.
func (s *stack) guardClusters(addresses []netip.Addr) error {
	if !s.encryptsClusters() {
		return nil
	}
	want := map[netip.Prefix]bool{}
	for _, p := range s.family.hosts(addresses) {
		want[p] = true
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	set := s.family.clusterSet()
	s.clusters = want
	return errors.Join(set.sync(want), set.removeOthers(want))
}
