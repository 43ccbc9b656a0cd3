// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

// outside is the server outside the cluster.
var outside = netip.AddrPortFrom(cluster.InternetAddress, outsidePort)

// outwardBound limits the time after the end of an event of any kind, in which no connection to outside need succeed: another Node takes the Egress
// address from one whose agent has ended, and gives it back.
const outwardBound = time.Minute

// startOutward lets the unrelated Pod of each Node open connections to the server outside the cluster. Attempts are short: a long one
// would hide when the next one would have succeeded.
func (t *traffic) startOutward(ctx context.Context) error {
	if _, err := t.serve(ctx, t.w.Internet, "crr-server", "--concurrent", "--listen="+outside.String()); err != nil {
		return err
	}
	for i, pod := range t.w.strangers {
		process, err := t.run(pod.Space, "crr", "--to="+outside.String(), "--duration=0", "--tolerant", "--timeout=1s",
			fmt.Sprint("--rate=", max(1, 10*t.w.load)), fmt.Sprint("--progress=", watchInterval))
		if err != nil {
			return err
		}
		t.outward[i] = &program{process: process, since: time.Now()}
	}
	return nil
}

// waitOutward waits until the Pods of both Nodes get through to outside.
func (t *traffic) waitOutward(ctx context.Context) error {
	for i, p := range t.outward {
		before := p.state().received
		if err := eventually(ctx, "connections to outside from "+t.w.strangers[i].Name, func() error {
			if now := p.state(); now.received <= before && p.broken() == "" {
				return fmt.Errorf("%d of %d have succeeded", now.received, now.sent)
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// judgeOutward compares the longest time in which no connection to outside from a Pod succeeded with what an event may take.
func judgeOutward(e event, from string, still time.Duration, broken string) (complaint string) {
	switch {
	case broken != "":
		return fmt.Sprintf("connections to outside from %s have ended during %s: %s", from, e, broken)
	case still > e.length+outwardBound:
		return fmt.Sprintf("no connection to outside from %s has succeeded for %s during %s, which may take %s more than the event",
			from, still.Round(time.Millisecond), e, outwardBound)
	}
	return ""
}

// addOutward judges what the connections of a Pod to outside did during an event.
func (l *ledger) addOutward(e event, from string, still time.Duration, broken string) (complaints []string) {
	t := l.of(e)
	t.outward = max(t.outward, still)
	if complaint := judgeOutward(e, from, still, broken); complaint != "" {
		complaints = append(complaints, complaint)
	}
	l.complaints = append(l.complaints, complaints...)
	return complaints
}
