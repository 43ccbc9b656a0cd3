/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both directions of a flow are rewritten, and rewritten packets tell no keys: see docs/design/oncache-rewriting.md. From
 * time to time each Node encapsulates a packet that it could rewrite, to tell the key of the other direction. Liveness: after
 * any trouble, as long as packets go both ways, both directions are rewritten again and remain so.
 *
 *   -DAS_BUILT     holds
 *   -DNO_REMINDER  a Node tells only with packets that it cannot rewrite
 *   -DTOO_RARE     a Node tells as often as a key expires, so every delay is a gap
 */

#define USE 4 /* ticks for which a key may be used after it was heard */
#ifdef TOO_RARE
#define TELL USE
#else
#define TELL 2 /* ticks after which a Node tells again */
#endif
#define LIFE 1 /* of a packet */
#define TROUBLE 3

byte left[2];	       /* ticks for which Node i may still rewrite */
byte since[2] = TELL;  /* ticks since Node i has told the other Node its key */
bool given[2];	       /* Node i has given the flow that it receives a key */
bool sent[2];	       /* Node i has sent a packet in this tick */
bool telling[2];       /* a telling of Node i is in the network ... */
byte life[2];	       /* ... for this number of ticks more */
byte troubles;

/* Node i sends a packet. */
#ifdef NO_REMINDER
#define TELLS (given[i] && since[i] >= TELL && left[i] == 0)
#else
#define TELLS (given[i] && since[i] >= TELL)
#endif

active [2] proctype node()
{
	byte i = _pid;

end:	do
	:: atomic {
		!sent[i] && !telling[i] ->
		sent[i] = true;
		if
		:: TELLS ->
			since[i] = 0;
			telling[i] = true;
			life[i] = LIFE
		:: else /* rewritten if left[i] > 0, else encapsulated */
		fi
	   }
	:: atomic {
		!sent[i] && telling[i] -> sent[i] = true
	   }
	/* It gives the flow a key, after some hits. */
	:: atomic {
		!given[i] -> given[i] = true
	   }
	/* It hears the other Node's. */
	:: atomic {
		telling[1 - i] ->
		telling[1 - i] = false;
		life[1 - i] = 0;
		left[i] = USE
	   }
	od
}

/* Faults, a bounded number of times: a telling is lost, an entry becomes void, a key goes to another flow. */
active proctype trouble()
{
	byte i;

	do
	:: atomic {
		troubles < TROUBLE ->
		troubles++;
		select (i : 0 .. 1);
		if
		:: telling[i] ->
			telling[i] = false;
			life[i] = 0
		:: left[i] = 0
		:: given[i] = false
		fi;
		i = 0
	   }
	:: troubles < TROUBLE -> troubles = TROUBLE
	:: troubles == TROUBLE -> break
	od
}

/* Both Nodes send in each tick, and have given keys in the end. */
active proctype clock()
{
end:	do
	:: atomic {
		sent[0] && sent[1] && given[0] && given[1] && (!telling[0] || life[0] > 0) && (!telling[1] || life[1] > 0) ->
		sent[0] = false;
		sent[1] = false;
		left[0] = (left[0] > 0 -> left[0] - 1 : 0);
		left[1] = (left[1] > 0 -> left[1] - 1 : 0);
		since[0] = (since[0] < TELL -> since[0] + 1 : TELL);
		since[1] = (since[1] < TELL -> since[1] + 1 : TELL);
		life[0] = (life[0] > 0 -> life[0] - 1 : 0);
		life[1] = (life[1] > 0 -> life[1] - 1 : 0)
	   }
	od
}

ltl again { <>[] (left[0] > 0 && left[1] > 0) }
