// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/test/env/switchpair"
)

// connections is the conntrack table of Open vSwitch in user space, for the part of the agent that ends UDP connections and expects the
// kernel's.
type connections struct {
	node *switchpair.Node

	mu sync.Mutex
	// fence is a connection in the list that was never opened, to an address that it must not have. It is behind all
	// others, so these have been ended when it is.
	fence *conntrack.Connection
	ended chan struct{}
}

// setFence makes a fence of a UDP connection to this destination. ended is closed when the agent has ended it.
func (c *connections) setFence(destination netip.AddrPort) (ended <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	client, nowhere := netip.MustParseAddrPort("192.0.2.250:1"), netip.MustParseAddrPort("192.0.2.251:1")
	tuple := func(from, to netip.AddrPort) conntrack.Tuple {
		return conntrack.Tuple{Source: from.Addr(), Destination: to.Addr(), Protocol: unix.IPPROTO_UDP, SourcePort: from.Port(), DestinationPort: to.Port()}
	}
	c.fence, c.ended = &conntrack.Connection{
		Zone: openflow.ConntrackZoneIPv4, Original: tuple(client, destination), Reply: tuple(nowhere, client),
	}, make(chan struct{})
	return c.ended
}

// WaitRevalidation implements proxy.Datapath. switchpair.Node.ForgetMegaflows says why megaflows have to be removed.
func (c *connections) WaitRevalidation(context.Context) error {
	_, err := c.appctl("revalidator/purge")
	return err
}

// List implements proxy.Connections.
func (c *connections) List(zones []uint16, yield func(*conntrack.Connection) bool) error {
	c.mu.Lock()
	fence := c.fence
	c.mu.Unlock()
	text, err := c.appctl("dpctl/dump-conntrack")
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		conn, err := parseConnection(line)
		if err != nil {
			return err
		}
		if conn != nil && slices.Contains(zones, conn.Zone) && !yield(conn) {
			return nil
		}
	}
	if fence != nil {
		yield(fence)
	}
	return nil
}

// Delete implements proxy.Connections.
func (c *connections) Delete(conn *conntrack.Connection) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if conn == c.fence {
		c.fence = nil
		close(c.ended)
		return nil
	}
	o, family := conn.Original, "ct"
	if o.Source.Is6() {
		family = "ct_ipv6"
	}
	addresses := fmt.Sprintf("ct_nw_src=%s,ct_nw_dst=%s", o.Source, o.Destination)
	if family == "ct_ipv6" {
		addresses = fmt.Sprintf("ct_ipv6_src=%s,ct_ipv6_dst=%s", o.Source, o.Destination)
	}
	_, err := c.appctl("dpctl/flush-conntrack", fmt.Sprint("zone=", conn.Zone),
		fmt.Sprintf("%s,ct_nw_proto=%d,ct_tp_src=%d,ct_tp_dst=%d", addresses, o.Protocol, o.SourcePort, o.DestinationPort))
	return err
}

func (c *connections) appctl(args ...string) (string, error) {
	cmd := exec.Command("ovs-appctl", append([]string{"--timeout=20"}, args...)...)
	cmd.Env = append(os.Environ(), "OVS_RUNDIR="+c.node.OVS.RunDir)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("ovs-appctl %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

var connectionLine = regexp.MustCompile(`^udp,orig=\(src=([^,]+),dst=([^,]+),sport=(\d+),dport=(\d+)\),reply=\(src=([^,]+),dst=([^,]+),sport=(\d+),dport=(\d+)\)(.*)`)

// parseConnection reads a line of dpctl/dump-conntrack; nil: it is not about UDP.
func parseConnection(line string) (*conntrack.Connection, error) {
	m := connectionLine.FindStringSubmatch(line)
	if m == nil {
		if strings.HasPrefix(line, "udp") {
			return nil, fmt.Errorf("unexpected line of dpctl/dump-conntrack: %q", line)
		}
		return nil, nil
	}
	tuple := func(m []string) (t conntrack.Tuple, err error) {
		t.Protocol = unix.IPPROTO_UDP
		if t.Source, err = netip.ParseAddr(m[0]); err != nil {
			return t, err
		}
		if t.Destination, err = netip.ParseAddr(m[1]); err != nil {
			return t, err
		}
		source, _ := strconv.ParseUint(m[2], 10, 16)
		destination, _ := strconv.ParseUint(m[3], 10, 16)
		t.SourcePort, t.DestinationPort = uint16(source), uint16(destination)
		return t, nil
	}
	c := &conntrack.Connection{}
	var err error
	if c.Original, err = tuple(m[1:5]); err != nil {
		return nil, err
	}
	if c.Reply, err = tuple(m[5:9]); err != nil {
		return nil, err
	}
	for _, field := range strings.Split(strings.TrimSpace(m[9]), ",") {
		name, value, _ := strings.Cut(field, "=")
		number, _ := strconv.ParseUint(value, 0, 32)
		switch name {
		case "zone":
			c.Zone = uint16(number)
		case "mark":
			c.Mark = uint32(number)
		}
	}
	return c, nil
}
