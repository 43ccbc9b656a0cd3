// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/test/testbed/cluster"
)

// protocol is a transport protocol.
type protocol int

const (
	tcp protocol = iota
	udp
	protocolCount
)

var protocols = []protocol{tcp, udp}

func (p protocol) String() string { return [...]string{"tcp", "udp"}[p] }

// arguments are those of sockperf: a port, and what chooses the protocol.
func (p protocol) arguments() []string {
	return [...][]string{{"-p", "7001", "--tcp"}, {"-p", "7002"}}[p]
}

// messageBytes is the least that sockperf can send.
const messageBytes = 14

// median is the line of sockperf with half a round trip in microseconds, with three digits behind the point.
var median = regexp.MustCompile(`percentile 50\.000 = *([0-9.]+)`)

// roundTrip is the median of the instructions per round trip.
func roundTrip(ctx context.Context, p protocol, from *cluster.Space, to string, length time.Duration) (uint64, error) {
	args := append([]string{"sockperf", "ping-pong", "-i", to, "-m", strconv.Itoa(messageBytes), "-t", strconv.Itoa(int(length.Seconds()))}, p.arguments()...)
	var out string
	// The server may still be starting.
	for try := 0; ; try++ {
		var err error
		if out, err = from.Exec(ctx, args...); err == nil {
			break
		}
		if try == 5 || ctx.Err() != nil {
			return 0, err
		}
	}
	m := median.FindStringSubmatch(out)
	if m == nil {
		return 0, fmt.Errorf("%s: no median in the output of sockperf: %s", from.Name, out)
	}
	half, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, err
	}
	return uint64(math.Round(2 * half * float64(time.Microsecond))), nil
}

// startServers starts a server for each protocol; they end with the space.
func startServers(e end) error {
	for _, p := range protocols {
		if _, err := e.space.Start(append([]string{"sockperf", "server", "-i", e.ip}, p.arguments()...)...); err != nil {
			return err
		}
	}
	return nil
}

// hits is how many packets the first Node has sent by the fast path.
func (b *bed) hits(ctx context.Context) (uint64, error) {
	n := b.cluster.Nodes[0]
	out, err := n.Exec(ctx, "env", "POD_NAME=antrea-agent-"+n.Name, "antctl", "get", "oncache", "-o", "json")
	if err != nil {
		return 0, err
	}
	var s api.Status
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		return 0, fmt.Errorf("%s: output of antctl get oncache: %w", n.Name, err)
	}
	return s.Egress.Hits, nil
}
