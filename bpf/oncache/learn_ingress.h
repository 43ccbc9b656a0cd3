/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Ingress-Init runs where packets leave the host toward a Pod. It learns from packets with a ticket of Ingress
 * (ingress.h): the entry of the flow. Packets to the host itself have an Ingress-Init of their own (gateway.h); for
 * packets of a Pod of this Node, Ingress-Init uses learn_local.h. */
#pragma once

#include "candidate.h"
#include "enter.h"
#include "flow.h"
#include "gateway.h"
#include "learn.h"
#include "maps.h"
#include "node.h"
#include "openings.h"
#include "parse.h"
#include "ticket.h"
#include "translation.h"

/* own_ingress finds the present entry of a flow, and says whether it has the same translation and MAC addresses. */
static __always_inline struct onc_ingress *own_ingress(const struct packet *p, const struct onc_ingress *fresh,
						       bool *same)
{
	struct onc_ingress *own;

	if (p->ipv6) {
		own = bpf_map_lookup_elem(&ingress_flows6, &p->key6);
		*same = own && same_translation(&own->to, &fresh->to, true) && same_macs(own->macs, fresh->macs);
	} else {
		own = bpf_map_lookup_elem(&ingress_flows4, &p->key4);
		*same = own && same_translation(&own->to, &fresh->to, false) && same_macs(own->macs, fresh->macs);
	}
	return own;
}

/* learn_ingress makes or renews the entry of a packet that was found to be good. */
static __always_inline enum onc_reason learn_ingress(const struct lesson *l, const struct redeemed *t, bool gateway,
						     struct onc_ingress *fresh)
{
	struct onc_validity *other;
	struct onc_ingress *own;
	bool same;

	fresh->v.tag = flow_hash(l->p);
	if (fresh->to.port && doubtful(t, l->p)) {
		own_ingress(l->p, fresh, &same);
		if (!same)
			return ONC_NO_TICKET;
	}
	other = other_of_ingress(l->back, l->p, fresh->to.port);
	if (opens_or_ends(l->p) && !may_begin(l->p, l->back, other))
		return ONC_TCP_FLAGS;
	if (gateway && !other) {
		ask_host(l->p, l->back);
		return ONC_NOT_PROVED;
	}
	if (!admit(l, &fresh->v, other, as_valid(other, &fresh->v), fresh->to.port))
		return ONC_SHARE;
	if (has_openings && is_syn_ack(l->p) && !fresh->to.port)
		prove_opening(l->c, l->back, &fresh->v, fresh->macs);
	own = own_ingress(l->p, fresh, &same);
	return enter_ingress(l, own, fresh, same);
}

/* ingress_init learns from a packet that has come through the tunnel. Not inline: it and ingress_init_local each need
 * most of the stack. */
static __noinline enum onc_reason ingress_init(struct __sk_buff *skb, const struct onc_control *c, __u32 mark,
					       bool gateway)
{
	struct onc_ingress fresh = {};
	struct packet p = {}, back = {};
	struct onc_endpoint *ep;
	struct redeemed t;
	struct onc_node *node;
	struct ethhdr *eth;
	__s64 endpoint_slot, node_slot;
	enum onc_reason reason;

	if (skb->vlan_present)
		return ONC_NOT_IP;
	pull(skb, L2_LEN + IP6_LEN + TCP_LEN);
	reason = parse_learned(skb, L2_LEN, skb->protocol, &p, has_openings && !gateway);
	if (reason)
		return reason;
	reason = redeem(mark, ONC_INGRESS, 1, &p, &back, &t, &fresh.to);
	if (gateway && reason == ONC_NO_TICKET && came_out_here(mark, &p)) {
		note_rare(&p);
		return ONC_NOT_REMOTE;
	}
	/* Its own end is translated: the host forwards it. */
	if (gateway && reason == ONC_REWRITTEN)
		note_rare(&p);
	if (reason)
		return reason;
	if (fresh.to.port && to_another_pod(&p, &back, ONC_INGRESS))
		return ONC_REWRITTEN;
	endpoint_slot = endpoint_of(skb->ifindex);
	if (endpoint_slot < 0)
		return ONC_NO_ENDPOINT;
	/* Only the owner of the inner source address may send the packet. */
	node_slot = node_of_source(&p);
	if (node_slot < 0)
		return ONC_NOT_REMOTE;
	ep = get_endpoint(endpoint_slot);
	node = get_node(node_slot);
	if (!ep || !node)
		return ONC_NO_ENDPOINT;
	reason = now_valid(&fresh.v, c, endpoint_slot, ep, node_slot, node, teaching_mark(&p, mark));
	/* The host has not opened it. */
	if (gateway && reason == ONC_NOT_ESTABLISHED)
		note_rare(&p);
	if (reason)
		return reason;
	eth = (void *)(long)skb->data;
	if ((void *)(eth + 1) > (void *)(long)skb->data_end || ep->ifindex != skb->ifindex || !received_by(&p, ep) ||
	    !same_mac(eth->h_dest, ep->mac))
		return ONC_NO_ENDPOINT;
	if (has_openings && is_syn(&p))
		return learn_opening(c, &p, (struct onc_opening *)&fresh, eth, fresh.to.port, &back.key6);
	__builtin_memcpy(fresh.macs, eth, sizeof(fresh.macs));
	return learn_ingress(&(struct lesson){c, &p, &back, &back, ONC_INGRESS, skb->len - L2_LEN}, &t, gateway,
			     &fresh);
}
