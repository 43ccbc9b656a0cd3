// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

const (
	// connectionCheckInterval is the time between two checks of the connection to ovs-vswitchd, which ends with it, and of the kernel's
	// datapath. A check asks neither; from the end of either until the check, probes are lost.
	connectionCheckInterval = 100 * time.Millisecond
	// flowCheckInterval is the time between two questions to the switch while the connection lasts.
	flowCheckInterval = time.Second
)

// Reasons why Open vSwitch counts as away. Errors of single attempts to connect are only logged: each would be news, and an Event.
var (
	errNoConnection = errors.New("ovs-vswitchd cannot be reached")
	errNoDatapath   = errors.New("the kernel has no datapath of Open vSwitch")
	errNoFlows      = errors.New("flows are missing on the bridge")
)

// lookout checks whether Open vSwitch is there.
type lookout struct {
	flows FlowClient
	// datapathExists reports whether the kernel has Open vSwitch's datapath.
	datapathExists func() (bool, error)
	absence        *absence

	// connected is the last time at which connection and datapath were found in order; complete, connection, datapath and flows.
	connected, complete time.Time
}

// watchOpenVSwitch holds leases while Open vSwitch is away.
func (m *Manager) watchOpenVSwitch(stopCh <-chan struct{}) {
	now := time.Now()
	l := &lookout{flows: m.flows, datapathExists: m.config.DatapathExists, absence: m.absence, connected: now, complete: now}
	tick := time.NewTicker(connectionCheckInterval)
	defer tick.Stop()
	for {
		select {
		case <-stopCh:
			return
		case <-tick.C:
			_ = recovery.Call(boundaryName, recovery.Part("ONCache lookout"), func() error { l.check(time.Now()); return nil })
		}
	}
}

// check looks once. A switch that does not answer in time may be there or not, so nothing changes. If it has hung, the connection ends
// later.
func (l *lookout) check(now time.Time) {
	l.absence.pass(now)
	if l.flows.ConnectionError() != nil {
		l.absence.away(now, l.connected, errNoConnection)
		return
	}
	switch exists, err := l.datapathExists(); {
	case err != nil:
		return
	case !exists:
		l.absence.away(now, l.connected, errNoDatapath)
		return
	}
	l.connected = now
	if now.Sub(l.complete) < flowCheckInterval && l.absence.status(now) == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flowCheckInterval)
	defer cancel()
	switch missing, err := l.flows.MissingFlows(ctx); {
	case err != nil:
	case missing != "":
		l.absence.away(now, l.complete, fmt.Errorf("%w: %s", errNoFlows, missing))
	default:
		l.complete = now
		l.absence.there()
	}
}
