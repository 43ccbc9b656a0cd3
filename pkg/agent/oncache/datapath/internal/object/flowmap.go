// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package object

// FlowMap is one of the four flow maps, by the number that the programs have for it (flow_map of tally.h).
type FlowMap int

const (
	Egress4 FlowMap = iota
	Ingress4
	Egress6
	Ingress6
	FlowMaps
)

// Opposite is the map with the other direction of the flows.
func (m FlowMap) Opposite() FlowMap { return m ^ 1 }

// CountAt is the index in flow_counts of a slot's entries in a map.
func CountAt(m FlowMap, slot int) int { return slot*int(FlowMaps) + int(m) }
