// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/antrea-oncache/antrea/test/env/switchpair"
	"github.com/antrea-oncache/antrea/test/policy"
	"github.com/antrea-oncache/antrea/test/tools/wire"
)

// The agents of this program have networkPolicy.establishedConnections: cut. A connection that present policies would not allow to be opened ends,
// in both directions; it continues if policies allow it again.

const (
	// cutTimeout is the time within which agents certainly have looked for such connections, also beside other programs.
	cutTimeout = 20 * time.Second
	// amnestyPeriod is the number of sets of policies of which one is followed by a policy that allows everything for a while.
	amnestyPeriod = 5
)

// established are connections that were opened in an earlier World.
type established struct {
	trials []*trial
	// sent is the number of packets that each end has sent.
	sent int
	// patience is the time within which agents look for such connections.
	patience time.Duration
	r        *result
}

// open takes the trials of a run that conntrack still knows.
func (e *established) open(f *fabric) {
	e.trials, e.sent = nil, 0
	for _, t := range f.last {
		if hasPackets(protocolOf(t.Probe)) && t.delivered(f) && t.answered && t.right(f) {
			e.trials = append(e.trials, t)
		}
	}
}

// follow drops connections of which a World cannot say whether they could be opened in it, because the Service that was dialed has changed, and gives
// the others the Pods that now have their addresses.
func (e *established) follow(world *policy.World) {
	e.trials = slices.DeleteFunc(e.trials, func(t *trial) bool {
		return t.Via != nil && !slices.ContainsFunc(world.ClusterIPs, func(s *policy.ClusterIP) bool { return reflect.DeepEqual(s, t.Via) })
	})
	for _, t := range e.trials {
		t.From, t.To = successor(world, t.From), successor(world, t.To)
		t.want = world.Opinion(t.Probe)
	}
}

// successor returns the Pod of a World that has the addresses of another one.
func successor(world *policy.World, pod *policy.Pod) *policy.Pod {
	for _, p := range slices.Concat(world.Pods, world.Hosts) {
		if p.IPv4 == pod.IPv4 {
			return p
		}
	}
	return pod
}

func (t *trial) mustEnd() bool      { return t.want&policy.MayAllow == 0 }
func (t *trial) mustContinue() bool { return t.want == policy.MayAllow }

// check waits until the agents have cut what a World forbids, sends a packet in each direction of each connection, and returns the connections that
// are not as they must be. Of a connection that ends, nothing may arrive.
func (e *established) check(ctx context.Context, c *cluster, f *fabric, world *policy.World) (wrong []*trial, err error) {
	if e.follow(world); len(e.trials) == 0 {
		return nil, nil
	}
	settled := func(context.Context) (bool, error) {
		return !slices.ContainsFunc(e.trials, func(t *trial) bool {
			cut := c.hasCut(t)
			return t.mustEnd() && !cut || t.mustContinue() && cut
		}), nil
	}
	if err := wait.PollUntilContextTimeout(ctx, time.Millisecond, e.patience, true, settled); err != nil && !wait.Interrupted(err) {
		return nil, err
	}
	for _, n := range f.Nodes {
		n.ForgetMegaflows()
	}
	var frames []switchpair.Outgoing
	for _, t := range e.trials {
		frames = append(frames,
			switchpair.Outgoing{At: f.source(t), Frame: wire.Data(f.leg(t), protocolOf(t.Probe), t.id, e.sent, false)},
			switchpair.Outgoing{At: f.destination(t), Frame: wire.Data(f.legBack(t), protocolOf(t.Probe), t.id, e.sent+1, true)})
	}
	arrived, err := f.Exchange(frames)
	if err != nil {
		return nil, err
	}
	for _, t := range e.trials {
		there, back := portsOf(arrived[t.id+1+uint32(e.sent)]), portsOf(arrived[t.id+2+uint32(e.sent)])
		t.continues = slices.Equal(there, []*switchpair.Port{f.destination(t)}) && slices.Equal(back, []*switchpair.Port{f.source(t)})
		t.ended = len(there)+len(back) == 0
		if t.mustEnd() && !t.ended || t.mustContinue() && !t.continues {
			wrong = append(wrong, t)
		}
		if e.r.established++; t.mustEnd() {
			e.r.ended++
		}
	}
	e.sent += 2
	return wrong, nil
}

// checkAll is check, and if amnesty is true again while a policy allows everything, and after that.
func (e *established) checkAll(ctx context.Context, c *cluster, f *fabric, world *policy.World, amnesty bool) (wrong []*trial, err error) {
	wrong, err = e.check(ctx, c, f, world)
	if err != nil || len(wrong) > 0 || !amnesty {
		return wrong, err
	}
	open := world.WithAmnesty(c.marks)
	for _, next := range [][2]*policy.World{{world, open}, {open, world}} {
		if err := c.change(ctx, next[0], next[1]); err != nil {
			return nil, err
		}
		if err := c.settle(ctx, f); err != nil {
			return nil, err
		}
		if wrong, err = e.check(ctx, c, f, next[1]); err != nil || len(wrong) > 0 {
			return wrong, err
		}
	}
	return nil, nil
}

// explainOpen prints established connections that are not as they must be.
func explainOpen(set int, c *cluster, world *policy.World, wrong []*trial) {
	fmt.Printf("set %d:\n", set)
	describe(world)
	for _, t := range wrong {
		want, is := "it to continue", "it lost packets of one direction"
		if t.mustEnd() {
			want = "it to end"
		}
		switch {
		case t.continues:
			is = "it continues"
		case t.ended:
			is = "it has ended"
		}
		fmt.Printf("set %d: %v, which was open: want %s (%v), but %s; the agents' rules say allowed=%t, cut=%t\n", set, t, want, t.want, is, c.allows(t.Probe), c.hasCut(t))
	}
}
