// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"context"
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// RejectEntry is the place at which an answer to a rejected packet enters the pipeline.
type RejectEntry uint8

const (
	// RejectDirectly lets the answer bypass the pipeline.
	RejectDirectly RejectEntry = iota
	// RejectFromStart lets the answer pass the whole pipeline.
	RejectFromStart
	// RejectFromConntrack begins where conntrack undoes the translation of a Service.
	RejectFromConntrack
	// RejectFromRouting begins behind the policies of the sender.
	RejectFromRouting
)

// RejectPath is the way of the answer to a rejected packet.
type RejectPath struct {
	Entry RejectEntry
	// InPort is the OpenFlow port at which the answer seems to arrive, OutPort the one through which it leaves with RejectDirectly.
	InPort, OutPort uint32
}

// SendPolicyReject sends the answer to a rejected packet.
func (n *Policies) SendPolicyReject(ctx context.Context, path RejectPath, frame []byte) error {
	g := n.socket.Generator()
	if g == nil {
		return pipeline.ErrNotInitialized
	}
	actions := []of.Action{pipeline.GeneratedReject.Load()}
	switch path.Entry {
	case RejectDirectly:
		if err := pipeline.ValidateOFPort(path.OutPort); err != nil {
			return fmt.Errorf("answer to a rejected packet: %w", err)
		}
		actions = append(actions, of.Output{Port: path.OutPort})
	case RejectFromStart:
		actions = append(actions, of.ResubmitFrom{Port: of.PortInPort, Table: g.ID(pipeline.TablePipelineRootClassifier)})
	case RejectFromConntrack:
		actions = append(actions, of.ResubmitFrom{Port: of.PortInPort, Table: g.ID(pipeline.TableConntrackZone)})
	case RejectFromRouting:
		actions = append(actions, of.ResubmitFrom{Port: of.PortInPort, Table: g.ID(pipeline.TableL3Forwarding)})
	default:
		return fmt.Errorf("answer to a rejected packet: no entry %d into the pipeline", path.Entry)
	}
	return n.socket.PacketOut(ctx, of.PacketOut{InPort: path.InPort, Actions: actions, Data: frame})
}
