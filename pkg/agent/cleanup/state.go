// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// conntrack finds the entries in the zones of the bridge, and the entries by which the host leads connections to
// NodePorts to the bridge: they would stay for up to five days.
func (o *Options) conntrack(context.Context) ([]leftover.Item, error) {
	count := 0
	var led []*conntrack.Connection
	err := conntrack.List(append(slices.Clone(openflow.AllConntrackZones), conntrack.HostZone), func(c *conntrack.Connection) bool {
		if c.Zone != conntrack.HostZone {
			count++
		} else if isLed(c) {
			led = append(led, c)
		}
		return true
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil, nil // the kernel has no ctnetlink
	}
	if err != nil {
		return nil, err
	}
	var found []leftover.Item
	if count > 0 {
		found = append(found, leftover.Item{
			Name:   fmt.Sprintf("%d entries of connection tracking in the zones %v", count, openflow.AllConntrackZones),
			Remove: forgetConnections,
		})
	}
	if len(led) > 0 {
		found = append(found, leftover.Item{
			Name: fmt.Sprintf("%d entries of connection tracking for connections to NodePorts", len(led)),
			Remove: func() error {
				var errs []error
				for _, c := range led {
					errs = append(errs, c.Delete())
				}
				return errors.Join(errs...)
			},
		})
	}
	return found, nil
}

// isLed reports whether the host leads the connection to the bridge, or has got it from there, under a virtual address.
func isLed(c *conntrack.Connection) bool {
	virtual := []netip.Addr{config.VirtualNodePortIPv4, config.VirtualNodePortIPv6, config.VirtualServiceIPv4, config.VirtualServiceIPv6}
	return slices.Contains(virtual, c.Reply.Source) || slices.Contains(virtual, c.Original.Source)
}

func forgetConnections() error {
	var filters []netlink.CustomConntrackFilter
	for _, zone := range openflow.AllConntrackZones {
		filter := &netlink.ConntrackFilter{}
		if err := filter.AddZone(zone); err != nil {
			return err
		}
		filters = append(filters, filter)
	}
	for _, family := range []netlink.InetFamily{unix.AF_INET, unix.AF_INET6} {
		if _, err := netlink.ConntrackDeleteFilters(netlink.ConntrackTable, family, filters...); err != nil && !errors.Is(err, netlink.ErrDumpInterrupted) {
			return err
		}
	}
	return nil
}

// sysctls finds the settings that the agent has changed and that have not changed since.
func (o *Options) sysctls(context.Context) ([]leftover.Item, error) {
	record := sysctl.NewRecord(filepath.Join(o.path(runDirectory), filepath.Base(sysctl.DefaultFile)))
	keys, changes, err := record.Changes()
	if err != nil {
		return nil, err
	}
	var found []leftover.Item
	for _, key := range keys {
		found = append(found, leftover.Item{
			Name:   fmt.Sprintf("change of sysctl %s: %s, was %s before Antrea", key, changes[key].Set, changes[key].Former),
			Remove: func() error { return record.Restore(key) },
		})
	}
	return found, nil
}

// directories are the directories of the agent's state, including the database of Open vSwitch and the addresses of
// Pods, and of the logs.
func (o *Options) directories() []leftover.Item {
	var found []leftover.Item
	if !o.KeepLogs {
		found = existing("directory", o.path(logDirectory))
	}
	return append(found, existing("directory", o.path(runDirectory))...)
}
