// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"time"
)

// observation describes one flow during an event, from its beginning until everything that was sent until its end had
// been judged.
type observation struct {
	flow flow
	// sent and lost are datagrams, connections, or segments of TCP, of which lost is not exact; sent then counts the
	// segments of a stream, or requests.
	sent, lost uint64
	// still is the longest time without progress. broken is the message with which a connection's program has ended.
	still  time.Duration
	broken string
}

// judgement is the oracle's opinion of an observation.
type judgement struct {
	// allowed and forbidden are parts of what was lost.
	allowed, forbidden uint64
	// complaint is empty when everything is as it should be.
	complaint string
}

// judge compares what a flow did during an event with what the event's kind allows.
func judge(e event, o observation) judgement {
	concerned := e.kind.concerns(o.flow)
	switch {
	case o.broken != "":
		return judgement{forbidden: max(o.lost, 1), complaint: fmt.Sprintf("%s has ended during %s: %s", o.flow, e, o.broken)}
	case !concerned && o.lost > e.kind.probes && o.flow.counted():
		return judgement{forbidden: o.lost, complaint: fmt.Sprintf("%s has lost %d of %d during %s, which does not concern it", o.flow, o.lost, o.sent, e)}
	case concerned && o.still > e.length+e.kind.bound:
		return judgement{forbidden: max(o.lost, 1), complaint: fmt.Sprintf("%s stood still for %s during %s, which may take %s more than the event",
			o.flow, o.still.Round(time.Millisecond), e, e.kind.bound)}
	}
	return judgement{allowed: o.lost}
}

// verdict is the permission of a probe.
type verdict string

const (
	forbidden verdict = "forbidden"
	allowed   verdict = "allowed"
	// unsettled is between a change of policies and its enforcement.
	unsettled verdict = "unsettled"
)

// judgeProbe compares the number of delivered packets of a probe with its verdict, which has not changed.
func judgeProbe(name string, v verdict, sent, delivered uint64, e event) judgement {
	if v == forbidden && delivered > 0 {
		return judgement{forbidden: delivered, complaint: fmt.Sprintf("%d of %d packets of %s were delivered during %s, which policies forbid", delivered, sent, name, e)}
	}
	return judgement{}
}
