// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/test/services"
)

// judge compares the fate of a connection with the verdict, and returns the fault.
func (b *bench) judge(w *services.World, c *connection, v *services.Verdict) string {
	switch {
	case c.stray != "":
		return c.stray
	case v.OpenRejected && len(c.arrivals) == 0:
		return "" // rejected, or on its way to that
	case v.Outcome == services.Served:
		return b.judgeServed(w, c, v)
	case v.Outcome == services.Untouched && c.Client.Kind != services.FromPod:
		if c.led {
			return "the host leads it to the bridge"
		}
		return ""
	case !c.led:
		return "the host does not lead it to the bridge"
	case v.Outcome == services.Untouched:
		return b.judgeUntouched(c)
	case len(c.arrivals) > 0:
		return "it has arrived"
	case v.Outcome == services.Rejected && c.rejections != 1:
		return fmt.Sprintf("%d rejections have come back instead of one", c.rejections)
	case v.Outcome == services.Dropped && c.rejections > 0:
		return "it was rejected"
	}
	return ""
}

func (b *bench) judgeUntouched(c *connection) string {
	if len(c.arrivals) != 1 || c.rejections > 0 {
		return "it must leave through the gateway"
	}
	a := c.arrivals[0]
	if a.at != b.pair.Nodes[c.Client.Node].Gateway || a.header.Source != c.source() || a.header.Destination != c.to {
		return "it must leave through the gateway as it is"
	}
	return ""
}

func (b *bench) judgeServed(w *services.World, c *connection, v *services.Verdict) string {
	if !c.led {
		return "the host does not lead it to the bridge"
	}
	if len(c.arrivals) != 1 || c.rejections > 0 {
		return "it must arrive at one Endpoint"
	}
	a := c.arrivals[0]
	i := slices.IndexFunc(v.Endpoints, func(e services.Endpoint) bool { return isAt(c, e.Address, a.header.Destination) })
	if i < 0 {
		return "it must not get this Endpoint"
	}
	if a.at != b.portFor(a.header.Destination.Addr(), c.Client.Node) {
		return "the Endpoint is not there"
	}
	if promised := w.Source(&c.Client, &v.Endpoints[i]); promised.IsValid() && a.header.Source.Addr() != promised {
		return fmt.Sprintf("the Endpoint must see %s", promised)
	}
	if a.at == b.port(&c.Client) && c.Client.Kind == services.FromPod && a.header.Source.Addr() == c.Client.IP {
		return "the Pod must not see its own address as source: it would drop the packet"
	}
	if !c.answered {
		return "its answer must come back"
	}
	return ""
}

// isAt reports whether a connection that has arrived somewhere is at an Endpoint. Conntrack in user space translates no ports of SCTP.
func isAt(c *connection, endpoint, arrived netip.AddrPort) bool {
	if c.Protocol == corev1.ProtocolSCTP {
		return endpoint.Addr() == arrived.Addr() && arrived.Port() == c.to.Port()
	}
	return endpoint == arrived
}
