// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oncache accelerates established flows between Pods on different Nodes: small eBPF programs (bpf/oncache)
// repeat for each packet what Open vSwitch was seen to do with an earlier packet of the same flow. This package decides
// who may use the cache and until when; docs/design/oncache.md explains why it can be trusted.
//
// With bpf/oncache it is one unit. It depends on the rest of the agent through the interfaces in interfaces.go and the
// types of package coherency only:
//
//	ledger.go, marks.go, stamps.go, nodes.go, epochs.go  the deterministic core: OpenFlow changes in, generations and epochs out
//	manager.go                     start, stop and mark flows; it composes what follows
//	gateway.go                     the host's own stack as one more endpoint
//	pods.go, captures.go           which local Pods use the cache, and whose packets are being captured
//	mode.go, flush.go              the wanted mode, and off while the uplink cannot carry the fast path or the cache does not trust itself
//	protection.go, failures.go     when it does not trust itself, and operations that fail
//	uplink.go                      reacts to kernel changes: the transport interface and the routes to Nodes
//	uplink_paths.go                how packets leave for the Nodes, and what differs after messages were lost
//	direct.go                      Nodes that are reached without the tunnel: marks, routes, IPsec policies
//	uplink_device.go               which transport interfaces the programs understand
//	uplink_watch.go, uplink_events.go, subscribe.go  the kernel's messages, and which of them matter
//	tunnel_device.go               the device of the tunnel
//	rewriting.go, merging.go       rewritten packets, and why they could not arrive: GRO
//	ipsec.go                       IPsec policies that hits would bypass
//	conntrack.go                   conntrack's entries of accelerated connections (package tracking)
//	absence.go, absence_watch.go   leases that are held while Open vSwitch is away, and how that is found out
//	hold.go                        Pods that stay on Open vSwitch during a trace
//	counted.go, retired.go         counts of entries before a takeover, and of entries that are removed
//	shares.go                      dividing the cache among the Pods
//	bridge.go                      mirrors of the bridge, and the state that it keeps for the cache
//	sysctl.go, upkeep.go           conntrack's window tracking, and the repair of what others change
//	openings.go, redirects.go      openings, as antctl shows them, and changes of Services that concern them
//	status.go, reasons.go, metrics.go, dump.go  what antctl, /metrics and support bundles show
package oncache

// boundaryName is the label under which panics of the cache are counted.
const boundaryName = "oncache"
