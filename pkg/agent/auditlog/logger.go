// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// queued is the number of packets that wait for the agent. With the longest packets they take 16 MiB.
const queued = 256

const boundaryName = "auditlog"

// Switch is the part of pkg/ovs/openflow.Switch that a Logger needs.
type Switch interface {
	PacketIns(ctx context.Context, id uint16, capacity int, sender of.Sender) (*of.PacketIns, error)
}

// Interfaces is the part of interfacestore.InterfaceStore that a Logger needs.
type Interfaces interface {
	GetInterfaceByOFPort(ofPort uint32) (*interfacestore.InterfaceConfig, bool)
}

// Decisions reads what the pipeline says about a packet; openflow.Client implements it.
type Decisions interface {
	ParsePolicyPacket(p *of.PacketIn) (openflow.PolicyPacket, error)
}

// Logger writes the audit log.
type Logger struct {
	sw         Switch
	decisions  Decisions
	interfaces Interfaces
	directory  string
	rotation   Rotation
	clock      clock.Clock
}

// NewLogger returns a Logger that does nothing before Run.
func NewLogger(sw Switch, decisions Decisions, interfaces Interfaces, directory string, rotation Rotation) *Logger {
	return &Logger{sw: sw, decisions: decisions, interfaces: interfaces, directory: directory, rotation: rotation, clock: clock.RealClock{}}
}

// Run works until ctx ends, and then writes what waits for equal lines. It waits for the switch, also when the switch restarts. It fails
// if the switch was closed.
func (l *Logger) Run(ctx context.Context) error {
	packets, err := l.sw.PacketIns(ctx, openflow.PolicyLogController, queued, openflow.ReportedPod)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("receive packets for the audit log: %w", err)
	}
	defer packets.Close()
	file := openFile(l.directory, l.rotation)
	defer func() { _ = file.Close() }()
	w := newWriter(l, file)
	defer w.flush()
	timer := l.clock.NewTimer(buffering)
	defer timer.Stop()
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-packets.Ready():
			if !ok {
				return errors.New("receive packets for the audit log: the connection to the switch was closed")
			}
			_ = recovery.Call(boundaryName, recovery.Part("audit log of NetworkPolicies"), func() error { w.handle(packets.Next()); return nil })
		case <-due:
		}
		if wait, ok := w.writeDue(); ok {
			timer.Reset(wait)
			due = timer.C()
		} else {
			due = nil
		}
	}
}
