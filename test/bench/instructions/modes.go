// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	benchbed "github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// mode is a way in which a whole cluster carries packets between Pods of two Nodes, other than in the tunnel. It is measured with the gate off
// and on, and with veth devices.
type mode struct {
	// condition is its name in results. The conditions are also in the targets of package report.
	condition string
	// encap and encryption are the agents' trafficEncapMode and trafficEncryptionMode.
	encap, encryption string
	// device is the device of a Node's route to the other Node's Pods.
	device string
	// bare is between the hosts, by the same device.
	bare, off, on row
	// fast: with the gate on it must take the fast path. Otherwise it must not.
	fast bool
}

// modes are all of them.
var modes = []mode{
	{"noEncap", "noEncap", "none", cluster.Uplink, bare, plainOff, plainOn, true},
	{"WireGuard", "encap", "wireGuard", config.WireGuardDevice, encryptedHosts, encryptedOff, encryptedOn, false},
}

// modeTimeout limits the time from the agents' start until Pods of the two Nodes reach each other: with WireGuard the Nodes exchange keys.
const modeTimeout = time.Minute

// ofMode reports whether a row is only measured in a mode.
func (r row) ofMode() bool { return r >= plainOff }

// configuration is the change of the agents' configuration.
func (m mode) configuration(on bool) map[string]any {
	return map[string]any{
		"featureGates": map[string]any{gate: on}, "trafficEncapMode": m.encap, "trafficEncryptionMode": m.encryption,
		"podInterfaceType": "veth", "oncache": map[string]any{"direct": m.fast},
	}
}

// measureModes fills in the rows of all modes. It leaves the agents in the last of them.
func (b *bed) measureModes(ctx context.Context, t *table, pods benchbed.Link) error {
	for _, m := range modes {
		if err := b.measureMode(ctx, t, m, pods); err != nil {
			return fmt.Errorf("%s: %w", m.condition, err)
		}
	}
	return nil
}

func (b *bed) measureMode(ctx context.Context, t *table, m mode, pods benchbed.Link) error {
	if err := b.restart(ctx, m.configuration(false)); err != nil {
		return err
	}
	if err := b.waitForMode(ctx, m, pods); err != nil {
		return err
	}
	if m.bare != bare {
		hosts, err := b.gateways()
		if err != nil {
			return err
		}
		if err := b.measure(ctx, t, m.bare, hosts, protocols); err != nil {
			return err
		}
	}
	if err := b.measure(ctx, t, m.off, pods, protocols); err != nil {
		return err
	}
	if err := b.configure(ctx, m.configuration(true)); err != nil {
		return err
	}
	if err := b.waitForMode(ctx, m, pods); err != nil {
		return err
	}
	if m.fast {
		return b.measureFast(ctx, t, m.on, pods)
	}
	return b.measureSlowOnly(ctx, t, m.on, pods)
}

// waitForMode waits until packets between the Pods of the two Nodes travel as the mode says.
func (b *bed) waitForMode(ctx context.Context, m mode, pods benchbed.Link) error {
	ctx, cancel := context.WithTimeout(ctx, modeTimeout)
	defer cancel()
	for i, n := range b.cluster.Nodes[:2] {
		network := b.cluster.Nodes[1-i].PodCIDR.String()
		err := cluster.Eventually(ctx, fmt.Sprintf("%s: waiting for the route to %s by %s", n.Name, network, m.device), func() error {
			routes, err := n.Exec(ctx, "ip", "route", "show", "exact", network)
			if err == nil && !strings.Contains(routes, " dev "+m.device+" ") {
				err = fmt.Errorf("the routes are %q", routes)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return cluster.Eventually(ctx, "waiting for an answer of the Pod of the other Node", func() error {
		_, err := pods.Client.Exec(ctx, "ping", "-c1", "-W1", pods.Address.String())
		return err
	})
}

// gateways is the link from host to host with addresses in the Nodes' Pod networks, which a mode carries as it carries packets of Pods.
func (b *bed) gateways() (benchbed.Link, error) {
	node1, node2 := b.cluster.Nodes[0], b.cluster.Nodes[1]
	hosts := benchbed.Link{Client: node1.Space, Server: node2.Space, Address: node2.PodCIDR.Masked().Addr().Next()}
	return hosts, startServers(hosts, result.Bare)
}

// measureSlowOnly is measure, and fails if traffic took the fast path.
func (b *bed) measureSlowOnly(ctx context.Context, t *table, r row, link benchbed.Link) error {
	before, err := b.hits(ctx)
	if err != nil {
		return err
	}
	if err := b.measure(ctx, t, r, link, protocols); err != nil {
		return err
	}
	after, err := b.hits(ctx)
	if err == nil && after != before {
		err = fmt.Errorf("%s: %d packets have taken the fast path, which this mode does not have between Nodes", r, after-before)
	}
	return err
}

// estimate is the number of instructions per round trip if packets between Pods were hits that leave by the device that encrypts: the number
// between hosts, and the additional ones of Pods in noEncap. It is a little too high, because the host tracks its own packets, and hits bypass that.
func (t *table) estimate(p protocol) uint64 {
	return t[encryptedHosts][p] + t[plainOn][p] - t[bare][p]
}

// modes are the lines for modes.
func (t *table) modes() string {
	var text strings.Builder
	for _, m := range modes {
		if t[m.on][tcp] != 0 {
			text.WriteString(t.line(m.condition, m.on))
		}
	}
	if t[encryptedOn][tcp] == 0 || t[plainOn][tcp] == 0 {
		return text.String()
	}
	text.WriteString("cost: hits with WireGuard, an estimate:")
	for _, p := range protocols {
		estimate, off, hosts := float64(t.estimate(p)), float64(t[encryptedOff][p]), float64(t[encryptedHosts][p])
		fmt.Fprintf(&text, " %s %.0f, %.1f%% less than with the gate off, removed=%.1f%%", p, estimate, 100*(1-estimate/off), 100*(off-estimate)/(off-hosts))
	}
	text.WriteString("\n")
	return text.String()
}
