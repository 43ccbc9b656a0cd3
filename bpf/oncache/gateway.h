/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The gateway's interface, through which the host's own stack sends to Pods and receives from them. It is an endpoint
 * like a Pod's interface, with a slot of its own, and differs in this:
 *
 *  - Hits of Egress leave where the interface transmits. Hits of Ingress enter where it receives, before netfilter and
 *    the sockets see the packet.
 *  - Open vSwitch does not decrement the TTL of what the host sends, and does not change the source MAC address of what
 *    the host receives.
 *  - The host also forwards packets of others. Only what it sends itself is learned. */
#pragma once

#include "candidate.h"
#include "flow.h"
#include "maps.h"
#include "outer.h"
#include "parse.h"

/* foreign_mark: another program has marked the packet. On the slow path, the route of the outer packet may
 * depend on it. */
static __always_inline bool foreign_mark(const struct __sk_buff *skb)
{
	return skb->mark & ~(MARK_OURS | MARK_NODE);
}

/* own_socket: the packet is one of a socket of this host. The connection then ends here, whatever the host's netfilter
 * has made of its addresses. A super-packet of the fast path still looks like a tunnel packet to the kernel, and must
 * not be forwarded by a device that would segment it as one. */
static __always_inline bool own_socket(const struct __sk_buff *skb)
{
	return skb->sk;
}

/* not_routed makes a ticket expect the TTL that the packet has. */
static __always_inline void not_routed(struct packet *p)
{
	p->ttl++;
}

/* same_sender: the inner source MAC address is the one with which Open vSwitch has delivered a packet of the flow. */
static __always_inline bool same_sender(const struct __sk_buff *skb, const struct outer *o, const __u8 *macs)
{
	struct ethhdr *inner = start(skb) + o->len - L2_LEN;

	return (void *)(inner + 1) <= end(skb) && same_mac(inner->h_source, macs + ETH_ALEN);
}

/* ask_host deals with a packet to the gateway whose flow has no entry in the other direction: the connection may not
 * be one of a socket. The host's next packet tells, if there is one. The packets of p are looked at rarely until then.
 */
static __always_inline void ask_host(const struct packet *p, const struct packet *back)
{
	expect(back);
	note_rare(p);
}
