/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Openings (not built): connections with one request on the fast path. The protocol that this model checks:
 *
 *   - If Open vSwitch has let a SYN to a server's port pass, an *opening* repeats its verdict for later SYNs, until a change of
 *     the rules, of Services, or the end of its lease voids it. Such a connection is *untracked*: conntrack does not know it.
 *   - To the cache it is what an established connection is to conntrack: a change of rules does not void it.
 *   - Its entry is one word (answered, FINs, closed, gone, noted), which programs and agent change with atomic operations
 *     only. Only a SYN makes an entry, and only if Open vSwitch has not seen a SYN of this connection.
 *   - A SYN that repeats the number of an answered or closed connection is a segment of it; another one starts a connection
 *     with an opening, or makes the connection Open vSwitch's.
 *   - The agent *promotes* an answered connection when it is old, before hits end, and before `cut` looks for forbidden ones:
 *     it notes that conntrack may have an entry, makes the entry after the word, and compares and swaps the word for "gone".
 *     If the word has changed, it makes the entry again. Nothing but the agent changes conntrack until then. Connections that
 *     are closed or not answered are not promoted; an entry that was noted for them is deleted before the swap.
 *   - While an entry is noted and not gone, no SYN reaches Open vSwitch.
 *   - A word that is gone is deleted when the programs that ran have ended; two seconds later if it was answered.
 *   - The next agent begins with what it finds.
 *
 * One Node, one 5-tuple whose ports are used again; other connections of the same Pods teach the opening at any time. `make
 * model` checks that the protocol holds, and that each of the broken variants below is caught:
 *
 *   -DLATE            hits end before the promotion
 *   -DNO_WAIT         the promotion does not wait for programs that run
 *   -DNO_SECOND_LOOK  the entry in conntrack follows the FINs seen before it was made
 *   -DLOOK_AFTER      FINs are looked at again after segments have begun to reach conntrack
 *   -DEVICTS          the map of untracked connections evicts
 *   -DSYNACK_MAKES    a SYN-ACK makes an untracked connection
 *   -DSYN_RESETS      a repeated SYN makes an answered connection unanswered
 *   -DUNANSWERED      connections without an answer are also promoted
 *   -DNO_GENERATION   a change does not void the opening
 *   -DVOIDS           a change of policies voids untracked connections as well
 *   -DNO_NOTE         nothing is noted before the entry in conntrack is made
 *   -DNOTED_PASSES    a SYN reaches Open vSwitch although an entry may be left in conntrack
 *   -DTAKEN_AT_ONCE   a promoted connection leaves the map while copies of its SYN may come
 *   -DLOST_NOTE       it is forgotten that Open vSwitch has seen the SYN. So `candidates`, which forgets, cannot hold this note
 *   -DNO_CUT          `cut` does not promote first
 *
 * Safety: a SYN that begins a connection is judged by Open vSwitch, or by an opening not older than the last complete change;
 * no segment of an established connection is lost or picked up midway; after a change in `cut`, none of a forbidden one passes.
 *
 * Conntrack is Linux's (nf_conntrack_tcp_packet) without its windows. A connection begins when no packet of the former one is
 * on its way, and ends when no packet of its handshake is. Left out: connections opened by both ends; timeouts of live
 * connections; what happens if no agent comes back; removed Pods.
 */

#define A 0 /* opens */
#define B 1

#define CONNECTIONS 2
#define CHANGES 1
#define EVENTS 2 /* of these: a change, an end of hits, a death of the agent */
/* These variants are found sooner if no agent dies. */
#if defined(LOST_NOTE) || defined(UNANSWERED) || defined(SYNACK_MAKES)
#define IMMORTAL true
#else
#define IMMORTAL false
#endif
#define PACKETS 3 /* under way at a time: two of A, one of B */

mtype = { SYN, SYNACK, ACK, FIN, RST };

/* The two sockets: 0 closed, 1 SYN sent, 2 SYN received, 3 established. */
byte serial, phase;
bool received[2]; /* the FIN of either end */

/* Open vSwitch: the rules' version and verdict about A's connections. */
byte version;
bool allows = true;

/* Conntrack. HALF is FIN_WAIT and CLOSE_WAIT. */
#define NONE 0
#define SENT 1
#define RECV 2
#define EST 3
#define HALF 4
#define LAST 5
#define OVER 6 /* TIME_WAIT, CLOSE */
byte state;
bool replied, backwards, cut; /* the first segment was B's; bit 8 of the mark */

/* The present rules are complete: the generation has advanced, and packets that carry their epoch teach. */
bool complete = true;
byte cut_at; /* connections judged by earlier versions were cut */
bool hits = true, stopped;
byte opening = 1; /* the version that it repeats, if it is there; 0 for none */

/* The untracked connection: one word, which programs and agent change with atomic operations. */
#define THERE 1
#define GONE 2 /* its segments are Open vSwitch's */
#define ANSWERED 4
#define FIN_OF(d) (8 << (d))
#define BOTH_FINS 24
#define CLOSED 32
#define NOTED 64 /* conntrack may have an entry */
byte word, number; /* number: the SYN's sequence number */
byte judged; /* the version that judged the present connection; 0 for none */

/* The connection whose SYN is noted as seen by Open vSwitch. */
byte opened;
#ifdef LOST_NOTE
#define OPENED(n) false
#else
#define OPENED(n) (opened == n)
#endif

bool busy[PACKETS];
byte under_way, handshakes;
bool ending, settled;

#define IS(b) ((word & (b)) != 0)
#define LIVE (IS(THERE) && !IS(GONE))
#define REPEATED (LIVE && IS(ANSWERED | CLOSED) && number == n)
#ifdef SYNACK_MAKES
#define OPENS (k == SYN || k == SYNACK)
#else
#define OPENS (k == SYN)
#endif
#define OF_NOW(n) (n == serial && phase == 3)

inline deliver(d, k, n)
{
	if
	:: n == serial && phase != 0 ->
		/* Segments after the end of a cut are the agent's mistake. */
		assert(!(k == ACK && forbidden));
		if
		:: k == SYN && phase == 1 -> phase = 2
		:: k == SYNACK && phase == 2 -> phase = 3
		:: k == FIN -> received[d] = true
		:: k == RST -> phase = 0
		:: k == ACK && received[A] && received[B] -> phase = 0
		:: else
		fi;
		if
		:: phase == 0 -> received[A] = false; received[B] = false
		:: else
		fi
	:: else
	fi
}

/* A packet in conntrack and Open vSwitch. */
inline track(d, k, n)
{
	pass = true;
	if
	:: state != NONE && cut && k != SYN -> pass = false
	:: else ->
		if
		:: k == SYN ->
			if
			:: backwards && state != NONE && state != OVER -> pass = false
			:: !(backwards && state != NONE && state != OVER) && (state == NONE || state == SENT || state == OVER || !replied) ->
				pass = allows;
				if
				:: pass ->
					if
					:: state <= SENT || state == OVER -> state = SENT; replied = false; backwards = false; cut = false
					:: else /* ignored */
					fi;
					if
					:: n == serial -> judged = version
					:: else
					fi
				:: !pass && state == OVER -> state = NONE; backwards = false
				:: else
				fi
			:: else ->
				/* Passes unjudged, as a packet of a connection that is known. */
				assert(cut || judged != 0 || n != serial);
				pass = !cut
			fi
		:: k == SYNACK ->
			if
			:: state == SENT && !backwards -> state = RECV; replied = true
			:: state >= RECV && state <= LAST && !backwards -> replied = true
			:: else -> pass = false; assert(!OF_NOW(n) || state != NONE)
			fi
		:: k == ACK ->
			if
			:: state == NONE ->
				assert(!OF_NOW(n)); /* picked up midway, or backwards */
				pass = (d == B || allows);
				if
				:: pass -> state = EST; replied = false; backwards = (d == B); cut = false
				:: else
				fi
			:: state == SENT -> pass = false
			:: state == RECV && d == A -> state = EST
			:: state == LAST -> state = OVER
			:: else -> replied = (replied || (d == B) != backwards)
			fi;
			assert(pass || !OF_NOW(n))
		:: k == FIN ->
			if
			:: state == NONE || state == SENT -> pass = false
			:: state == RECV || state == EST -> state = HALF
			:: state == HALF -> state = LAST
			:: else
			fi;
			assert(pass || !OF_NOW(n))
		:: k == RST ->
			if
			:: state == NONE -> pass = false
			:: else -> state = OVER
			fi;
			assert(pass || !OF_NOW(n))
		fi
	fi
}

/* The packets that A (0), A once more (1) or B (2) may send. */
#define MAY_SEND ((me == 0 && phase == 0 && serial < CONNECTIONS && under_way == 0) || \
		  (me == 1 && phase != 0 && !ending && !settled) || (me != 1 && phase == 3) || (me == 2 && phase == 2 && !ending))

inline send(d)
{
	if
	:: me == 0 && phase == 0 ->
		serial++; phase = 1; judged = 0; ending = false; settled = false; k = SYN
	:: me == 1 && phase != 0 && !ending && !settled -> k = SYN /* again */
	:: d == B && phase >= 2 && !ending && !settled -> k = SYNACK
	:: d == B && phase == 2 && handshakes == 0 -> k = RST /* refused */
	:: me != 1 && phase == 3 -> k = ACK
	:: me != 1 && phase == 3 && handshakes == 0 -> k = FIN
	:: me != 1 && phase == 3 && handshakes == 0 -> k = RST
	fi;
	if
	:: k == FIN || k == RST -> ending = true
	:: k == SYN || k == SYNACK -> handshakes++
	:: else
	fi;
	n = serial
}

/* The program in front of Open vSwitch, second half: the first has read what the packet needs. */
inline program(d)
{
	slow = true; lost = false;
	if
	:: !on -> opened = (k == SYN -> n : opened)
	:: on && k == SYN ->
		if
		:: REPEATED ->
			/* Conntrack would also pass it on and ignore it. */
			slow = false;
			assert(judged != 0 || n != serial);
#ifdef SYN_RESETS
			word = THERE | (word & NOTED);
#endif
		:: !REPEATED && open != 0 && (LIVE || (!IS(THERE) && !OPENED(n))) ->
			slow = false;
			word = THERE | (word & NOTED); number = n;
			if
			:: n == serial -> judged = open
			:: else
			fi
		:: else ->
			if
#ifndef NOTED_PASSES
			:: LIVE && IS(NOTED) -> lost = true
#endif
			:: else -> word = (IS(THERE) -> (word | GONE) : 0); opened = n
			fi
		fi
	:: on && k != SYN && LIVE && found ->
		slow = false;
		if
		:: k == SYNACK && !IS(CLOSED) -> word = word | ANSWERED
		:: k == FIN -> word = word | FIN_OF(d)
		:: k == RST -> word = word | CLOSED
		:: k == ACK && (word & BOTH_FINS) == BOTH_FINS && (received[A] && received[B]) -> word = word | CLOSED
		:: else
		fi
#ifdef SYNACK_MAKES
	:: on && k == SYNACK && !IS(THERE) && open != 0 -> slow = false; word = THERE | ANSWERED; number = n
#endif
	:: else
	fi
}

inline done(k)
{
	under_way--;
	if
	:: k == SYN || k == SYNACK -> handshakes--
	:: else
	fi
}

proctype packets(bit d; byte me)
{
	mtype k;
	byte n, open;
	bool on, found, forbidden, slow, lost, pass, held;

end:	do
	:: atomic {
		k == 0 && under_way < 2 && MAY_SEND ->
		send(d);
		busy[me] = true; under_way++;
		on = hits;
		if
		:: on && OPENS && opening != 0 && !stopped -> assert(opening == version || !complete); open = opening
		:: true
		fi;
		found = (on && k != SYN && LIVE);
		forbidden = (k == ACK && cut_at > judged)
	   }
	:: atomic {
		k != 0 && !held ->
		program(d);
		busy[me] = false; on = false; open = 0; found = false;
		if
		:: lost
		:: !lost && slow -> held = true
		:: else -> deliver(d, k, n)
		fi;
		if
		:: !held -> done(k); k = 0; n = 0; forbidden = false
		:: else
		fi;
		slow = false; lost = false
	   }
	:: atomic {
		held ->
		track(d, k, n);
		if
		:: pass -> deliver(d, k, n)
		:: else
		fi;
		done(k); k = 0; n = 0; held = false; pass = false; forbidden = false
	   }
	od
}

active proctype others()
{
end:	do
	/* Both ends of a connection that was cut give up. */
	:: atomic { cut && phase == 3 -> phase = 0; received[A] = false; received[B] = false }
#ifdef EVICTS
	:: atomic { IS(THERE) -> word = 0 }
#endif
	od
}

/* Programs that run have ended. */
inline wait_for_programs()
{
#ifndef NO_WAIT
	!busy[0]; !busy[1]; !busy[2]
#else
	skip
#endif
}

#ifdef UNANSWERED
#define PROMOTED(w) ((w & CLOSED) == 0)
#else
#define PROMOTED(w) ((w & CLOSED) == 0 && (w & ANSWERED) != 0)
#endif
#define STATE_OF(w) ((w & BOTH_FINS) == 0 -> EST : ((w & BOTH_FINS) == BOTH_FINS -> LAST : HALF))

#define DIES if :: !died && events < EVENTS -> died = true; events++; goto next :: skip fi

/* Makes conntrack agree with w. An entry in the way is replaced. */
inline agree(w)
{
	atomic {
		if
		:: PROMOTED(w) -> state = STATE_OF(w); replied = true; backwards = false; cut = false
		:: !PROMOTED(w) && (w & NOTED) -> state = NONE; replied = false; backwards = false; cut = false
		:: else
		fi
	}
}

/* Takes the untracked connection out of the map. The agent may die at each step. */
inline promote()
{
	do
	:: true ->
		atomic {
			w = word;
			if
			:: !LIVE -> break
#ifndef NO_NOTE
			:: LIVE && PROMOTED(w) -> word = word | NOTED; w = word
#endif
			:: else
			fi
		};
		DIES;
		agree(w);
		DIES;
#if defined(NO_SECOND_LOOK)
		atomic { word = word | GONE };
		break
#elif defined(LOOK_AFTER)
		atomic { word = word | GONE; found_now = word & ~GONE };
		if
		:: found_now != w -> w = found_now; agree(w)
		:: else
		fi;
		break
#else
		atomic {
			if
			:: word == w -> word = (IS(THERE) -> (word | GONE) : 0); break
			:: else
			fi
		}
#endif
	od;
	w = 0;
	DIES;
	if
	:: IS(GONE) ->
		wait_for_programs();
#ifndef TAKEN_AT_ONCE
		/* Two seconds later, if it was answered: no copy of its SYN is on its way. */
		atomic { !IS(ANSWERED) || handshakes == 0 -> settled = (IS(ANSWERED) && phase == 3); word = 0 }
#else
		word = 0
#endif
	:: else
	fi
}

active proctype agent()
{
	byte w, found_now, changes, events;
	bool died = IMMORTAL, stops;

	atomic { version = 1;	run packets(A, 0); run packets(A, 1); run packets(B, 2) };
	goto works;
next:
	/* The next agent: first of all it promotes what it finds. */
	w = 0; found_now = 0;
	stopped = true;
	wait_for_programs();
	promote();
	/* The former one may have died between the bundle and the eviction. */
	atomic { hits = true; stopped = false; opening = (allows -> version : 0); complete = true };
works:
end:	do
	/* The sweep. */
	:: IS(THERE) -> promote()
	/* A change of policies. */
	:: changes < CHANGES && events < EVENTS ->
		changes++; events++;
		atomic { version++; allows = !allows; complete = false };
		DIES;
		atomic {
			complete = true;
#ifndef NO_GENERATION
			opening = (allows -> version : 0);
#endif
#ifdef VOIDS
			word = 0
#endif
		};
		if
		:: !allows ->
			/* cut */
			wait_for_programs();
#ifndef NO_CUT
			promote();
#endif
			DIES;
			atomic {
				if
				:: state != NONE && !backwards -> cut = true
				:: else
				fi;
				cut_at = version
			}
		:: true
		fi
	/* Hits end: off, observe, a trace, the agent's end. */
	:: !stops && events < EVENTS ->
		stops = true; events++;
#ifdef LATE
		hits = false;
#endif
		stopped = true;
		wait_for_programs();
		promote();
		hits = false;
		DIES;
		atomic { hits = true; stopped = false }
	od
}
