/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Tickets of segments through Services: see docs/design/oncache-learning.md, "Translations". A Pod receives segments at one
 * port that look the same and share a slot: their senders have guessed sequence numbers. Open vSwitch holds each as long as it
 * likes, and the ticket in the slot may be another flow's by then. `make model` checks that an entry that is used has the
 * translation of Open vSwitch, and that each of the broken variants below is caught:
 *
 *   -DANY_ANSWERS  the entry of the other direction counts wherever its translation leads
 *   -DONE_WAY      an entry is used without the other direction, as with datagrams, whose tickets must not be in doubt
 *   -DOWN_FORGERY  what the Pod sends to two peers also looks the same. This is so as built; the design says why it may be
 */

/* Addresses of peers: a Service, its Endpoint, a Pod to which the Pod may have connections, a Pod and a Service to which Open
 * vSwitch lets nothing pass. */
#define SERVICE 1
#define ENDPOINT 2
#define FRIEND 3
#define STRANGER 4
#define CLOSED 5
#define SAME 6 /* an entry without a translation */

#define IS_POD(a) (a == ENDPOINT || a == FRIEND || a == STRANGER)

/* The peer's address by Open vSwitch in packets that the Pod sends, and in packets that it receives; 0: it drops the packet, or gives the Pod another port,
 * which the cache refuses. */
#define SENT(a) (a == SERVICE -> ENDPOINT : (a == FRIEND -> FRIEND : 0))
#define RECEIVED(a) (a == ENDPOINT -> SERVICE : (a == FRIEND -> FRIEND : 0))

/* Entries by the peer's address before Open vSwitch: the translation, or SAME, or 0 for none; and whether the other direction
 * was proved. */
byte out[6], in[6];
bool out_other[6], in_other[6];
/* The ticket in the slot, by the peer's address; 0: none. Open vSwitch may have packets with its number of any flow. */
byte out_ticket, in_ticket;

#ifdef ANY_ANSWERS
#define LEADS_BACK(entry, ticket, to) (entry != 0)
#else
#define LEADS_BACK(entry, ticket, to) (entry == (to == SAME -> SAME : ticket))
#endif

#ifdef ONE_WAY
#define USED(entry, other) (entry != 0)
#else
#define USED(entry, other) (entry != 0 && other)
#endif

/* A packet that has the peer's address BEHIND Open vSwitch redeems the ticket. ADDRESS, of the two, is the one that may be a
 * Service's. */
#define LEARN(TICKET, BEHIND, ADDRESS, MINE, MINE_OTHER, THEIRS, THEIRS_OTHER) \
	to = (BEHIND == TICKET -> SAME : BEHIND); \
	if \
	:: to != SAME && IS_POD(ADDRESS) -> skip \
	:: else -> \
		both = LEADS_BACK(THEIRS[BEHIND], TICKET, to); \
		if \
		:: both -> THEIRS_OTHER[BEHIND] = true \
		:: else \
		fi; \
		MINE_OTHER[TICKET] = both || (MINE[TICKET] == to && MINE_OTHER[TICKET]); \
		MINE[TICKET] = to \
	fi; \
	TICKET = 0; to = 0; both = false

inline choose(a)
{
	if
	:: a = SERVICE
	:: a = ENDPOINT
	:: a = FRIEND
	:: a = STRANGER
	:: a = CLOSED
	fi
}

#define RIGHT(entry, other, a, want) (!USED(entry[a], other[a]) || entry[a] == want)
#define NEVER(entry, other, a) !USED(entry[a], other[a])

active proctype node()
{
	byte a, to;
	bool both;
	do
	:: /* A packet before Open vSwitch gets the ticket. */
		atomic { choose(a); out_ticket = a; a = 0 }
	:: atomic { choose(a); in_ticket = a; a = 0 }
	:: /* One comes out. */
		atomic {
			out_ticket != 0 ->
#ifdef OWN_FORGERY
			choose(a);
#else
			a = out_ticket;
#endif
			a = SENT(a);
			if
			:: a != 0 -> LEARN(out_ticket, a, out_ticket, out, out_other, in, in_other)
			:: else
			fi;
			a = 0
		}
	:: atomic {
			in_ticket != 0 -> choose(a); a = RECEIVED(a);
			if
			:: a != 0 -> LEARN(in_ticket, a, a, in, in_other, out, out_other)
			:: else
			fi;
			a = 0
		}
	:: /* The LRU map, or the end of a connection. */
		atomic { choose(a); out[a] = 0; out_other[a] = false; a = 0 }
	:: atomic { choose(a); in[a] = 0; in_other[a] = false; a = 0 }
	:: assert(RIGHT(out, out_other, SERVICE, ENDPOINT) && RIGHT(out, out_other, FRIEND, SAME) && NEVER(out, out_other, ENDPOINT) &&
		  NEVER(out, out_other, STRANGER) && NEVER(out, out_other, CLOSED) && RIGHT(in, in_other, ENDPOINT, SERVICE) &&
		  RIGHT(in, in_other, FRIEND, SAME) && NEVER(in, in_other, SERVICE) && NEVER(in, in_other, STRANGER) && NEVER(in, in_other, CLOSED))
	od
}
