// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package auditlog

import (
	"io"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/policy"
	"github.com/antrea-oncache/antrea/pkg/agent/share"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// suppression is the interval between the lines that count the packets without a line of a share.
const suppression = 10 * time.Second

// payer identifies the share of the log that a packet uses: Egress the share of the local Pod at the port, which has
// sent the packet; Ingress the share of unknown senders to the local Pod at the port.
type payer struct {
	port      uint32
	direction policy.Direction
}

// writer is the state of a running Logger.
type writer struct {
	*Logger
	output
	dropped, suppressed *deduplicator
	lines               *share.Limiter[payer]
}

func newWriter(l *Logger, file io.Writer) *writer {
	return &writer{
		Logger: l, output: output{Writer: file}, dropped: newDeduplicator(buffering), suppressed: newDeduplicator(suppression),
		lines: share.New[payer](l.clock),
	}
}

// handle logs one packet. A panic costs its line. An allowed packet opens a connection, and has a line of its own.
func (w *writer) handle(p *of.PacketIn) {
	decision, err := w.decisions.ParsePolicyPacket(p)
	if err != nil {
		klog.V(2).InfoS("Received a packet for the audit log without a decision", "err", err)
		return
	}
	if !decision.Has(openflow.OperationLog) {
		return
	}
	packet, err := ippacket.Parse(p.Data)
	if err != nil {
		klog.V(2).InfoS("Received a packet for the audit log that cannot be read", "table", decision.Table, "err", err)
		return
	}
	allowed := decision.Action == policy.Allow
	text, waits := line(&decision, w.pod(decision.PodPort), packet), w.dropped
	if allowed || !w.dropped.has(text) {
		if by := w.payer(&decision); !w.allow(by) {
			text, waits = suppressedLine(by.direction, w.pod(by.port)), w.suppressed
		} else if allowed {
			waits = nil
		}
	}
	if waits == nil || !waits.add(text, w.clock.Now()) {
		w.writeAll([]string{text})
	}
}

func (w *writer) payer(decision *openflow.PolicyPacket) payer {
	if decision.Direction == policy.Egress || w.pod(decision.InPort) != none {
		return payer{decision.InPort, policy.Egress}
	}
	return payer{decision.PodPort, policy.Ingress}
}

func (w *writer) allow(by payer) bool {
	ok, _ := w.lines.Allow(by)
	return ok
}

// pod returns NAMESPACE/NAME of the local Pod at the port.
func (w *writer) pod(ofPort uint32) string {
	i, ok := w.interfaces.GetInterfaceByOFPort(ofPort)
	if !ok || i.ContainerInterfaceConfig == nil {
		return none
	}
	return i.PodNamespace + "/" + i.PodName
}

// writeDue writes the lines that have waited long enough, and returns how long it is until the next one has; ok is false if none waits.
func (w *writer) writeDue() (wait time.Duration, ok bool) {
	for _, d := range []*deduplicator{w.dropped, w.suppressed} {
		w.writeAll(d.take(w.clock.Now()))
		if next, waits := d.wait(w.clock.Now()); waits && (!ok || next < wait) {
			wait, ok = next, true
		}
	}
	return wait, ok
}

// flush writes all lines that wait.
func (w *writer) flush() {
	for _, d := range []*deduplicator{w.dropped, w.suppressed} {
		w.writeAll(d.takeAll(w.clock.Now()))
	}
}

func (w *writer) writeAll(lines []string) {
	now := w.clock.Now().Format(timeFormat)
	for _, text := range lines {
		w.write(now + " " + text)
	}
}
