// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

const (
	// firstSend is the time that the sender gives other Nodes to learn of the trace before it sends the packet or tags
	// live traffic. sendInterval is the time for which it waits for the end of the trace before it sends again.
	firstSend, sendInterval = 500 * time.Millisecond, 2 * time.Second
	// linger is the time for which a Node continues to remove the tag from packets of a trace that has ended: the Node
	// that tags may learn of it later.
	linger = 2 * time.Second
	// grace is the time after its timeout at which a trace ends that no other component has ended.
	grace = 10 * time.Second
	// writeInterval is the time after a failure at which a status is written again.
	writeInterval = 2 * time.Second
	// maxPending bounds the reports that wait for others.
	maxPending = 64
)

// operation is something to do; the types below are all.
type operation interface{ isOperation() }

type (
	// hold keeps the Pods with these interfaces on Open vSwitch until release.
	hold struct {
		trace      string
		interfaces []string
	}
	release struct{ trace string }
	// install installs the flows of a tag, uninstall removes them. A trace whose flows cannot be installed fails.
	install struct {
		trace string
		tag   uint8
		flows openflow.TraceflowFlows
	}
	uninstall struct{ tag uint8 }
	// send sends the packet from the Pod behind the OpenFlow port. Failures count as losses.
	send struct {
		trace  string
		tag    uint8
		packet ippacket.Outline
		ofPort uint32
	}
	// findSource asks for a Pod's addresses; setSource gets the answer.
	findSource struct{ trace, namespace, name string }
	// giveUp ends the trace for all Nodes.
	giveUp struct {
		plan   *plan
		reason error
	}
	// publish writes a result into the status of the trace.
	publish struct {
		plan     *plan
		result   finding
		captured *v1beta1.Packet
	}
)

func (hold) isOperation()       {}
func (release) isOperation()    {}
func (install) isOperation()    {}
func (uninstall) isOperation()  {}
func (send) isOperation()       {}
func (findSource) isOperation() {}
func (giveUp) isOperation()     {}
func (publish) isOperation()    {}

// trace is a trace that is running.
type trace struct {
	*plan
	// ends is the time at which the trace ends by itself, lost the time at which the sender says that its packet is
	// lost, nextSend the time at which it sends the packet, or tags live traffic. The zero Time stands for never.
	ends, lost, nextSend time.Time
	// unwritten could not be written into the status, nil if nothing; it is tried again at retry.
	unwritten operation
	retry     time.Time
	// found: the result is known, or no longer wanted.
	found bool
	// gone: the object is, or it does not run any longer.
	gone bool
	// passed are the trace points that a packet of the trace has passed, as many as any report says.
	passed []string
	// source are the addresses of a source Pod of another Node, nil until they are known; asked is set when they are asked for.
	source []netip.Addr
	asked  bool
	// pending are outcomes that wait for source or, of live traffic, for the beginning of their packet's way. begun are these.
	pending []seenPacket
	begun   map[packetKey]seenPacket
}

// core decides. Its methods return what to do, in this order.
type core struct {
	// traces are by name.
	traces map[string]*trace
	// over has the UIDs, by name, of the traces that have ended by themselves though their objects say that they run. None begins again.
	over map[string]types.UID
}

func newCore() *core { return &core{traces: map[string]*trace{}, over: map[string]types.UID{}} }

// has reports whether the trace runs with this tag, or its time has passed.
func (c *core) has(p *v1beta1.Traceflow) bool {
	if uid, ok := c.over[p.Name]; ok && uid == p.UID {
		return true
	}
	t := c.traces[p.Name]
	return t != nil && t.uid == p.UID && t.tag == uint8(p.Status.DataplaneTag)
}

// begin begins a trace. Former ones with its name or tag end.
func (c *core) begin(p *plan, now time.Time) []operation {
	ops := c.end(p.name)
	for name, other := range c.traces {
		if other.tag == p.tag {
			ops = append(ops, c.end(name)...)
		}
	}
	t := &trace{plan: p, ends: now.Add(p.timeout + grace), begun: map[packetKey]seenPacket{}}
	c.traces[p.name] = t
	if held := p.interfaces(); len(held) > 0 {
		ops = append(ops, hold{p.name, held})
	}
	flows := openflow.TraceflowFlows{Live: p.live, Filter: p.filter, Peer: p.peer}
	if p.sender != nil {
		flows.Sender, t.nextSend = p.sender.ofPort, now.Add(firstSend)
		// The tag comes later.
		flows.Filter = nil
		if !p.live {
			const part, whole = 3, 4 // before the controller, whose time began earlier, ends the trace
			t.lost = now.Add(p.timeout * part / whole)
		}
	}
	return append(ops, install{p.name, p.tag, flows})
}

// interfaces are the interfaces of the Pods that are held.
func (p *plan) interfaces() []string {
	names := slices.Clone(p.others)
	for _, local := range []*pod{p.receiver, p.sender} {
		if local != nil {
			names = append(names, local.interfaceName)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// finish ends a trace whose object says so, or is gone. Where packets lose the tag of live traffic that another Node gives them, that is
// a little later.
func (c *core) finish(name string, now time.Time) []operation {
	delete(c.over, name)
	t := c.traces[name]
	if t == nil || !t.live || t.filter != nil {
		return c.end(name)
	}
	if later := now.Add(linger); later.Before(t.ends) {
		t.ends = later
	}
	t.found, t.gone, t.pending = true, true, nil
	t.unwritten, t.retry = nil, time.Time{}
	return nil
}

// notWritten has the trace write again later what could not be written: the Kubernetes API may only be slow.
func (c *core) notWritten(p *plan, op operation, now time.Time) {
	if t := c.traces[p.name]; t != nil && t.uid == p.uid && !t.gone {
		t.unwritten, t.retry = op, now.Add(writeInterval)
	}
}

// end ends a trace at once if it runs.
func (c *core) end(name string) []operation {
	t := c.traces[name]
	if t == nil {
		return nil
	}
	delete(c.traces, name)
	ops := []operation{uninstall{t.tag}}
	if len(t.interfaces()) > 0 {
		ops = append(ops, release{name})
	}
	return ops
}

// tick does what is due.
func (c *core) tick(now time.Time) (ops []operation) {
	for _, name := range c.names() {
		t := c.traces[name]
		if t.unwritten != nil && !now.Before(t.retry) {
			ops = append(ops, t.unwritten)
			t.unwritten, t.retry = nil, time.Time{}
		}
		switch {
		case !now.Before(t.ends):
			if !t.gone {
				c.over[name] = t.uid
			}
			ops = append(ops, c.end(name)...)
		case !t.lost.IsZero() && !t.found && !now.Before(t.lost):
			t.found = true
			ops = append(ops, giveUp{t.plan, t.lostReason()})
		case t.nextSend.IsZero() || now.Before(t.nextSend):
		case t.live:
			t.nextSend = time.Time{}
			ops = append(ops, install{name, t.tag, openflow.TraceflowFlows{Sender: t.sender.ofPort, Live: true, Filter: t.filter, Peer: t.peer}})
		default:
			t.nextSend = now.Add(sendInterval)
			ops = append(ops, send{name, t.tag, t.packet, t.sender.ofPort})
		}
	}
	return ops
}

// lostReason says how far the packet that this Node has sent has come.
func (t *trace) lostReason() error {
	if len(t.passed) == 0 {
		return fmt.Errorf("%s: Open vSwitch has reported nothing about the packet", v1beta1.TraceflowTimedOut)
	}
	return fmt.Errorf("%s: the packet was lost in Open vSwitch behind the table %s: its TTL was used up, or its connection is invalid", v1beta1.TraceflowTimedOut, t.passed[len(t.passed)-1])
}

// next is the time at which tick has something to do; ok is false if it has nothing.
func (c *core) next() (when time.Time, ok bool) {
	for _, t := range c.traces {
		for _, due := range []time.Time{t.ends, t.lost, t.nextSend, t.retry} {
			if due == t.lost && t.found {
				continue
			}
			if !due.IsZero() && (!ok || due.Before(when)) {
				when, ok = due, true
			}
		}
	}
	return when, ok
}

func (c *core) names() []string {
	names := make([]string, 0, len(c.traces))
	for name := range c.traces {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
