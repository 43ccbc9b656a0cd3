// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openflow changes the flows, groups and meters of one OVS bridge over its OpenFlow management socket
// (<rundir>/<bridge>.mgmt), and exchanges packets with it.
//
// # What it does
//
// A Flow is a plain value: table, priority, cookie, matches and actions. Flow.Key identifies it in the switch, and
// Flow.Key and Flow.String are in the syntax of ovs-ofctl(8), so that they can be compared with a dump. Constructors
// such as IPv4Dst and Reg make the matches. A GroupEntry has buckets of
// actions, a MeterEntry a rate.
//
// A Switch applies them. NewSwitch returns the real one, NewFake one in memory for tests of pipelines. Commit, for flows, and
// Apply, for a Transaction of groups and flows, send one atomic bundle: afterwards all mods are in the tables or none is. The
// error is a *FlowError or *GroupError that names what the switch refused, and wraps the *Error of the switch. OpenFlow has no
// bundles for meters; Apply sends their changes before and after the bundle. When the connection is lost, the
// client dials again by itself and reports it on Connect's channel. It does not replay anything, since only its user knows what
// should be there. Delays between attempts grow (package retry), and the log has one line per outage.
//
// # Groups after a restart
//
// A restarted agent recognizes the flows of the former one by their cookies. A group has nothing but its id. Therefore GroupIDs
// gives each agent ids that the switch does not have: a restarted agent first reads the groups (DumpGroups), reserves their ids,
// and uses others for its own. Once all its own groups and flows are installed, groups with other ids are stale (GroupIDs.Stale).
// One Transaction deletes them (StaleGroupMods), after the deletion of the old flows: the deletion of a group also deletes flows
// that still point to it. The agent does so in pkg/agent/openflow/flowstore.
//
// # Packets
//
// A Controller action sends a packet to the connections with its controller id. PacketIns opens a connection for one id, with a
// bounded queue: packets that do not fit are dropped and counted, so that a flood of packets neither uses up memory nor delays
// anything else, the packets of other senders included. The switch keeps nothing of the packets of a Controller with Pause: the PacketIn has the whole state, and Resume
// returns it.
//
// # Liveness
//
// A hung vswitchd keeps its sockets open. So the client sends an echo request every 5 s, and ends the connection when six of them
// have brought no sign of life: a message, or room for more data in the socket. Waiting calls then return
// ErrDisconnected, and later calls fail at once. An open bundle is dropped with the connection. A bundle whose commit was sent may
// be applied when vswitchd continues. That happens before it answers the handshake of the next connection, because a bundle's
// commit is sent only when everything before it was answered, and the agent sends one bundle at a time. So changes that are sent
// after the reconnection are applied last.
//
// # On the wire
//
// The protocol is OpenFlow 1.3 with Nicira's extended matches and actions (OVS's nicira-ext.h) and the bundles of ONF
// extension 230, which OVS speaks on 1.3. WithOpenFlow15 makes it OpenFlow 1.5, which a group with a Selection needs:
// OVS has no message for it in 1.3, and a connection has one version. OVS checks a flow when it is added to a bundle. A
// flow that fails the check is left out, but the bundle remains valid: a commit sent right behind the flows would
// commit the rest. Commit therefore sends open, all flows and close in one write, checks the replies up to that to
// close, and only then sends commit and a barrier, or discard, in a second write.
//
// github.com/contiv/libOpenflow encodes what it gets right: fields of matches, output, dec_ttl, set_field, load,
// move, resubmit, conjunction and goto_table. The rest is encoded here, because the library lacks it or gets it wrong:
//
//   - flow mods: it sends out_port twice, so that a deletion restricted to a port or a group would delete every flow;
//   - lengths: it counts in 16 bits and wraps around, so messages that are too long are refused here;
//   - groups, meters, learn, controller2, ct with nat, masked set_field, packet-out, OpenFlow 1.5, and newer fields.
//
// No message of the switch reaches the library. Its decoder panics on ordinary messages (ip_frag, nw_ttl or meter in flow
// statistics, table statistics, packet-in2), and its message stream decodes in 25 goroutines over one queue, so that replies
// overtake each other and a panic ends the process. The switch's messages are decoded here, with a length check before every
// access, and fuzz tests run the decoders on arbitrary input and on messages of a real switch. One goroutine
// reads a connection, so replies keep their order. A message has at most 64 KiB, and an answer a bounded number of messages, which
// bounds what a reader allocates.
package openflow
