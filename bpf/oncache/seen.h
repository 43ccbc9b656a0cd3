/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The segments that conntrack misses: each entry records what conntrack would know of the flow's last packet, and the
 * agent is told when conntrack has seen one. docs/design/oncache-conntrack.md explains how the agent uses that. */
#pragma once

#include "flow.h"

/* see_segment records everything about a TCP segment except its acknowledgment. */
static __always_inline void see_segment(struct onc_seen *s, const struct packet *p, __u32 length)
{
	__u32 data = length - p->headers_len;

	s->end = bpf_ntohl(p->l4) + data;
	s->window = p->flags >> 16;
	s->length = data;
}

/* see records a packet of length bytes, counted from its IP header. Acknowledgments may arrive out of order. */
static __always_inline void see(struct onc_seen *s, const struct packet *p, __u32 length)
{
	__u32 ack;

	s->at = bpf_jiffies64();
	if (p->udp)
		return;
	see_segment(s, p, length);
	ack = bpf_ntohl(p->ack);
	if ((__s32)(ack - s->ack) > 0)
		s->ack = ack;
}

/* see_first records the packet from which a new entry is learned. Unlike a hit's packet it may be a SYN-ACK, and a SYN
 * takes a sequence number. */
static __always_inline void see_first(struct onc_seen *s, const struct packet *p, __u32 length)
{
	s->at = bpf_jiffies64();
	if (p->udp)
		return;
	see_segment(s, p, length);
	s->end += !!(p->flags & TCP_FLAG_SYN);
	s->ack = bpf_ntohl(p->ack);
}

/* tell_passed tells the agent that conntrack has seen a segment of a flow if the flow is on the fast path: for other
 * flows it sees everything. sent has the 5-tuple of what the local Pod sends, and nothing else. It is called when the
 * entry of v is in the map: the agent leaves connections alone that have none. When the buffer is full, the agent finds
 * the flow once it has become idle. */
static __always_inline void tell_passed(const struct packet *sent, const struct onc_validity *v)
{
	struct onc_passed event = {};

	if ((sent->ipv6 ? sent->key6.proto : sent->key4.proto) != IPPROTO_TCP || v->proved != PROVED_BOTH)
		return;
	as_flow6(sent, &event.flow);
	bpf_ringbuf_output(&passed, &event, sizeof(event), 0);
}

/* The agent looks within some 20 ms whether a flow that it was told of still has an entry. */
#define LOOKED_FOR_NS 100000000ull

/* tell_over tells the agent that a flow is over which it may be about to look for: that would take it as long as the
 * whole connection takes here. sent has the 5-tuple of what the local Pod sends. It is called before entry e is
 * deleted. Otherwise a new connection with the same addresses and ports could be told of in between. */
static __always_inline void tell_over(const struct packet *sent, const struct onc_egress *e)
{
	struct onc_passed *event;

	if (e->v.proved != PROVED_BOTH || bpf_ktime_get_coarse_ns() - e->created >= LOOKED_FOR_NS)
		return;
	event = bpf_ringbuf_reserve(&passed, sizeof(*event), 0);
	if (!event)
		return;
	as_flow6(sent, &event->flow);
	event->over = 1;
	__builtin_memset(event->pad, 0, sizeof(event->pad));
	bpf_ringbuf_submit(event, 0);
}
