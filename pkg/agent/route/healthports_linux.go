// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// healthPortSet is the set of addresses and ports at which Services answer health checks. The rules of the INPUT chain let them through, as
// kube-proxy's do for the health check ports of Services.
func (f family) healthPortSet() ipset { return ipset{f, f.healthPortIPSet, typePorts} }

// OpenHealthCheckPort makes the firewall accept connections to the TCP port at the addresses that serve NodePorts. Idempotent.
func (c *Client) OpenHealthCheckPort(port uint16) error {
	return c.eachService(func(s *stack) error {
		s.services.health[port] = true
		if err := s.eachHealthEntry(port, s.family.healthPortSet().addPort); err != nil {
			return fmt.Errorf("open health check port %d: %w", port, err)
		}
		return nil
	})
}

// CloseHealthCheckPort undoes OpenHealthCheckPort. Idempotent.
func (c *Client) CloseHealthCheckPort(port uint16) error {
	return c.eachService(func(s *stack) error {
		delete(s.services.health, port)
		if err := s.eachHealthEntry(port, s.family.healthPortSet().removePort); err != nil {
			return fmt.Errorf("close health check port %d: %w", port, err)
		}
		return nil
	})
}

// eachService calls do for each stack with Services, with its mutex held.
func (c *Client) eachService(do func(*stack) error) error {
	return c.each(func(s *stack) error {
		if s.services == nil {
			return nil
		}
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return do(s)
	})
}

func (s *stack) eachHealthEntry(port uint16, do func(portEntry) error) error {
	var errs []error
	for _, address := range s.services.addresses {
		errs = append(errs, do(healthEntry(address, port)))
	}
	return errors.Join(errs...)
}

func healthEntry(address netip.Addr, port uint16) portEntry {
	return portEntry{address, unix.IPPROTO_TCP, port}
}

// syncHealthPorts makes the set complete, and removes entries that are too many once all Services are known. The caller holds mutex.
func (s *stack) syncHealthPorts() error {
	set := s.family.healthPortSet()
	if err := set.ensure(); err != nil {
		return err
	}
	have, err := set.ports()
	if err != nil {
		return err
	}
	var errs []error
	for port := range s.services.health {
		for _, address := range s.services.addresses {
			e := healthEntry(address, port)
			if !have[e] {
				errs = append(errs, set.addPort(e))
			}
			delete(have, e)
		}
	}
	if s.services.complete {
		for _, e := range slices.SortedFunc(maps.Keys(have), portEntry.compare) {
			errs = append(errs, set.removePort(e))
		}
	}
	return errors.Join(errs...)
}
