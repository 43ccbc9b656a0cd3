/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a key of the rewriting tunnel: see docs/design/oncache-rewriting.md. A receiver gives keys and tells them, a
 * sender uses them, and the network in between delays, loses, duplicates and reorders both tellings and rewritten packets.
 * `make model` checks that the protocol holds:
 *
 *   -DAS_DESIGNED     two flows of one sender, whose TTLs change, compete for a key; entries become void and valid again
 *   -DMAPS_LOST       the receiver's maps are lost, or its programs are removed, and attached again
 *   -DMOVES           a flow moves to another receiver
 *   -DOTHER_SENDER    the flows have different senders, and packets live longer than they may: a packet may be lost, but is
 *                     not delivered to the other flow
 *
 * It also checks that each of these variants is caught:
 *
 *   -DSHORT_REST      a key rests for less than the time that the sender may use it, and two lives of a packet
 *   -DLATE            a packet lives longer than that assumes
 *   -DONE_LEASE       a key rests only as long as the sender may use it
 *   -DOWN_LEASE       the sender takes that time from a setting of its own, which is longer
 *   -DFROM_LEASE      the sender counts from when Open vSwitch last confirmed its entry, not from when it heard of the key
 *   -DVOID_IS_FREE    a key whose entry is void is given away at once
 *   -DVOID_DROPPED    packets whose entry is void are dropped
 *   -DNO_TTL          the TTL is not part of the key
 *   -DNO_OWNER        the receiver tells the key that it remembers for a flow without looking whose it is
 *   -DNO_WAIT         keys are given as soon as the maps are new
 *   -DREMOVE_AT_ONCE  programs are removed while a sender may still use keys
 *   -DKEEP_KEY        an entry that is learned again keeps the key of the former one
 *   -DHEAR_ANY        the sender takes a key from a Node that is not the one to which its entry leads
 *   -DANY_SENDER      OTHER_SENDER, without a look at the packet's source
 *
 * Times are in ticks of one clock for all Nodes. Whether entries are valid, and since which generation, is the subject of
 * coherency.pml; here they become void, and valid again, at any time. Giving and telling a key are one step each; take.pml
 * is about CPUs that do both at once.
 */

#if defined(NO_WAIT) || defined(REMOVE_AT_ONCE)
#define MAPS_LOST
#endif
#if defined(KEEP_KEY) || defined(HEAR_ANY)
#define MOVES
#endif
#ifdef ANY_SENDER
#define OTHER_SENDER
#endif
#if defined(MAPS_LOST) || defined(MOVES) || defined(OTHER_SENDER)
#define ONE_TTL
#endif

#if defined(LATE) || defined(OTHER_SENDER)
#define LIFE 2 /* of a packet, from when its program begins to when the other Node's program has dealt with it */
#else
#define LIFE 1
#endif
#define USE 2 /* of a key by the sender, after it has heard of it */
#if defined(ONE_LEASE)
#define REST USE
#elif defined(SHORT_REST)
#define REST 3
#else
#define REST 4 /* of a key after it was told: USE + 2 * LIFE */
#endif

#define FLOWS 2
#define NOBODY FLOWS
#ifdef OTHER_SENDER
#define SENDER(f) (f)
#else
#define SENDER(f) 0
#endif
#ifdef MOVES
#define RECEIVERS 2
#define NET 1
#else
#define RECEIVERS 1
#define NET 2 /* packets in the network at the same time */
#endif

/* A receiver. Each has a single key: what can go wrong with one of several keys goes wrong with it. */
typedef receiver_type {
	/* The slot. */
	byte flow = NOBODY;
	bit ttl;
	byte age = REST; /* since the key was told or given */
	/* Of each flow. */
	bool valid[FLOWS]; /* the ingress entry */
	bool has[FLOWS]	   /* the entry of the reverse flow remembers the key */
};
receiver_type at[RECEIVERS];
bool giving = true, attached = true;
byte wait; /* until new maps give keys */

/* The sender's egress entries. */
typedef entry_type {
	bool valid = true;
	byte node; /* to which the entry leads */
	bool key;
	bit ttl;
	byte left; /* ticks for which the key may be used */
	bool lost  /* the receiver has lost its maps since it told the key */
};
entry_type entry[FLOWS];

/* The network. */
mtype = { NONE, TELLING, REWRITTEN };
typedef packet_type {
	mtype kind = NONE;
	byte flow;
	byte node; /* the receiver: the one of keys, not of this packet */
	bit ttl;
	byte life;
	bool lost
};
packet_type net[NET];

bit ttl[FLOWS];	  /* of the Pod's packets */
byte home[FLOWS]; /* the receiver that has the other Pod */

#define ROOM (net[0].kind == NONE || net[NET - 1].kind == NONE)
#define LESS(a) (a > 0 -> a - 1 : 0)

inline send(what, whose, to, hops, gone)
{
	i = (net[0].kind == NONE -> 0 : NET - 1);
	net[i].kind = what;
	net[i].flow = whose;
	net[i].node = to;
	net[i].ttl = hops;
	net[i].life = LIFE;
	net[i].lost = gone
}

inline clear(n)
{
	net[n].kind = NONE;
	net[n].flow = 0;
	net[n].node = 0;
	net[n].ttl = 0;
	net[n].life = 0;
	net[n].lost = false
}

inline forget(n)
{
	entry[n].key = false;
	entry[n].ttl = 0;
	entry[n].left = 0;
	entry[n].lost = false
}

#define UNUSED (at[r].flow == NOBODY || at[r].age >= REST)
#ifdef VOID_IS_FREE
#define RESTED (UNUSED || !at[r].valid[at[r].flow])
#else
#define RESTED UNUSED
#endif

#ifdef OWN_LEASE
#define USABLE (USE + 1)
#else
#define USABLE USE
#endif

#ifdef NO_TTL
#define SAME_TTL true
#else
#define SAME_TTL (entry[f].ttl == ttl[f])
#endif

#ifdef ANY_SENDER
#define OWNER true
#else
#define OWNER (SENDER(at[r].flow) == SENDER(f))
#endif

#ifdef OTHER_SENDER
#define MAY_BE_LOST true
#else
#define MAY_BE_LOST net[n].lost
#endif

/* A telling reaches the sender. It must be a hit, of entries that lead to the Node that it comes from. */
inline hear(n)
{
	f = net[n].flow;
	if
#ifdef HEAR_ANY
	:: entry[f].valid ->
#else
	:: entry[f].valid && entry[f].node == net[n].node ->
#endif
		entry[f].key = true;
		entry[f].ttl = net[n].ttl;
		entry[f].left = USABLE;
		entry[f].lost = net[n].lost
	:: else
	fi
}

/* A rewritten packet reaches the receiver: it becomes what it was, and is lost only if the maps were. */
inline restore(n)
{
	f = net[n].flow;
	r = net[n].node;
	assert(attached);
	if
	:: at[r].flow == NOBODY -> assert(MAY_BE_LOST)
	:: at[r].flow != NOBODY && (!OWNER || at[r].age >= REST) -> assert(MAY_BE_LOST)
	:: else ->
		assert(at[r].flow == f && at[r].ttl == net[n].ttl);
#ifdef VOID_DROPPED
		assert(at[r].valid[f] && giving);
#endif
		skip /* into the Pod if the entry is valid, else to Open vSwitch */
	fi
}

#ifdef NO_WAIT
#define FIRST_KEY 0
#else
#define FIRST_KEY REST
#endif

/* The receiver's maps are lost. Keys that it has told are unknown from now on. */
inline lose()
{
	at[0].flow = NOBODY;
	at[0].age = REST;
	for (f : 0 .. FLOWS - 1) {
		at[0].valid[f] = false;
		at[0].has[f] = false;
		entry[f].lost = entry[f].key
	}
	for (i : 0 .. NET - 1) {
		net[i].lost = (net[i].kind != NONE)
	}
	wait = FIRST_KEY
}

/* A packet that has reached its age is gone before the clock advances. */
#define ALIVE(n) (net[n].kind == NONE || net[n].life > 0)

#ifdef NO_OWNER
#define IS_ITS_KEY true
#else
#define IS_ITS_KEY (at[r].flow == f)
#endif

active proctype all()
{
	byte f, r, i;

	do
	/* A flow whose entry is valid gets the key if it is not in use. The receiver knows the TTL of one of its packets. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		r = home[f];
		if
		:: attached && giving && wait == 0 && at[r].valid[f] && RESTED ->
			at[r].flow = f;
#ifndef ONE_TTL
			if
			:: at[r].ttl = 0
			:: at[r].ttl = 1
			fi;
#endif
			at[r].age = 0;
			at[r].has[f] = true
		:: else
		fi
	   }
	/* The receiver tells the key of a flow. */
	:: atomic {
		ROOM;
		select (f : 0 .. FLOWS - 1);
		select (r : 0 .. RECEIVERS - 1);
		if
		:: attached && giving && at[r].has[f] ->
			if
			:: IS_ITS_KEY ->
				at[r].age = 0;
				send(TELLING, f, r, at[r].ttl, false)
			:: else -> at[r].has[f] = false
			fi
		:: else
		fi
	   }
	/* A sender rewrites a packet. */
	:: atomic {
		ROOM;
		select (f : 0 .. FLOWS - 1);
		if
		:: entry[f].valid && entry[f].key && entry[f].left > 0 && SAME_TTL ->
			send(REWRITTEN, f, entry[f].node, ttl[f], entry[f].lost)
		:: else
		fi
	   }
	/* The network delivers a packet, in any order, or loses it. One that stays there is a duplicate. */
	:: atomic {
		select (i : 0 .. NET - 1);
		if
		:: net[i].kind == TELLING -> hear(i)
		:: net[i].kind == REWRITTEN -> restore(i)
		:: true
		fi;
		if
		:: clear(i)
		:: true
		fi
	   }
	/* Time. */
	:: atomic {
		ALIVE(0) && ALIVE(NET - 1) ->
		for (i : 0 .. NET - 1) {
			net[i].life = LESS(net[i].life)
		}
		for (f : 0 .. FLOWS - 1) {
			entry[f].left = LESS(entry[f].left);
			if
			:: entry[f].left == 0 -> forget(f)
			:: else
			fi
		}
		for (r : 0 .. RECEIVERS - 1) {
			at[r].age = (at[r].age < REST -> at[r].age + 1 : REST)
		}
		wait = LESS(wait)
	   }
	/* The receiver's entry becomes void, or is learned again. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		r = home[f];
		at[r].valid[f] = !at[r].valid[f]
	   }
	/* The sender's entry becomes void, or is learned again: it leads to where Open vSwitch sends packets now. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		if
		:: entry[f].valid -> entry[f].valid = false
		:: else ->
			entry[f].valid = true;
			entry[f].node = home[f];
#ifndef KEEP_KEY
			forget(f)
#endif
		fi
	   }
#ifdef FROM_LEASE
	/* Open vSwitch confirms the sender's entry. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		if
		:: entry[f].valid && entry[f].key -> entry[f].left = USABLE
		:: else
		fi
	   }
#endif
#ifndef ONE_TTL
	/* The Pod's packets get another TTL. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		ttl[f] = 1 - ttl[f]
	   }
#endif
#ifdef MAPS_LOST
	/* The receiver gives and tells no keys any more (another mode), or does so again. */
	:: giving = !giving
	/* The maps are lost, and new ones are there at once. */
	:: atomic {
		attached;
		lose()
	   }
	/* The programs are removed when no key can be in use, or replaced by others that restore nothing (oncache.tunnel is
	 * encap), and attached again with new maps. */
	:: atomic {
#ifdef REMOVE_AT_ONCE
		attached && !giving;
#else
		attached && !giving && wait == 0 && (at[0].flow == NOBODY || at[0].age >= REST);
#endif
		attached = false
	   }
	:: atomic {
		!attached;
		attached = true;
		lose()
	   }
#endif
#ifdef MOVES
	/* The Pod network of flow 0 becomes another Node's. The sender's generations advance in the same instant. */
	:: atomic {
		at[home[0]].valid[0] = false;
		home[0] = 1 - home[0];
		entry[0].valid = false
	   }
#endif
	od
}
