/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The two directions of a TCP flow prove each other: an entry is used only when the other direction has been seen under the
 * same generation. The LRU map may drop either half, the agent may evict both. Liveness: as long as packets go both ways,
 * both halves are whole again (paper, appendix D).
 *
 *   -DPROVE_ONCE  a half tells the other of itself only when it is created, not when it is confirmed: a half that was
 *                 dropped afterwards never learns that the other is there
 */

#define OWN 1
#define OTHER 2
#define BOTH 3

byte generation;
byte proved[2];		/* 0: no entry */
byte of_generation[2];
byte leases;		/* leases that have run out so far, bounded */

#define CURRENT(i) (proved[i] != 0 && of_generation[i] == generation)
#define FAST(i) (CURRENT(i) && proved[i] == BOTH)

/* A packet of direction i that Open vSwitch has confirmed as established. */
inline confirm(i)
{
	atomic {
		if
		:: CURRENT(i) ->
			skip /* renewed */
		:: else ->
			proved[i] = OWN;
			of_generation[i] = generation;
#ifdef PROVE_ONCE
			if
			:: CURRENT(1 - i) -> proved[1 - i] = BOTH
			:: else
			fi
#endif
		fi;
#ifndef PROVE_ONCE
		if
		:: CURRENT(1 - i) ->
			proved[1 - i] = BOTH;
			proved[i] = BOTH
		:: else
		fi
#endif
	}
}

/* Packets of one direction: those that miss pass Open vSwitch and confirm. */
active proctype forth()
{
end:	do
	:: !FAST(0) -> confirm(0)
	od
}

active proctype back()
{
end:	do
	:: !FAST(1) -> confirm(1)
	od
}

/* Faults, a bounded number of times. */
active proctype trouble()
{
	byte n = 0;

	do
	:: n < 3 -> n++;
		if
		:: proved[0] = 0 /* LRU */
		:: proved[1] = 0
		:: generation++	 /* eviction */
		fi
	:: break
	od
}

ltl whole { <>[] (FAST(0) && FAST(1)) }
