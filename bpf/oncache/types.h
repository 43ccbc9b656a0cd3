/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) */
/* Copyright 2026 The antrea-oncache Authors. */
/* Structures shared with the agent (converted to Go by bpf2go; a test guards the layout). */
#pragma once

#include <linux/types.h>

/* 5-tuples in network byte order, exactly as the packet at the hook carries them. They are aligned so that both IPv4
 * addresses can be copied at once. */
struct onc_flow4 {
	__be32 saddr;
	__be32 daddr;
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 pad[3];
} __attribute__((aligned(8)));

struct onc_flow6 {
	__be32 saddr[4];
	__be32 daddr[4];
	__be16 sport;
	__be16 dport;
	__u8 proto;
	__u8 pad[3];
} __attribute__((aligned(8)));

/* proved: which directions of a flow have been seen since its generations began. */
#define PROVED_OWN 1
#define PROVED_OTHER 2
#define PROVED_BOTH (PROVED_OWN | PROVED_OTHER)

/* In onc_validity.node. Neither is a Node's slot, so the code for the tunnel finds no Node. */
#define LOCAL_PEER 0x8000  /* the peer is the local Pod in the slot that the other bits say */
#define DIRECT_PEER 0x4000 /* the Node in the slot that the other bits say is reached without the tunnel */

/* The conditions that every flow entry must meet to be used. Generations are compared with the slots'. The tag
 * is a hash of the key: an LRU map may give an element to another flow while a program reads it. It is compared last.
 * The design describes the effects of mixing two entries; the kernel does not specify the order in which it copies. */
struct onc_validity {
	__u32 tag;
	__u32 proved;
	__u64 lease; /* valid until, in jiffies: reading them needs no call, reading a clock three */
	__u16 endpoint;
	__u16 node;
	__u32 endpoint_gen;
	__u32 node_gen; /* generation of the Node or the local Pod that is the peer */
	__u32 all_gen;
	__u32 hash;   /* egress: the kernel's hash of the flow if its packets arrive without one, else 0 */
	__u32 probed; /* jiffies when a packet last went to Open vSwitch to renew the lease */
};

/* The last packet of an entry's direction. Conntrack does not see packets of the fast path; this tells the agent what
 * it would have seen. Sequence numbers are in host byte order; for UDP ack and window are 0. */
struct onc_seen {
	__u32 at;      /* jiffies */
	__u32 end;     /* TCP: sequence number after the last segment; UDP: see order.h */
	__u32 ack;     /* TCP: highest acknowledgment */
	__be16 window; /* TCP: window of the last segment, not scaled */
	__u16 length;  /* TCP: bytes of data in the last segment; UDP: 1 if end counts */
};

/* The address and port that Open vSwitch gives the peer, in a connection to a Service: on egress of the
 * destination, on ingress of the source. port 0: they stay as they are. source is set in an egress entry whose packets
 * get another source, not another destination: answers of an Endpoint to a client on the same Node. */
struct onc_translation {
	__be16 port;
	__u16 source;
	__be32 addr[4]; /* IPv4: the first */
};

struct onc_translation4 {
	__be16 port;
	__u16 source;
	__be32 addr;
};

/* The keys of an egress entry (keys.h): the one of this direction, and the one of the other direction, which the peer
 * is told. Times are in units of 64 jiffies.
 *
 * heard is a key that the peer has told: with it, packets of the flow may be rewritten. It is one word, so that
 * programs read and write it at once: bits 48-63 are the key (0: none), bits 24-47 when its use ends, bits 0-23 a tag.
 * The tag depends on the flow for which the key was told, because the LRU map may have given the element to another one
 * since, and on the TTL or hop limit of the flow's packets behind Open vSwitch. */
struct onc_keys {
	__u64 heard;
	__u16 tell;   /* the other key; 0: none */
	__u16 change; /* of a one's complement sum, when the flow's addresses become the Nodes'; written before heard */
	__u32 due;    /* when tell must be told next, if it is not 0 */
};

/* How every flow entry begins. */
struct onc_entry {
	struct onc_validity v;
	struct onc_seen seen;
	__u64 packets;
	__u64 bytes;
	__u64 created;
};

/* egress_flows6: key is the 5-tuple as the Pod sends it. The header to prepend is the Node's. */
struct onc_egress {
	struct onc_validity v;
	struct onc_seen seen;
	__u64 packets;
	__u64 bytes; /* frame length as the Pod sent it */
	__u64 created;
	struct onc_keys keys;
	struct onc_translation to;
	__u8 pad[4];
};

/* egress_flows4: the beginning of struct onc_egress. */
struct onc_egress4 {
	struct onc_validity v;
	struct onc_seen seen;
	__u64 packets;
	__u64 bytes;
	__u64 created;
	struct onc_keys keys;
	struct onc_translation4 to;
};

/* ingress_flows6: key is the inner 5-tuple as it arrives from the wire. */
struct onc_ingress {
	struct onc_validity v;
	struct onc_seen seen;
	__u64 packets;
	__u64 bytes; /* frame length as the Pod receives it */
	__u64 created;
	__u8 macs[12]; /* destination and source as Open vSwitch writes them */
	struct onc_translation to;
};

/* ingress_flows4: the beginning of struct onc_ingress. */
struct onc_ingress4 {
	struct onc_validity v;
	struct onc_seen seen;
	__u64 packets;
	__u64 bytes;
	__u64 created;
	__u8 macs[12];
	struct onc_translation4 to;
	__u8 pad[4];
};

/* An opening (openings/). The agent writes mark and label, the ones of the connection from which the opening was
 * learned, and then labelled: without it the opening is not used. */
struct onc_opening {
	struct onc_validity v;
	__u8 macs[12]; /* ingress: as in struct onc_ingress */
	__be16 taught; /* the client's port in that connection */
	__u16 labelled;
	__u32 mark;
	__u32 pad;
	__u64 packets; /* SYNs that it covered */
	__u64 created;
	__u64 label[2];
};

/* An untracked connection (openings/untracked.h). Index 0 of each pair is about the end that has opened it, index 1
 * about the end that answers. Sequence numbers are in host byte order. */
struct onc_untracked {
	__u64 word;  /* its state, WORD_*, and the sequence number of its SYN in the first 32 bits */
	__u64 began; /* ns of CLOCK_MONOTONIC_COARSE */
	__u64 packets[2];
	__u64 bytes[2]; /* frame lengths at the Pod's interface */
	__u64 label[2];
	__u32 mark;
	__u32 tag;     /* a hash of the key */
	__u32 ifindex; /* of the local Pod */
	__u16 endpoint;
	__u16 node;
	__u32 endpoint_gen; /* generations of the opening, at that time */
	__u32 node_gen;
	__u32 all_gen;
	__u32 ended[2]; /* sequence number after the last segment */
	__u32 acked[2]; /* last acknowledgment */
	__u8 macs[12];	/* of frames that the local Pod receives, as in struct onc_ingress */
	__u8 ingress;	/* the local Pod answers */
	__u8 pad[3];
};

/* The times at which Open vSwitch has last got a SYN of connections (openings/bars.h). */
struct onc_bars {
	__u64 fence;
	__u16 at[1024];
};

#define ENDPOINT_NETKIT 1  /* Egress runs when the Pod transmits, not when the host receives */
#define ENDPOINT_GATEWAY 2 /* not a Pod: the gateway's interface, behind which is this host's own stack */

/* A local Pod, or the gateway. Written by the agent only. Generation and epoch are one 64-bit word, so that eviction
 * and permission to learn change together; ifindex is written before a generation becomes current and cleared after it
 * has ended. */
struct onc_endpoint {
	__u32 generation;
	__u32 epoch; /* 1-511; 0: nothing may be learned */
	__u32 ifindex;
	__be32 ip4; /* 0: none */
	__be32 ip6[4];
	__u8 gateway_mac[6]; /* this and the next as in the Ethernet header of the packets that it sends */
	__u8 mac[6];
	__u32 last_epoch; /* last one that any mark flow of this Pod may carry; the agent's memory across restarts */
	__u32 changed;	  /* number of the last change that affected the Pod, counted over all Pods of the Node */
	__u32 flags;	  /* ENDPOINT_*; fixed before a generation becomes current */
};

/* The former values of a rewritten packet with a key (restore.h). The index is the key. Written when the key is given;
 * only told changes afterward. */
struct onc_restore {
	__u64 told;   /* jiffies when the key was last told, or given; 0: never */
	__u32 serial; /* odd while the element is being written */
	__u8 ttl;     /* TTL or hop limit as in the tunnel */
	__u8 ipv6;
	__u16 change; /* of a one's complement sum, when the Nodes' addresses become the flow's */
	union {
		struct onc_flow6 key6; /* of the entry in ingress_flows6 */
		struct onc_flow4 key4; /* of the entry in ingress_flows4; the rest is 0 */
	};
	__be32 owner[4]; /* transport address of the Node to which the key was given; IPv4: the first word */
	__u32 tag;	 /* of the entry */
	__u32 pad2;
};

#define NODE_REWRITES 1 /* the Node's agent says that it understands keys, for the same port */
#define NODE_DIRECT 2	/* reached without the tunnel; fixed before a generation becomes current */

/* One transport address of a remote Node. The agent writes flags and the fields up to mtu, Egress-Init the rest. */
struct onc_node {
	__u32 generation; /* 0: slot unused */
	__be32 ip4;	  /* transport address; 0: ip6 is the address */
	__be32 ip6[4];
	__u32 mtu;	    /* of the route to the Node; NODE_DIRECT: and of the gateway's interface */
	__u32 claim;	    /* generation whose template is being or has been written */
	__u32 template_gen; /* generation whose template is complete */
	__u32 header_sum;   /* one's complement sum of the template's outer IPv4 header, folded to 16 bits */
	__u64 confirmed;    /* when Open vSwitch last sent with the template's header, ns of CLOCK_MONOTONIC_COARSE */
	__u64 contradicted; /* when with another one: the agent evicts the Node if that continues */
	__u32 flags;	    /* NODE_* */
	__u32 pad;
	/* Outer MACs, IP, UDP, tunnel, inner Ethernet; lengths, id, checksum, source port 0. NODE_DIRECT: MACs, then 0.
	 */
	__u8 header[88];
};

/* The facts that Egress or Ingress saw of one packet before Open vSwitch handled it. */
struct onc_ticket {
	union {
		struct onc_flow4 key4;
		struct onc_flow6 key6;
	};
	__u32 program; /* enum onc_program that wrote it, or TICKET_REDEEMED or TICKET_BUSY */
	__u32 endpoint;
	__u32 l4; /* TCP sequence number, or UDP length and first payload bytes */
	__u32 id; /* IPv4 identification or IPv6 flow label; the first bit is set for a SYN */
	__u8 ttl;
	__u8 tos;
	__u8 ipv6;
	__u8 unhashed; /* the kernel had no hash of the packet's flow yet */
	__u32 hash;    /* of the key */
	__u64 issued;  /* ns of CLOCK_MONOTONIC_COARSE, like the next two */
	__u64 marked;  /* when a datagram last got the slot's number */
	__u64 other;   /* when a datagram of another flow last did */
	__u16 lost;    /* the number of tickets that the flow has lost in a row before this one */
	__u16 vain;    /* the number of tickets of any flows in the slot since one was redeemed, with this one */
	__u16 known;   /* the flow had an entry */
	__u16 epoch;   /* as in the mark, of a packet that the host forwards (host.h); 0: none */
	__u32 entered; /* the index of the interface by which the last such packet in the slot entered the host */
	__u32 pad;
};

/* The mode comes first in every version: an agent can stop the programs of another version (datapath.Suspend). */
struct onc_control {
	__u32 mode; /* MODE_* */
	__u32 generation;
	__u64 lease; /* length of a lease, in jiffies */
	__u64 now;   /* jiffies when oncache_jiffies last ran */
	__u64 until; /* jiffies until which the agent has promised to maintain conntrack */
	/* Jiffies. Until held_until, leases that have not ended before held_from continue (hold.h). */
	__u64 held_from;
	__u64 held_until;
	__u64 keys_from; /* jiffies from which on keys are given: senders may use keys of former maps until then */
	__u64 secrets[sizeof(struct onc_flow6) / 4]; /* of slot_hash; random, and never changed */
	__u32 uplink_ifindex;
	__be32 uplink_ip4;
	__be32 uplink_ip6[4];
	__be16 tunnel_port;
	__u16 port_first; /* of the outer UDP source ports that the kernel's tunnel device uses */
	__u16 port_count;
	__u8 uplink_mac[6];
	__u8 virtual_mac[6];
	__be16 rewrite_port;   /* destination port of rewritten packets */
	__u32 key_life;	       /* jiffies for which a key may be used after it was heard; the same time on every Node */
	__u32 keys_refused;    /* not 0: none are given or told, because rewritten packets would be lost */
	__u32 direct;	       /* not 0: there are Nodes with NODE_DIRECT */
	__u8 tunnel_header[8]; /* the only tunnel header that is accepted: no options, VNI 0 */
	__u64 opens_until;     /* jiffies until which openings are used; 0: they are not */
};

/* Tells the agent that conntrack has seen a TCP segment of a cached flow, and thus whose entry to update: the 5-tuple
 * of what the local Pod sends, whichever direction the segment had. IPv4 addresses are mapped to IPv6, as in
 * onc_address. If over is set, it tells that the entry of that flow is being deleted: what was told before is void. */
struct onc_passed {
	struct onc_flow6 flow;
	__u32 over;
	__u8 pad[4];
};

/* Tells the agent what an entry had counted when it was removed or replaced. flow has the 5-tuple of what the local Pod
 * sends, whichever direction the entry was for, with IPv4 addresses as in struct onc_passed. */
struct onc_retired {
	struct onc_flow6 flow;
	__u8 egress;
	__u8 pad[7];
	__u64 packets;
	__u64 bytes;
	__u64 created;
};

/* Key of endpoint_ips and service_ips: an IPv6 address, or an IPv4 address mapped to one (RFC 4291, section 2.5.5.2).
 */
struct onc_address {
	__be32 addr[4];
};

/* Keys of pod_networks: LPM tries over the Pod networks of remote Nodes. */
struct onc_prefix4 {
	__u32 length;
	__be32 addr;
};

struct onc_prefix6 {
	__u32 length;
	__be32 addr[4];
};

/* Entries of one endpoint in one flow map. Except for races never less than there are; corrected by the agent. */
struct onc_count {
	__s64 entries;
	__u64 refused; /* packets from which no entry was made because the share was used up */
};

/* One flow map. The programs count entries, corrected by the agent; the agent writes the rest. */
struct onc_limit {
	__s64 entries;
	__s64 full;  /* number of entries from which on the map is nearly full, and shares apply */
	__s64 share; /* entries that every endpoint may always have; 0: no limit */
};
