/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The life of a key of the rewriting tunnel: see docs/design/oncache-rewriting.md. A receiver allocates keys and tells them,
 * a sender uses them, and the network in between delays, loses, duplicates and reorders both tellings and rewritten packets.
 * `make model` checks that the protocol as designed holds:
 *
 *   -DAS_DESIGNED     two flows of one sender compete for a key; entries become void and are learned again, TTLs change,
 *                     the receiver stops and resumes rewriting
 *   -DMAPS_LOST       the receiver's maps are lost, or its programs removed and attached again
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
 *   -DTELL_UNCHECKED  the receiver tells the key that it remembers for a flow, without looking whether it still is the flow's
 *   -DTELL_OLD        it looks, but tells keys that are about to be given away, too
 *   -DNO_WAIT         keys are given as soon as the maps are new
 *   -DREMOVE_AT_ONCE  programs are removed while a sender may still use keys
 *   -DKEEP_KEY        an entry that is learned again keeps the key of the former one
 *   -DHEAR_ANY        the sender takes a key from a Node that is not the one to which its entry leads
 *   -DANY_SENDER      OTHER_SENDER, without a look at the packet's source
 *
 * Times are in ticks of one clock for all Nodes. Whether entries are valid, and since which generation, is modelled in
 * coherency.pml; here they become void and valid again at any time.
 */

#if defined(LATE) || defined(OTHER_SENDER) || defined(ANY_SENDER)
#define LIFE 2 /* of a packet in the network, from the program that sends it to the one that has dealt with it */
#else
#define LIFE 1
#endif
#define USE 2 /* of a key by the sender, after it has heard of it */
#if defined(ONE_LEASE)
#define REST USE
#elif defined(SHORT_REST)
#define REST 3
#else
#define REST 4 /* of a key that was told, before it is given to another flow: USE + 2 * LIFE */
#endif
#define STALL (REST / 2) /* for how long a CPU may stand still while it tells a key */

#if defined(NO_WAIT) || defined(REMOVE_AT_ONCE)
#define MAPS_LOST
#endif
#if defined(KEEP_KEY) || defined(HEAR_ANY)
#define MOVES
#endif
#if defined(ANY_SENDER)
#define OTHER_SENDER
#endif

#ifdef MOVES
#define RECEIVERS 2
#else
#define RECEIVERS 1
#endif
#define FLOWS 2
#ifdef OTHER_SENDER
#define SENDER(f) (f)
#else
#define SENDER(f) 0
#endif
#define NOBODY FLOWS
#define NET 2 /* packets in the network at the same time */

/* The receiver. Each has a single key: what could go wrong with one of several keys goes wrong with it. */
typedef slot_type {
	byte flow = NOBODY;
	bit ttl;
	bool valid;
	byte age = REST /* since it was told or allocated */
};
slot_type slot[RECEIVERS];
typedef memory_type {
	bool has[FLOWS];     /* the entry of the reverse flow remembers the key ... */
	bool telling[FLOWS]; /* ... and a packet is about to tell it */
	byte stall[FLOWS]
};
memory_type memory[RECEIVERS];
bool giving = true, attached = true;
byte wait; /* until new maps give keys */

/* The sender or senders. */
typedef entry_type {
	bool valid = true;
	byte node;  /* to which the entry leads */
	bool key;
	byte from;  /* who told the key: seen by the properties only */
	bit ttl;
	byte left;  /* ticks for which the key may be used */
	bool lost   /* the receiver has lost its maps since it told the key */
};
entry_type entry[FLOWS];

/* The network. */
mtype = { NONE, TELLING, REWRITTEN };
typedef packet_type {
	mtype kind = NONE;
	byte flow;
	byte node; /* the receiver: of keys, not of this packet */
	bit ttl;
	byte life;
	bool lost
};
packet_type net[NET];

bit ttl[FLOWS];	   /* of the Pod's packets */
byte home[FLOWS];  /* where the flow's other Pod is */

inline send(what, whose, to, hops, gone)
{
	if
	:: net[0].kind == NONE -> i = 0
	:: else -> i = 1
	fi;
	net[i].kind = what;
	net[i].flow = whose;
	net[i].node = to;
	net[i].ttl = hops;
	net[i].life = LIFE;
	net[i].lost = gone
}

#define ROOM (net[0].kind == NONE || net[1].kind == NONE)

inline clear(n)
{
	net[n].kind = NONE;
	net[n].flow = 0;
	net[n].node = 0;
	net[n].ttl = 0;
	net[n].life = 0;
	net[n].lost = false
}

inline forget(f)
{
	entry[f].key = false;
	entry[f].from = 0;
	entry[f].ttl = 0;
	entry[f].left = 0;
	entry[f].lost = false
}

#ifdef VOID_IS_FREE
#define FREE(r) (slot[r].flow == NOBODY || slot[r].age >= REST || !slot[r].valid)
#else
#define FREE(r) (slot[r].flow == NOBODY || slot[r].age >= REST)
#endif

#if defined(TELL_UNCHECKED)
#define MAY_TELL(r, f) true
#elif defined(TELL_OLD)
#define MAY_TELL(r, f) (slot[r].flow == f && slot[r].valid)
#else
#define MAY_TELL(r, f) (slot[r].flow == f && slot[r].valid && slot[r].age < REST / 2)
#endif

#ifdef OWN_LEASE
#define USABLE (USE + 1)
#else
#define USABLE USE
#endif

#ifdef ANY_SENDER
#define OWNER(r, f) true
#else
#define OWNER(r, f) (SENDER(slot[r].flow) == SENDER(f))
#endif

/* A packet reaches the sender that is to hear of a key. It must be a hit: only its entries' Node may tell. */
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
		entry[f].from = net[n].node;
		entry[f].ttl = net[n].ttl;
		entry[f].left = USABLE;
		entry[f].lost = net[n].lost
	:: else
	fi
}

/* A rewritten packet reaches a receiver: it must not be restored to what it was not, nor be lost for anything but the loss
 * of maps. */
inline restore(n)
{
	f = net[n].flow;
	r = net[n].node;
	assert(attached);
	if
	:: slot[r].flow == NOBODY -> assert(net[n].lost)
	:: slot[r].flow != NOBODY && !OWNER(r, f) ->
		/* Dropped. */
#if !defined(OTHER_SENDER)
		assert(net[n].lost)
#else
		skip
#endif
	:: slot[r].flow != NOBODY && OWNER(r, f) ->
		assert(slot[r].flow == f && slot[r].ttl == net[n].ttl);
		if
		:: slot[r].valid && giving /* into the Pod */
		:: !(slot[r].valid && giving) ->
			/* To Open vSwitch. The key is in use, so it does not rest yet. */
#ifdef VOID_DROPPED
			assert(false);
#endif
			slot[r].age = 0
		fi
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
	slot[0].flow = NOBODY;
	slot[0].ttl = 0;
	slot[0].valid = false;
	slot[0].age = REST;
	for (f : 0 .. FLOWS - 1) {
		memory[0].has[f] = false;
		memory[0].telling[f] = false;
		memory[0].stall[f] = 0;
		entry[f].lost = entry[f].key
	}
	for (i : 0 .. NET - 1) {
		net[i].lost = (net[i].kind != NONE)
	}
	wait = FIRST_KEY
}

#define OLDER(a) (a < REST -> a + 1 : REST)
#define LESS(a) (a > 0 -> a - 1 : 0)

/* A packet that has reached its age is gone before the clock advances; so is a CPU that has stood still for so long. */
#define LIVES(n) (net[n].kind == NONE || net[n].life > 0)
#define MOVES_ON(r) (memory[r].stall[0] < STALL && memory[r].stall[1] < STALL)

active proctype all()
{
	byte f, r, i;

	do
	/* A receiver gives a key to a flow whose entry is valid. It knows the TTL of one of its packets. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		r = home[f];
		if
		:: attached && giving && wait == 0 && FREE(r) ->
			slot[r].flow = f;
			if
			:: slot[r].ttl = 0
			:: slot[r].ttl = 1
			fi;
			slot[r].valid = true;
			slot[r].age = 0;
			memory[r].has[f] = true
		:: else
		fi
	   }
	/* It tells a key in two steps: looking, and sending. Another CPU may do anything in between. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		select (r : 0 .. RECEIVERS - 1);
		if
		:: attached && giving && memory[r].has[f] && MAY_TELL(r, f) -> memory[r].telling[f] = true
		:: else
		fi
	   }
	:: atomic {
		ROOM;
		select (f : 0 .. FLOWS - 1);
		select (r : 0 .. RECEIVERS - 1);
		if
		:: memory[r].telling[f] ->
			slot[r].age = 0;
			send(TELLING, f, r, slot[r].ttl, false);
			memory[r].telling[f] = false;
			memory[r].stall[f] = 0
		:: else
		fi
	   }
	/* A sender rewrites a packet. */
	:: atomic {
		ROOM;
		select (f : 0 .. FLOWS - 1);
		if
#ifdef NO_TTL
		:: entry[f].valid && entry[f].key && entry[f].left > 0 ->
#else
		:: entry[f].valid && entry[f].key && entry[f].left > 0 && entry[f].ttl == ttl[f] ->
#endif
			send(REWRITTEN, f, entry[f].node, ttl[f], entry[f].lost)
		:: else
		fi
	   }
	/* The network delivers a packet, in any order, or loses it; a packet that stays is a duplicate. */
	:: atomic {
		select (i : 0 .. NET - 1);
		if
		:: net[i].kind == TELLING -> hear(i)
		:: net[i].kind == REWRITTEN -> restore(i)
		:: net[i].kind != NONE
		:: net[i].kind == NONE
		fi;
		if
		:: clear(i)
		:: true
		fi
	   }
	/* Time. */
	:: atomic {
		LIVES(0) && LIVES(1) && MOVES_ON(0) && MOVES_ON(RECEIVERS - 1) ->
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
			slot[r].age = OLDER(slot[r].age);
			for (f : 0 .. FLOWS - 1) {
				if
				:: memory[r].telling[f] -> memory[r].stall[f]++
				:: else
				fi
			}
		}
		wait = LESS(wait)
	   }
	/* The receiver's entry becomes void. If it is learned again, the flow keeps its key. */
	:: atomic {
		select (r : 0 .. RECEIVERS - 1);
		if
		:: slot[r].valid -> slot[r].valid = false
		:: slot[r].flow != NOBODY && !slot[r].valid && attached && slot[r].age < REST / 2 ->
			slot[r].valid = (home[slot[r].flow] == r)
		:: else
		fi
	   }
	/* The sender's entry becomes void, is lost, or is learned again: by the way that Open vSwitch takes now. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		if
		:: entry[f].valid -> entry[f].valid = false
		:: !entry[f].valid ->
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
#ifndef MOVES
	/* The Pod's packets get another TTL. */
	:: atomic {
		select (f : 0 .. FLOWS - 1);
		ttl[f] = 1 - ttl[f]
	   }
	/* The receiver's mode is no longer enforce, or its tunnel no longer rewrite; and back. */
	:: giving = !giving
#endif
#ifdef MAPS_LOST
	/* The maps are lost, and new ones are there at once. */
	:: atomic {
		attached && giving ->
		lose()
	   }
	/* The programs are removed when no key can be in use, and attached again with new maps. */
	:: atomic {
#ifdef REMOVE_AT_ONCE
		attached && !giving ->
#else
		attached && !giving && (slot[0].flow == NOBODY || slot[0].age >= REST) && !memory[0].telling[0] &&
			!memory[0].telling[1] ->
#endif
		attached = false
	   }
	:: atomic {
		!attached ->
		attached = true;
		lose()
	   }
#endif
#ifdef MOVES
	/* The Pod network of flow 0 becomes another Node's. The sender's generations advance in the same instant. */
	:: atomic {
		home[0] = 1 - home[0];
		entry[0].valid = false
	   }
#endif
	od
}
