// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command faults lets random events happen to a cluster of two Nodes with Open vSwitch (package cluster) under traffic:
// programs end and start again, the network changes, Nodes, Pods and policies come and go. An oracle compares what
// arrived with what each event may do: packets of flows that it does not concern are not lost, forbidden packets are not
// delivered, packets to outside do not leave with another source than the Egress's or a Node's, and with WireGuard none is on the network in clear.
// `make test-faults` runs it in the testbed, with FAULTS_ARGS=-mode=noEncap, hybrid or wireGuard in another traffic mode;
// docs/develop/reliability.md explains the output.
//
// The plan of events (plan.go, from the table in kind.go) is a function of the seed. The oracle (oracle.go, ledger.go)
// sees only numbers. world.go is the cluster, flow.go its kinds of traffic. action*.go make events happen (policies.go contains
// their policies), traffic.go generates allowed traffic with programs (program.go), probe.go forbidden traffic, outward.go the
// connections of Pods with an Egress (egress.go). Packet sockets (recording.go) see their sources (sources.go) and what is not encrypted (cleartext.go).
// modes.go is about traffic modes; run.go brings all together.
//
// The last line is "faults: events=N packets=N lost_established=N forbidden_delivered=N wrong_source=N clear_text=N seed=S". The exit code is 1 if anything is wrong.
package main
