// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package pipeline

import (
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

// MarkSNAT marks the connection for source translation, and saves its source and the egress rule that admitted it, as ConntrackCommit
// does for others.
func (g *Generator) MarkSNAT(f Family, marks ...FieldValue) of.CT {
	return of.CT{Commit: true, Zone: f.CTZone, Table: g.Next(TableSNATMark), NATTo: &of.NATTo{Source: true}, Exec: append(Loads(append([]FieldValue{SNATCT}, marks...)),
		MoveBits(PacketSourceField, ConnSourceField), MoveBits(EgressConjunctionID, EgressRuleCTLabel))}
}

// Loads are the actions that give the fields these values.
func Loads(values []FieldValue) []of.Action {
	var actions []of.Action
	for _, v := range values {
		actions = append(actions, v.Load())
	}
	return actions
}
