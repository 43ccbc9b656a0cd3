/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* The kernel's knowledge of a packet besides its bytes (include/linux/skbuff.h): what its checksum field contains
 * (ip_summed), and whether it has inner headers (encapsulation). With the former the checksum can be written directly;
 * bpf_l4_csum_replace, which looks for itself, takes some 100 instructions. */
#pragma once

#include "../maps.h"

/* Values of ip_summed. Complete: the network card has added up the packet, and the sum in the packet's state changes
 * with it. Partial: a device is to complete the checksum, and the field has the sum of the pseudo header. */
#define SUMMED_COMPLETE 2
#define SUMMED_PARTIAL 3

/* Since Linux 6.2. The verifier replaces it with its argument. */
extern void *bpf_cast_to_kern_ctx(void *skb) __ksym __weak;

/* summed returns ip_summed. summed_at must not be 0. */
static __always_inline __u32 summed(struct __sk_buff *skb)
{
	const __u8 *kernel = bpf_cast_to_kern_ctx(skb);

	return kernel[summed_at] >> summed_shift & 3;
}

/* nested: the packet has inner headers, of a Pod's own tunnel, or of a tunnel that it has left. */
static __always_inline bool nested(struct __sk_buff *skb)
{
	const __u8 *kernel;

	if (!nested_at)
		return false;
	kernel = bpf_cast_to_kern_ctx(skb);
	return kernel[nested_at] & nested_bit;
}
