// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress gives the Pods of this Node the sources of their Egresses, and this Node's Egress addresses to Pods of all Nodes.
//
// decide.go is the plan for what is known, without I/O. realize.go brings plans into force, in an order in which no packet gets a source that
// it should not have: what cannot be given a source is dropped. connections.go ends connections that keep a former source. marks.go numbers
// addresses, shaping.go contains their bandwidths. groups.go follows the Pods of Egresses, addresses.go the addresses of this Node, storage.go
// keeps both for an agent that starts without them. status.go writes which Node has an address, report.go makes problems, sources.go names the
// Egresses of Pods for flow records, list.go lists all for users, metrics.go counts; controller.go combines them. off.go is for traffic modes without Egress. A new Pod has
// its Egress before it can send anything, if antrea-controller has named the Pod before.
//
// Of several Egresses of a Pod, the oldest decides, for each IP version. In Antrea, it is the first one that the agent has seen.
//
// Package assign gives this Node its addresses of pools. An administrator may also give one to any device.
package egress
