// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openflow changes the flows of one OVS bridge over its OpenFlow management socket (<rundir>/<bridge>.mgmt).
//
// # What it does
//
// A Flow is a plain value: table, priority, cookie, matches and actions. Flow.Key identifies it in the switch, and
// Flow.Key and Flow.String are in the syntax of ovs-ofctl(8), so that they can be compared with a dump. Constructors
// such as IPv4Dst and Reg make the matches.
//
// A Switch applies FlowMods. NewSwitch returns the real one, NewFake one in memory for tests of pipelines. Commit is one
// atomic bundle: afterwards all mods are in the flow tables or none is, and the error is a *FlowError that names the flow
// the switch refused, and wraps the *Error of the switch. When the connection is lost the client dials again by itself and
// reports it on Connect's channel; it does not replay anything, since only its user knows what should be there. Delays between
// attempts grow (package retry), and the log has one line per outage.
//
// # Liveness
//
// A vswitchd that hangs keeps its sockets open. So the client sends an echo request every 4 s, and ends the connection when
// three of them have brought no sign of life, a message or room for more of what is written (liveness.go). Whoever waits for an
// answer has it then (ErrDisconnected), and later calls fail at once. A bundle that was open is dropped with the connection; one
// whose commit was sent may be applied when vswitchd goes on. That is before it answers the handshake of the next connection,
// because a bundle's commit is sent only when everything before it was answered, and the agent sends one bundle at a time: what is
// sent after the reconnection comes last.
//
// # On the wire
//
// The protocol is OpenFlow 1.3 with Nicira's extended matches and actions (OVS's nicira-ext.h) and the bundles of ONF
// extension 230, which OVS speaks on 1.3. OVS checks a flow when it is added to a bundle, and a flow that fails that
// check is left out of the bundle without spoiling it: a commit sent blindly behind the flows would then commit the
// others. Commit therefore sends open, all flows and close in one write, looks at what came back up to the close reply,
// and only then sends commit and a barrier in a second write; or discard.
//
// Messages are made by github.com/contiv/libOpenflow, whose encoder is good, save for what this package does around it:
//
//   - masks and values of matches are computed here (the library's mask of bits 0..0 is 0);
//   - out_group is set in the finished message (the library sends out_port twice, so that a deletion restricted to a
//     port or a group would delete every flow);
//   - lengths are checked (the library counts in 16 bits and wraps around).
//
// # Why the decoder is ours
//
// Nothing that the switch sends reaches the library. Its decoder panics on ordinary messages (ip_frag, nw_ttl or meter in
// flow statistics, table statistics, packet-in2), and its message stream decodes in 25 goroutines over one queue, so that
// replies overtake each other and a panic ends the process. This package needs few kinds of messages: hello, error, echo,
// barrier and bundle replies, and table statistics. parse.go decodes them from bytes, every access behind a length check,
// and fuzz tests run it on arbitrary input. One goroutine reads the connection, so replies keep their order; a message
// has at most 64 KiB, which bounds what a reader allocates.
package openflow
