/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The last step of a hit: the packet goes to a Pod of this Node. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* deliver hands the packet to the Pod behind ifindex: straight to its side of the device, or across the device, as all
 * packets of the slow path go. */
static __always_inline void deliver(struct __sk_buff *skb, __u32 ifindex, bool across)
{
	/* Crossing into the Pod's namespace clears this on the slow path. */
	skb->mark = 0;
	skb->priority = 0;
	skb->tc_index = 0;
	if (across)
		bpf_redirect(ifindex, 0);
	else
		bpf_redirect_peer(ifindex, 0);
}
