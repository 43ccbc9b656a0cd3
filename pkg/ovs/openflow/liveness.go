// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// echoInterval is the time between two echo requests to the switch. When maxSilent of them have brought no sign of life
	// (30 s), the switch counts as hung. (On an overloaded machine a working switch has been silent for 12 s.) Requests are counted,
	// not time, so a pause of this process does not look like silence of the switch.
	echoInterval = 5 * time.Second
	maxSilent    = 6
	// writeSize limits one write: if the switch makes room for more, that is a sign of life.
	writeSize = 64 << 10
)

// errHung is the reason for ending the connection to a switch that runs but does not respond.
var errHung = errors.New("ovs-vswitchd has not answered an echo")

// echoLoop asks the switch for signs of life and ends the connection when there are none: callers that wait for an answer then
// learn that none will come, and a bundle that is still open is dropped with the connection.
func (c *conn) echoLoop(interval time.Duration) {
	defer c.wg.Done()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for silent := 0; ; {
		select {
		case <-ticker.C:
		case <-c.closed:
			return
		}
		if silent++; c.alive.Swap(false) {
			silent = 0
		}
		if silent == maxSilent {
			c.fail(fmt.Errorf("%w for %v", errHung, maxSilent*interval))
			return
		}
		select {
		// No call waits for the reply, which is a sign of life as any message is.
		case c.background <- appendEchoRequest(nil, c.version):
		default:
		}
	}
}

// writeAll writes data in pieces. A full piece that was written is a sign of life: the switch has made room for it.
func (c *conn) writeAll(data []byte) error {
	for part := range slices.Chunk(data, writeSize) {
		if _, err := c.nc.Write(part); err != nil {
			return err
		}
		if len(part) == writeSize {
			c.alive.Store(true)
		}
	}
	return nil
}
