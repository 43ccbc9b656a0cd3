// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package acceptance

import (
	"testing"
	"time"
)

// testModes changes to another mode of traffic and back, as docs/start/nodes.md says: one agent after the other, with encryption all at once.
// The connection survives. It stands still, and datagrams are lost, while two Nodes have different modes.
func (l *life) testModes(t *testing.T) {
	former := l.mode
	other := map[string]string{encap: noEncap, noEncap: hybrid, hybrid: encap, wireGuard: noEncap}[former]
	client, server := l.pair(t)
	gap, lost := l.measureTraffic(t, client, server, 4*time.Minute, func() {
		l.waitFast(t, "TCP", client, server)
		for _, next := range []string{other, former} {
			begun := time.Now()
			l.changeMode(t, next)
			l.waitFast(t, "TCP", client, server)
			l.checkMesh(t)
			t.Logf("%s after %.1f s", next, time.Since(begun).Seconds())
		}
	})
	t.Logf("%s, %s, %s: the connection stood still for %s, %d datagrams were lost", former, other, former, gap, lost)
}

// changeMode upgrades the installation to another mode of traffic.
func (l *life) changeMode(t *testing.T, next string) {
	t.Helper()
	atOnce := "1"
	if l.mode == wireGuard || next == wireGuard {
		atOnce = "100%"
	}
	l.upgrade(t, append([]string{"agent.updateStrategy.rollingUpdate.maxUnavailable=" + atOnce}, modeValues[next]...)...)
	l.mode = next
	l.waitForController(t)
	l.waitForAgents(t)
	l.requireWay(t)
}
