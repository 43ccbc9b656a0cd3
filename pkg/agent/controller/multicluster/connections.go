// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// endConnections ends connections to other clusters that conntrack would translate as before when this Node becomes the gateway Node, ceases to be
// that, or gets another address: answers to them would not return. The first time it ends those that a former agent has left.
func (c *Controller) endConnections(d *decision) (err error) {
	switch {
	case len(c.sources) > 1:
		for _, zone := range []uint16{openflow.ConntrackZoneIPv4, openflow.ConntrackZoneSNAT} {
			if err = c.End(zone, d.leads); err != nil {
				break
			}
		}
	case !c.agrees:
		err = c.endFormer(d)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("end connections that a former gateway Node translates: %w", err)
	}
	c.sources, c.agrees = []netip.Addr{d.source}, true
	return nil
}

// leads reports whether a connection is to another cluster.
func (d *decision) leads(connection *conntrack.Connection) bool {
	server := connection.Reply.Source
	return slices.ContainsFunc(d.clusters, func(to openflow.Cluster) bool {
		return slices.ContainsFunc(to.Networks, func(n netip.Prefix) bool { return n.Contains(server) })
	})
}

// endFormer ends the connections whose translation belongs to another role or address of this Node. The others continue, also the host's, which
// get another address because they are to a Service.
func (c *Controller) endFormer(d *decision) error {
	former := func(translated *conntrack.Connection) bool {
		return d.leads(translated) && !openflow.IsServiceConnection(translated.Mark) && translated.Reply.Destination != d.source
	}
	if d.source.IsValid() {
		// Without its entry in the other zone, a connection would leave with a Pod's address.
		ends := map[conntrack.Tuple]bool{}
		err := c.End(openflow.ConntrackZoneSNAT, func(translated *conntrack.Connection) bool {
			if former(translated) {
				ends[translated.Original] = true
			}
			return false
		})
		if err == nil {
			err = c.End(openflow.ConntrackZoneIPv4, func(tracked *conntrack.Connection) bool {
				return d.leads(tracked) && (!openflow.TranslatesSource(tracked.Mark) || ends[tracked.Reply.Reversed()])
			})
		}
		if err != nil {
			return err
		}
	}
	return c.End(openflow.ConntrackZoneSNAT, former)
}
