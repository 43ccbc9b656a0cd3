/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* How a key (keys.h) gets from the receiver of a flow, which gives and tells it, to the sender, which hears it. Each
 * Node is the receiver of one direction of a connection and the sender of the other.
 *
 * Most of this runs once in many packets, so it reads the packet again, and hits pass nothing to it. */
#pragma once

#include "../flow.h"
#include "../learn.h"
#include "../maps.h"
#include "../node.h"
#include "../outer.h"
#include "../parse.h"
#include "../translation.h"
#include "keys.h"

/* An ingress entry's flow is given a key at this hit, or again after that number if it is not used: the other direction
 * was not known, its entry is a new one, or no key was free. */
#define KEY_HITS 16
#define KEY_AGAIN 64

/* is_due: the hit of the entry is one at which its flow is given a key. */
static __always_inline bool is_due(const struct onc_ingress *f)
{
	return f->packets % KEY_AGAIN == KEY_HITS;
}

/* give_key gives a key to the flow in, if the Node that sends it understands keys. out is the entry of the other
 * direction, whose next packet tells it. Flows to the gateway get none. */
static __always_inline void give_key(const struct onc_control *c, const struct packet *in,
				     const struct onc_endpoint *ep, const struct onc_node *node, struct onc_egress *out)
{
	__be32 owner[4] = {};
	__u32 key;

	if ((__s64)(bpf_jiffies64() - c->keys_from) < 0 || !tells(c, node) || ep->flags & ENDPOINT_GATEWAY ||
	    reached_by_ip6(node) != in->ipv6 || in->tos & ~ECN_MASK || !in->whole)
		return;
	if (in->ipv6)
		__builtin_memcpy(owner, node->ip6, sizeof(owner));
	else
		owner[0] = node->ip4;
	key = key_for(c, in, owner);
	if (!key) {
		count(ONC_INGRESS, ONC_NO_KEY);
	} else if (out->keys.tell != key) {
		*(volatile __u16 *)&out->keys.tell = key;
		out->keys.due = key_time(bpf_jiffies64());
	}
}

/* How long no key is told if there is none, in jiffies: half of the range of the time in struct onc_keys. */
#define KEY_NEVER (0x7fffffffull << 6)

/* answers: p, as a Pod of this Node sends it, belongs to the other direction of the element's flow. */
static __always_inline bool answers(const struct onc_restore *r, const struct packet *p, const struct onc_egress *f,
				    bool ipv6)
{
	if (r->ipv6 != ipv6)
		return false;
	if (ipv6) {
		struct onc_flow6 key = answer6(&p->key6, ONC_EGRESS, &f->to);
		return same6(&r->key6, &key);
	}
	struct onc_flow4 key = answer4(&p->key4, ONC_EGRESS, &f->to);
	return same4(&r->key4, &key);
}

/* tell_key returns the key to tell with the packet p, which a Pod sends, and its TTL, as a tunnel header has them in
 * its second word; or 0. The entry may have the key of a flow that had its memory before, so everything is compared.
 * The serial number is compared after the time was written: whoever takes the key sees that time, or has changed that
 * number. */
static __always_inline __u32 tell_key(const struct onc_control *c, const struct packet *p, struct onc_egress *f,
				      bool ipv6)
{
	__u32 key = *(volatile __u16 *)&f->keys.tell, serial;
	struct onc_node *node = get_node(f->v.node);
	struct onc_restore *r = get_restore(key);
	struct outer o = {};

	if (!r || !node)
		return 0;
	f->keys.due = key_time(bpf_jiffies64() + (key ? c->key_life / 8 : KEY_NEVER));
	if (!key)
		return 0;
	o.ipv6 = reached_by_ip6(node);
	o.src4 = node->ip4;
	__builtin_memcpy(o.src6, node->ip6, sizeof(o.src6));
	serial = serial_of(r);
	if (!(serial & 1) && tells(c, node) && owned(r, &o) && answers(r, p, f, ipv6)) {
		__sync_lock_test_and_set(&r->told, bpf_jiffies64());
		if (serial_of(r) == serial)
			return bpf_htonl(key << 16 | r->ttl << 8);
	}
	*(volatile __u16 *)&f->keys.tell = 0;
	return 0;
}

/* key_told is tell_key for a packet that is read again. */
static __noinline int key_told(struct __sk_buff *skb)
{
	struct onc_control *c = get_control();
	struct packet p = {};
	struct onc_egress *f;

	if (!c || !reread_egress(skb, &p))
		return 0;
	if (p.ipv6) {
		f = bpf_map_lookup_elem(&egress_flows6, &p.key6);
		return f ? tell_key(c, &p, f, true) : 0;
	}
	f = bpf_map_lookup_elem(&egress_flows4, &p.key4);
	return f ? tell_key(c, &p, f, false) : 0;
}

/* told returns what key_told returns if it is time to tell the entry's other key: eight times in a key's life, so that
 * losses do no harm. New entries, which have none, find that out at once. */
static __always_inline __u32 told(struct __sk_buff *skb, const struct onc_egress *f)
{
	if (likely((__s32)(key_time(bpf_jiffies64()) - f->keys.due) < 0))
		return 0;
	return key_told(skb);
}

/* forget_key makes a tunnel packet that Open vSwitch gets one that tells no key: Open vSwitch makes a flow of its own
 * for each VNI. The outer headers have been checked. */
static __noinline int forget_key(struct __sk_buff *skb)
{
	__u32 off = (skb->protocol == ether_type_of(true) ? OUTER6_LEN : OUTER4_LEN) - L2_LEN - sizeof(__u32), vni;
	struct onc_control *c = get_control();

	if (!c || bpf_skb_load_bytes(skb, off, &vni, sizeof(vni)) || vni == *(const __u32 *)&c->tunnel_header[4])
		return 0;
	return bpf_skb_store_bytes(skb, off, &c->tunnel_header[4], sizeof(vni), BPF_F_RECOMPUTE_CSUM);
}

/* hear_key keeps the key that was told with a packet of the flow in with the entry of the other direction, whose
 * packets are as back when the Pod sends them. While an entry is valid, the Node's addresses do not change. A Node that
 * uses another port may not know yet that this one does not. */
static __always_inline void hear_key(const struct onc_control *c, const struct packet *in, const struct packet *back,
				     const struct onc_node *node, __u32 vni, struct onc_egress *out)
{
	__u64 until = key_time(bpf_jiffies64() + c->key_life) & 0xffffff;
	struct packet wire = {};
	const __be32 *addrs;

	if (!(node->flags & NODE_REWRITES))
		return;
	if (back->ipv6) {
		addrs = (const __be32 *)&((const struct ipv6hdr *)(node->header + L2_LEN))->saddr;
		*(volatile __u16 *)&out->keys.change =
			change_of(back->key6.saddr, back->key6.daddr, addrs, addrs + 4, 4);
	} else {
		addrs = &((const struct iphdr *)(node->header + L2_LEN))->saddr;
		*(volatile __u16 *)&out->keys.change =
			change_of(&back->key4.saddr, &back->key4.daddr, addrs, addrs + 1, 1);
	}
	reverse(in, &wire);
	*(volatile __u64 *)&out->keys.heard =
		(__u64)(vni >> 16) << 48 | until << 24 | heard_tag(flow_hash(&wire), vni >> 8);
}

/* The exchange of a hit: a key that it tells is in the first three bytes, as in the VNI; EXCHANGE_DUE: its flow may be
 * given one. */
#define EXCHANGE_DUE bpf_htonl(1)

/* told_vni returns the second word of the tunnel header, as far as it differs from packets that tell no key. */
static __always_inline __be32 told_vni(const struct __sk_buff *skb, const struct onc_control *c, const struct outer *o)
{
	__be32 *vni = start(skb) + o->len - L2_LEN - sizeof(*vni);

	return (void *)(vni + 1) <= end(skb) ? *vni ^ *(const __be32 *)&c->tunnel_header[4] : 0;
}

/* to_exchange returns what a hit of entry f is to exchange, or 0. */
static __always_inline __u32 to_exchange(const struct __sk_buff *skb, const struct onc_control *c,
					 const struct outer *o, const struct onc_ingress *f)
{
	return told_vni(skb, c, o) | (unlikely(is_due(f)) ? EXCHANGE_DUE : 0);
}

/* ends_of finds the entries of the connection of p, which is as the Pod receives it: the Pod's answers, and
 * from it p's own. in gets the 5-tuple of p as it was in the tunnel. */
static __always_inline struct onc_egress *ends_of(const struct packet *p, struct packet *in, struct packet *back,
						  struct onc_validity **v)
{
	struct onc_ingress *own = NULL;
	struct onc_egress *out;

	reverse(p, back);
	if (p->ipv6) {
		out = bpf_map_lookup_elem(&egress_flows6, &back->key6);
		if (!out)
			return NULL;
		in->key6 = answer6(&back->key6, ONC_EGRESS, &out->to);
		own = bpf_map_lookup_elem(&ingress_flows6, &in->key6);
	} else {
		out = bpf_map_lookup_elem(&egress_flows4, &back->key4);
		if (!out)
			return NULL;
		in->key4 = answer4(&back->key4, ONC_EGRESS, &out->to);
		own = bpf_map_lookup_elem(&ingress_flows4, &in->key4);
	}
	in->ipv6 = p->ipv6;
	*v = own ? &own->v : NULL;
	return out;
}

/* exchange_keys is for a packet of the tunnel that is a hit and has been decapsulated: it keeps the key that the packet
 * told, and gives one to its flow, if that is due. It runs here, and not before, because Linux would verify it once for
 * each way to there. */
static __noinline int exchange_keys(struct __sk_buff *skb, __u32 exchange)
{
	__u32 vni = exchange & ~EXCHANGE_DUE;
	struct onc_control *c = get_control();
	struct packet p = {}, in = {}, back = {};
	struct onc_validity *v = NULL;
	struct onc_endpoint *ep;
	struct onc_egress *out;
	struct onc_node *node;

	if (!c || !reread_egress(skb, &p))
		return 0;
	out = ends_of(&p, &in, &back, &v);
	if (!out || !v || !same_validity(&out->v, v))
		return 0;
	ep = get_endpoint(v->endpoint);
	node = get_node(v->node);
	if (!ep || !node)
		return 0;
	if (vni && reached_by_ip6(node) == p.ipv6)
		hear_key(c, &in, &back, node, bpf_ntohl(vni), out);
	if (exchange & EXCHANGE_DUE) {
		in.ttl = p.ttl + 1; /* it has been decremented */
		in.tos = p.tos;
		in.whole = p.whole;
		give_key(c, &in, ep, node, out);
	}
	return 0;
}
