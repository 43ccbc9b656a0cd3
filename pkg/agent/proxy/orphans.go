// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"context"
	"fmt"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
)

// EndOrphans ends connections that a former agent has opened with AntreaProxy and that the present one, which runs
// without, cannot continue: UDP connections, whose Endpoints are no longer watched, and connections whose source was
// translated, for example of a Pod to itself. Their next packet goes to kube-proxy. All others continue: conntrack
// translates their destinations.
func EndOrphans(ctx context.Context, connections Connections, datapath Datapath) error {
	// Until then, packets can open such connections.
	if err := datapath.WaitRevalidation(ctx); err != nil {
		return fmt.Errorf("wait for the datapath: %w", err)
	}
	var orphans []*conntrack.Connection
	err := connections.List(openflow.ConntrackZones, func(c *conntrack.Connection) bool {
		if openflow.IsServiceConnection(c.Mark) && (c.Original.Protocol == unix.IPPROTO_UDP || openflow.TranslatesSource(c.Mark)) {
			orphans = append(orphans, c)
		}
		return true
	})
	if err != nil {
		return err
	}
	for _, c := range orphans {
		if err := connections.Delete(c); err != nil {
			return err
		}
	}
	if len(orphans) > 0 {
		klog.InfoS("Ended connections to Services that need AntreaProxy, which is off now", "connections", len(orphans))
	}
	return nil
}
