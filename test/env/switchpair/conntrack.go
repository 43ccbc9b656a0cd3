// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package switchpair

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsctl"
)

// Call sends a command of ovs-appctl(8) to the Node's Open vSwitch and returns its output.
func (n *Node) Call(ctx context.Context, command string, args ...string) (string, error) {
	return ovsctl.NewVswitchd(n.OVS.RunDir).Call(ctx, command, args...)
}

// order sends a command without a process of its own. If that fails, Appctl tries, and fails the test.
func (n *Node) order(command string) {
	if _, err := n.Call(context.Background(), command); err != nil {
		n.OVS.Appctl(command)
	}
}

// Connections returns the connections of TCP and UDP that Open vSwitch tracks, in user space.
func (n *Node) Connections(ctx context.Context) (all []*conntrack.Connection, err error) {
	text, err := n.Call(ctx, "dpctl/dump-conntrack")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(text) {
		c, err := parseConnection(line)
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, c)
		}
	}
	return all, nil
}

var connectionLine = regexp.MustCompile(`^(\w+),orig=\(([^)]*)\),reply=\(([^)]*)\)(.*)`)

var trackedProtocols = map[string]uint8{"tcp": unix.IPPROTO_TCP, "udp": unix.IPPROTO_UDP}

// parseConnection reads a line of dpctl/dump-conntrack; nil: it is about another protocol.
func parseConnection(line string) (*conntrack.Connection, error) {
	m := connectionLine.FindStringSubmatch(line)
	if m == nil {
		return nil, fmt.Errorf("unexpected line of dpctl/dump-conntrack: %q", line)
	}
	protocol, tracked := trackedProtocols[m[1]]
	if !tracked {
		return nil, nil
	}
	c := &conntrack.Connection{}
	for i, tuple := range []*conntrack.Tuple{&c.Original, &c.Reply} {
		tuple.Protocol = protocol
		for field := range strings.SplitSeq(m[2+i], ",") {
			if err := readTuple(tuple, field); err != nil {
				return nil, fmt.Errorf("the field %q of the connection %q: %w", field, line, err)
			}
		}
	}
	for field := range strings.SplitSeq(strings.TrimSpace(m[4]), ",") {
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

// readTuple reads a field of one direction of a connection.
func readTuple(tuple *conntrack.Tuple, field string) (err error) {
	name, value, _ := strings.Cut(field, "=")
	switch name {
	case "src":
		tuple.Source, err = netip.ParseAddr(value)
		return err
	case "dst":
		tuple.Destination, err = netip.ParseAddr(value)
		return err
	}
	number, err := strconv.ParseUint(value, 10, 16)
	switch name {
	case "sport":
		tuple.SourcePort = uint16(number)
	case "dport":
		tuple.DestinationPort = uint16(number)
	}
	return err
}
