/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* All outcomes for a packet, counted per program. Go names, metrics and documentation are derived from this enum. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "consts.h"

enum onc_reason {
	/* The packet took the fast path. */
	ONC_HIT,
	ONC_HIT_LOCAL,	   /* it did, from one Pod of this Node to another */
	ONC_HIT_REWRITTEN, /* it did, rewritten instead of encapsulated */
	ONC_OBSERVED,	   /* it would have, but the mode is observe */

	/* The kind of packet: these never take the fast path and get no ticket. */
	ONC_OFF,	  /* the fast path is switched off */
	ONC_NOT_IP,	  /* EtherType other than IPv4 and IPv6, or a VLAN tag */
	ONC_MALFORMED,	  /* lengths that contradict each other or the headers, wrong IPv4 header checksum */
	ONC_IP_OPTIONS,	  /* IPv4 options or IPv6 extension headers */
	ONC_FRAGMENT,	  /* a fragment */
	ONC_PROTOCOL,	  /* neither TCP nor UDP */
	ONC_TCP_FLAGS,	  /* SYN, FIN or RST (ends the entry), or no ACK: conntrack must see it */
	ONC_TTL,	  /* TTL or hop limit would reach 0 */
	ONC_NO_ENDPOINT,  /* not the interface of a Pod that the agent has announced */
	ONC_NOT_REMOTE,	  /* the peer is in no remote Node's Pod network, and no announced Pod of this Node */
	ONC_NOT_TUNNEL,	  /* uplink packet that is not a tunnel packet for this Node */
	ONC_OUTER_HEADER, /* tunnel packet with an unexpected outer or tunnel header */
	ONC_OUTER_SOURCE, /* outer source is not the Node that owns the inner source */

	/* Why there was no hit. The packet got a ticket; for ONC_NO_ENTRY only if it is worth learning from.
	 * ONC_NO_ENTRY is the first and ONC_LEASE the last of these reasons. */
	ONC_NO_ENTRY,	    /* flow not in the cache */
	ONC_NOT_PROVED,	    /* TCP: the other direction has not been seen yet */
	ONC_STALE_ENDPOINT, /* evicted by the Pod's generation */
	ONC_STALE_NODE,	    /* evicted by the Node's generation, or reached in another way now */
	ONC_STALE_ALL,	    /* evicted by the global generation */
	ONC_LEASE,	    /* lease over or near its end: this packet is a probe to Open vSwitch */

	/* The entry is good, but not for this packet. */
	ONC_SPOOF,   /* interface or MAC is not the one of the entry's Pod; to the gateway, not the entry's */
	ONC_MTU,     /* does not fit the route to the Node, in the tunnel if it goes there, or the local Pod's device */
	ONC_ECN,     /* congestion mark on a packet that cannot carry it */
	ONC_OFFLOAD, /* the kernel cannot (de)capsulate this packet here */

	/* The fate of tickets at Egress-Init and Ingress-Init. */
	ONC_LEARNED,	     /* entry written */
	ONC_RENEWED,	     /* entry confirmed for another lease */
	ONC_NO_AGENT,	     /* the agent has not maintained conntrack for too long */
	ONC_NOT_ESTABLISHED, /* Open vSwitch put no epoch on it */
	ONC_STALE_EPOCH,     /* decided by rules older than the endpoint's current epoch */
	ONC_NO_TICKET,	     /* the slot holds another packet's ticket */
	ONC_REWRITTEN,	     /* Open vSwitch or the host changed more than TTL and MACs (NAT, DSCP, mark, priority) */
	ONC_TEMPLATE,	     /* outer header is not the Node's, or cannot be cached (checksum, options) */
	ONC_SHARE,	     /* the map is nearly full, and the Pod has its share of it */

	ONC_UNKNOWN_KEY, /* rewritten packet with a key that its sender was not given, or long ago: dropped */
	ONC_TOO_LONG,	 /* rewritten packet for which Open vSwitch would decide, too long for the tunnel: dropped */
	ONC_NO_ROOM,	 /* the same, but the kernel had no room for the tunnel's headers: also dropped */

	/* Never expected: the packet could not be completed after it had been changed. */
	ONC_DROPPED,

	/* Ingress counts these in addition to another reason. */
	ONC_RESTORED, /* rewritten packet for which Open vSwitch decides: encapsulated again */
	ONC_NO_KEY,   /* no key was free for the packet's flow */

	/* SYNs, with openings. Egress and Ingress count the first in addition to ONC_TCP_FLAGS. */
	ONC_WOULD_OPEN,	     /* Open vSwitch let the last one of the same client, server and port pass */
	ONC_OPENING_LEARNED, /* opening written */
	ONC_OPENING_RENEWED, /* opening confirmed for another lease */

	/* Segments of untracked connections, with openings. */
	ONC_HIT_UNTRACKED, /* it took the fast path, from the SYN on */
	ONC_HELD_BACK,	   /* dropped, and its sender repeats it: the connection is about to become Open vSwitch's */

	ONC_REASONS
};

/* Returned by a check that finds nothing against the fast path. It equals ONC_HIT, so that every other reason is true
 * in a condition. Only the code that has forwarded the packet returns ONC_HIT. */
#define ONC_OK ONC_HIT

/* Stands for ONC_TCP_FLAGS in a packet that opens or ends a connection. It is not counted. */
#define ONC_END ONC_REASONS

enum onc_program { ONC_EGRESS, ONC_EGRESS_INIT, ONC_INGRESS, ONC_INGRESS_INIT, ONC_PROGRAMS };

/* because returns its argument after a failed test. Without it clang loads the reason before each test, in case the
 * test fails: such loads were one in eleven of the programs' instructions. */
static __always_inline enum onc_reason because(enum onc_reason reason)
{
	asm volatile("" : "+r"(reason));
	if (reason == ONC_OK)
		__builtin_unreachable();
	return reason;
}

/* concerns_flow: the packet must be looked at again, because it ends its flow or may get a ticket. Hits need one
 * comparison. */
static __always_inline bool concerns_flow(enum onc_reason reason)
{
	return unlikely(reason >= ONC_NO_ENTRY) && (reason <= ONC_LEASE || reason == ONC_END);
}

/* forget_reason hides a reason from the verifier, for which any is an unknown number: it would walk what follows once
 * for each reason. */
static __always_inline enum onc_reason forget_reason(enum onc_reason reason, __u32 any)
{
	asm volatile("%0 ^= %1\n\t%0 ^= %1" : "+r"(reason) : "r"(any));
	return reason;
}

/* as_miss is the reason of a packet that gets a ticket, perhaps: after a SYN-ACK has ended its flow, there is no entry.
 * Without a branch, after which the verifier would know the reason. */
static __always_inline enum onc_reason as_miss(enum onc_reason reason)
{
	return reason - (ONC_END - ONC_NO_ENTRY) * (reason == ONC_END);
}
