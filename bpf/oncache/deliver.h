/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The last step of a hit: the packet goes to a Pod of this Node. */
#pragma once

#include "order.h"

/* deliver hands the packet to the Pod behind ifindex, where its side of the device receives it at once, or through the
 * queue in which packets of the slow path wait for that. */
static __always_inline void deliver(struct __sk_buff *skb, __u32 ifindex, bool queue)
{
	/* Crossing into the Pod's namespace clears this on the slow path. */
	skb->mark = 0;
	skb->priority = 0;
	skb->tc_index = 0;
	if (queue)
		bpf_redirect(ifindex, 0);
	else
		bpf_redirect_peer(ifindex, 0);
}
