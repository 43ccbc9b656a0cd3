// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openings enters connections into conntrack that the fast path has carried from their SYN on (promotes them). The protocol, and what
// breaks without each of its steps, is docs/design/model/openings.pml. The fast path makes no such connections yet, so the agent does not
// use this package.
//
// What Linux 6.18 makes of an entry that is created over netlink (TestKernel):
//
//   - Data, FINs and RSTs of either end pass, whichever sends first, while new connections are denied. States and the fate of the next SYN
//     with the same ports are the same as for a connection that conntrack has seen from the beginning.
//   - Without FlagLiberal it takes windows as they are in the next segments, unscaled, and calls later segments invalid.
//   - A half-closed connection without FlagCloseInit ends in a state in which no rule judges the next SYN with the same ports.
//   - After a RST of the answerer no rule judges that SYN, for nf_conntrack_tcp_timeout_close. This also holds for ordinary connections.
//   - It drops the label silently where no rule or datapath uses labels.
//
// An agent cannot compare and swap in a map: Untracked needs a program that it runs (BPF_PROG_TEST_RUN).
package openings
