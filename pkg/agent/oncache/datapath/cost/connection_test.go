// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
)

// step is a segment of a connection with one request, whose server closes first.
type step struct {
	fromClient bool
	name       string
	flags      string
	payload    int
	hit        bool
}

var oneRequest = []step{
	{true, "SYN", "-S", 0, false},
	{false, "SYN-ACK", "S", 0, false},
	{true, "its answer", "", 0, false},
	{true, "request", "P", 1, true},
	{false, "acknowledgement", "", 0, true},
	{false, "answer", "P", 1, true},
	{true, "acknowledgement", "", 0, true},
	{false, "FIN", "F", 0, false},
	{true, "FIN", "F", 0, false},
	{false, "last ACK", "", 0, false},
}

// connections is the number of connections of which the medians are taken.
const connections = 64

// TestConnection: the four segments in the middle of a connection with one request are hits. With -cost.print it prints the median of what each
// program takes, less an empty program: in a machine whose time is a count of instructions (`lab run --count-instructions`), 4 ns are one.
func TestConnection(t *testing.T) {
	for _, f := range []harness.Family{{}, {Inner6: true, Outer6: true}} {
		for _, role := range []string{"client", "server"} {
			t.Run(fmt.Sprintf("%s %+v", role, f), func(t *testing.T) {
				c := newConversation(t, harness.NewWorldOf(t, f), role == "client")
				for n := range connections {
					c.connect(uint16(20000 + n))
				}
				if *costPrint {
					c.print(t.Name())
				}
			})
		}
	}
}

// conversation runs connections between a Pod of this Node, which is the client or the server, and one of another Node.
type conversation struct {
	t      *testing.T
	w      *harness.World
	client bool
	empty  float64
	runs   map[*ebpf.Program]*harness.TestRun
	// times has the runs of each step's programs.
	times [][2][]float64
}

func newConversation(t *testing.T, w *harness.World, client bool) *conversation {
	in := newInstrument(t)
	c := &conversation{t: t, w: w, client: client, runs: map[*ebpf.Program]*harness.TestRun{}, times: make([][2][]float64, len(oneRequest))}
	for _, p := range []*ebpf.Program{w.Programs.OncacheEgress, w.Programs.OncacheEgressInit, w.Programs.OncacheIngress, w.Programs.OncacheIngressInit} {
		c.runs[p] = harness.NewTestRun(in.prelude(p), 2048)
	}
	empty := harness.NewTestRun(in.prelude(in.empty()), 0)
	var all []float64
	for range connections {
		require.NoError(t, empty.Run(w.FromPod().Bytes(t)))
		all = append(all, float64(empty.Duration()))
	}
	c.empty = median(all)
	return c
}

// connect passes the segments of one connection through the programs of its Node, as Open vSwitch would do.
func (c *conversation) connect(port uint16) {
	seq, ack := uint32(port)*1000, uint32(port)*2000
	for i, s := range oneRequest {
		sent := s.fromClient == c.client
		p := c.w.ToPod()
		if sent {
			p = c.w.FromPod()
		}
		p.SrcPort, p.DstPort = 80, port
		if s.fromClient {
			p.SrcPort, p.DstPort = port, 80
		}
		p.Flags, p.Payload, p.Seq, p.Ack, p.ID = s.flags, s.payload, seq, ack, uint16(seq)
		next := seq + uint32(s.payload)
		if s.flags == "-S" || s.flags == "S" || s.flags == "F" {
			next++
		}
		first, second, ifindex, behind := c.w.Programs.OncacheIngress, c.w.Programs.OncacheIngressInit, c.w.UplinkIf, c.w.PodIf
		frame, out := c.w.FromPeer().Wrap(c.t, p.Bytes(c.t)), p.BehindOVS(harness.GatewayMAC, harness.PodMAC).Bytes(c.t)
		if sent {
			first, second, ifindex, behind = c.w.Programs.OncacheEgress, c.w.Programs.OncacheEgressInit, c.w.PodIf, c.w.UplinkIf
			frame, out = p.Bytes(c.t), c.w.ToPeer().Wrap(c.t, p.BehindOVS(harness.GatewayMAC, harness.VirtualMAC).Bytes(c.t))
		}
		r := c.run(i, 0, first, ifindex, 0, frame)
		require.Equal(c.t, s.hit, r.Verdict() == harness.Redirect, "%s %d", s.name, i)
		if !s.hit {
			mark := harness.Unstamped(r.ContextOut.Mark)
			if s.flags != "-S" {
				mark |= harness.Epoch << 20
			}
			c.run(i, 1, second, behind, mark, out)
		}
		// The next segment is of the other end, or of the same.
		if i+1 < len(oneRequest) && oneRequest[i+1].fromClient != s.fromClient {
			seq, ack = ack, next
		} else {
			seq = next
		}
	}
}

func (c *conversation) run(i, place int, p *ebpf.Program, ifindex int, mark uint32, frame []byte) *harness.TestRun {
	r := c.runs[p]
	r.Context = harness.SKB{Ifindex: uint32(ifindex), Mark: mark}
	require.NoError(c.t, r.Run(frame))
	c.times[i][place] = append(c.times[i][place], float64(r.Duration())-c.empty)
	return r
}

func (c *conversation) print(name string) {
	var total float64
	for i, s := range oneRequest {
		side := "server"
		if s.fromClient {
			side = "client"
		}
		fmt.Printf("%s: %-6s %-16s", name, side, s.name)
		for _, times := range c.times[i] {
			if len(times) > 0 {
				m := median(slices.Clone(times))
				total += m
				fmt.Printf(" %6.0f", m)
			}
		}
		fmt.Println()
	}
	fmt.Printf("%s: %.0f ns for one connection\n", name, total)
}
