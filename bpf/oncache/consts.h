/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Constants and types that the programs, Open vSwitch and the agent agree on. */
#pragma once

#include <linux/types.h>

/* For copying memory of unknown alignment, such as packets, or several fields at once: __builtin_memcpy copies single
 * bytes of it. */
typedef __u64 __attribute__((__may_alias__)) word8;
typedef __u32 __attribute__((__may_alias__)) word4;

/* skb->mark. Antrea uses bits 0-7, 30 and 31, kube-proxy 14 and 15; all bits that are not ours are left unchanged.
 * EPOCH is written by Open vSwitch: this packet's connection is established, and every stage of the pipeline allowed it
 * as of this epoch of the local endpoint. TICKET is written by Egress and Ingress: the number of the ticket that
 * records the packet. On the way to Open vSwitch the bits of EPOCH hold a stamp (stamp.h), which Open vSwitch removes.
 * No stamp with MARK_STAMP is an epoch, so one that is left over permits nothing. A SYN with a ticket has its stamp's
 * number alone, and teaches only if MARK_OPENING is set beside an epoch (openings/). */
#define MARK_EPOCH_SHIFT 20
#define MARK_EPOCH_MASK 0x3ff00000u
#define MARK_STAMP 0x20000000u /* set in no epoch, and in every stamp, except beside the ticket of a SYN */
#define STAMP_NUMBER_MASK 0x1ffu
#define MARK_OPENING 0x20000000u /* beside an epoch: Open vSwitch has let the packet open a connection */
#define MARK_TICKET_MASK 0x000f3f00u
#define MARK_OURS (MARK_EPOCH_MASK | MARK_TICKET_MASK)

#define MARK_NODE 0x80000000u /* set by iptables in packets that the host itself sends to the bridge */

#define MAX_EPOCH 511

/* skb->priority of a packet for which Open vSwitch has chosen queue 0 (dpif_netlink_queue_to_priority); the
 * priority of the next queue is one more. In packets between Pods of this Node the queue is the receiver's epoch. The
 * kernel clears the priority when a packet enters or leaves a Pod. */
#define QUEUE_PRIORITY 0x10001u

#define TICKETS 1024 /* 10 bits of mark; slot 0 stays empty because mark 0 means no ticket */

#define CANDIDATE_BITS 15 /* cells for flows that have missed once, 8 bytes each */

#define PASSED_BYTES (1 << 19)	/* a power of two, 56 for each event */
#define RETIRED_BYTES (1 << 20) /* 11,000 unread entries */

#define ENDPOINT_SLOTS 1024	/* local Pods: the Kubernetes limit is 110 by default, 512 on the largest Nodes */
#define FLOW_MAPS 4		/* egress and ingress, IPv4 and IPv6: 2 * (IPv6) + (ingress) */
#define SERVICE_ADDRESSES 65536 /* with an Endpoint that is a Pod; the others stay on Open vSwitch */
#define NODE_SLOTS 8192		/* remote Nodes: Kubernetes supports 5,000 */
#define KEYS 65536		/* source ports; 0 means none */
#define OPENINGS 65536		/* client, server and port, of local Pods */
#define UNTRACKED 65536		/* connections of local Pods */
#define UNTRACKED_SHARE 16384	/* of one Pod */
#define BAR_ELEMENTS 4096	/* of 1,024 bars each */

/* Header lengths in bytes. IP and tunnel headers of the packets that we handle have no options or extensions. */
#define L2_LEN 14
#define IP4_LEN 20
#define IP6_LEN 40
#define UDP_LEN 8
#define TUNNEL_LEN 8 /* Geneve (RFC 8926) without options, VXLAN (RFC 7348) */
#define ENCAP4_LEN (IP4_LEN + UDP_LEN + TUNNEL_LEN + L2_LEN)
#define ENCAP6_LEN (IP6_LEN + UDP_LEN + TUNNEL_LEN + L2_LEN)
#define OUTER4_LEN (L2_LEN + ENCAP4_LEN) /* all bytes in front of the inner IP header */
#define OUTER6_LEN (L2_LEN + ENCAP6_LEN)
#define TCP_LEN 20
#define IP4_DF 0x4000 /* "don't fragment", in host byte order */

/* Keep the hit path straight-line in the machine code, and everything else behind it. */
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#define TC_NEXT (-1)  /* TCX_NEXT and TC_ACT_UNSPEC: not ours, ask the next program */
#define TC_REDIRECT 7 /* TC_ACT_REDIRECT: what bpf_redirect returns if its arguments are right */
#define TC_SHOT                                                                                                        \
	2 /* TC_ACT_SHOT: drop, and counted; after a packet was changed half-way, or if it is of no further use */

/* onc_control.mode */
#define MODE_OFF 0     /* every packet takes the slow path, nothing is learned */
#define MODE_OBSERVE 1 /* entries are learned and hits counted, but every packet takes the slow path */
#define MODE_ENFORCE 2 /* hits take the fast path */

/* The two ECN bits of TOS and traffic class (RFC 3168). */
#define ECN_MASK 3
#define ECN_NOT_ECT 0
#define ECN_ECT_1 1
#define ECN_ECT_0 2
#define ECN_CE 3
