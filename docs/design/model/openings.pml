/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Openings (not built): connections with one request on the fast path. The protocol that this model checks:
 *
 *   - If Open vSwitch has let a SYN to a server's port pass, an *opening* repeats its verdict for later SYNs, until a change of
 *     the rules, of Services, or the end of its lease voids it. Such a connection is *untracked*: conntrack does not know it.
 *   - To the cache it is what an established connection is to conntrack: a change of rules does not void it.
 *   - Its entry is one word (the SYN's sequence number; new, answered, FINs, closed, gone, noted), which programs and agent
 *     change with atomic operations only. Only a SYN makes an entry, and only if Open vSwitch has not seen a SYN of this
 *     connection.
 *   - A SYN that Open vSwitch gets leaves a *bar*, in a map that forgets none while SYNs of the connection may come; connections
 *     may share bars. First it leaves the bar, then it looks for an entry; if there is one, the SYN is dropped.
 *   - A SYN with an opening makes an entry that is new, copies the label, looks for a bar, and only then clears "new". If there
 *     is a bar, the connection is Open vSwitch's. While the entry is new, other SYNs are dropped, and other segments are Open
 *     vSwitch's.
 *   - A SYN that repeats the number of an entry is a segment of its connection: if that is answered or closed, or if the opening
 *     is still the one that made the entry. With another number and an opening it begins a connection in that entry, which is
 *     new again. Otherwise the connection becomes Open vSwitch's: the SYN leaves a bar, and the entry is gone.
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
 *   -DNO_NUMBER       the word does not contain the SYN's number
 *   -DTWO_STEPS       the agent compares and swaps in two steps, as it would with the calls for maps
 *   -DNO_BAR          a SYN of Open vSwitch leaves no bar
 *   -DLOST_BAR        bars are forgotten. So `candidates`, which forgets, cannot hold them
 *   -DBARS_BLINDLY    a SYN that has left a bar does not look for an entry
 *   -DONE_LOOK        a SYN looks for a bar only before it makes an entry
 *   -DBEGINS_AGAIN    a repeated SYN begins its unanswered entry again
 *   -DNEW_COUNTS      segments are hits while the entry is new
 *   -DNO_GENERATION   a change does not void the opening
 *   -DVOIDS           a change of policies voids untracked connections as well
 *   -DNO_NOTE         nothing is noted before the entry in conntrack is made
 *   -DNOTED_PASSES    a SYN reaches Open vSwitch although an entry may be left in conntrack
 *   -DTAKEN_AT_ONCE   a promoted connection leaves the map while copies of its SYN may come
 *   -DNO_CUT          `cut` does not promote first
 *   -DCUT_FIRST       `cut` promotes after it has looked
 *
 * Safety: a SYN that begins a connection is judged by Open vSwitch, or by an opening not older than the last complete change;
 * no segment of an established connection is lost or picked up midway; after a change in `cut`, none of a forbidden one passes;
 * an entry that the agent made has the label of the connection that it is left to.
 *
 * Conntrack is Linux's (nf_conntrack_tcp_packet) without its windows. A connection begins when no packet of the former one is
 * on its way, and ends when no packet of its handshake is. Left out: connections opened by both ends; timeouts of live
 * connections; what happens if no agent comes back; removed Pods.
 */

#define A 0 /* opens */
#define B 1

#define CONNECTIONS 2
#define CHANGES 1
/* Of these: a change, an end of hits, a death of the agent. Some variants are found sooner without. */
#if defined(TAKEN_AT_ONCE) || defined(NO_NUMBER) || defined(NO_BAR) || defined(LOST_BAR) || defined(BARS_BLINDLY) || defined(ONE_LOOK) || \
	defined(BEGINS_AGAIN) || defined(NEW_COUNTS) || defined(SYNACK_MAKES) || defined(UNANSWERED)
#define EVENTS 0
#else
#define EVENTS 2
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
#define NEW 128
byte word, number; /* number: the SYN's sequence number, a part of the word */
byte copied, by; /* the label in the entry is of this connection, and of an opening of this version */
byte judged; /* the version that judged the present connection; 0 for none */

bool bar;

bool busy[PACKETS];
byte under_way, handshakes;
bool ending, settled;

#define IS(b) ((word & (b)) != 0)
#define LIVES(w) (((w) & (THERE | GONE)) == THERE)
#ifdef NEW_COUNTS
#define CARRIES(w) LIVES(w)
#else
#define CARRIES(w) (((w) & (THERE | GONE | NEW)) == THERE)
#endif
#ifdef NO_NUMBER
#define UNCHANGED(w, m) (word == w)
#else
#define UNCHANGED(w, m) (word == w && number == m)
#endif
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
		:: k == ACK && last -> phase = 0
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

/* A segment changes the entry in one operation of the word. */
inline segment(d)
{
	if
	:: k == ACK && CARRIES(w) && !last -> /* a hit: it has read the word */
	:: k == ACK && !CARRIES(w) -> held = true
#ifdef SYNACK_MAKES
	:: k == SYNACK && !IS(THERE) && open != 0 -> word = THERE | ANSWERED; number = n; copied = n
#endif
	:: else ->
		if
		:: !CARRIES(word) -> held = true
		:: CARRIES(word) && k == SYNACK && !IS(CLOSED) -> word = word | ANSWERED
		:: CARRIES(word) && k == FIN -> word = word | FIN_OF(d)
		:: CARRIES(word) && (k == RST || k == ACK) -> word = word | CLOSED
		:: else
		fi
	fi
}

/* The program has ended, and its packet is on its way. */
inline leaves()
{
	busy[me] = false; on = false; open = 0; w = 0; m = 0
}

/* Whether it was lost or delivered, the packet is gone. */
inline gone()
{
	leaves();
	under_way--;
	if
	:: k == SYN || k == SYNACK -> handshakes--
	:: else
	fi;
	k = 0; n = 0; last = false; forbidden = false; held = false; pass = false
}

#ifdef ONE_LOOK
#define ONLY_LOOK && !bar
#else
#define ONLY_LOOK
#endif
#define DROP gone(); goto end
#define TO_OVS held = true; leaves(); goto end
#ifndef NO_BAR
#define LEAVE_BAR bar = true
#else
#define LEAVE_BAR skip
#endif

inline hit()
{
	deliver(d, k, n);
	gone()
}

proctype packets(bit d; byte me)
{
	mtype k;
	byte n, open, w, m;
	bool on, last, forbidden, held, pass;

end:	do
	:: atomic {
		k == 0 && under_way < 2 && MAY_SEND ->
		send(d);
		busy[me] = true; under_way++;
		on = hits; w = (k == SYN || (k == ACK && CARRIES(word)) -> word : 0); m = (k == SYN -> number : 0);
		if
		:: on && OPENS && opening != 0 && !stopped ONLY_LOOK -> assert(opening == version || !complete); open = opening
		:: true
		fi;
		last = (k == ACK && received[A] && received[B]);
		forbidden = (k == ACK && cut_at > judged)
	   }
	:: atomic {
		k != 0 && k != SYN && !held ->
		if
		:: on -> segment(d)
		:: else -> held = true
		fi;
		if
		:: held -> leaves()
		:: else -> hit()
		fi
	   }
	:: atomic {
		k == SYN && !held && on && LIVES(w) ->
		if
		:: w & NEW -> DROP
		:: else ->
			if
			:: m == n && (w & (ANSWERED | CLOSED)) -> /* a copy: conntrack would also pass it on and ignore it */
				assert(judged != 0 || n != serial);
#ifdef SYN_RESETS
				word = THERE | (word & NOTED);
#endif
				hit(); goto end
#ifndef BEGINS_AGAIN
			:: m == n && !(w & (ANSWERED | CLOSED)) && open != 0 && open == by -> hit(); goto end
			:: m != n && open != 0 ->
#else
			:: !(m == n && (w & (ANSWERED | CLOSED))) && open != 0 ->
#endif
				if
				:: UNCHANGED(w, m) -> word = THERE | NEW | (w & NOTED); number = n; w = word; m = n; goto made
				:: else -> DROP
				fi
#ifndef NOTED_PASSES
			:: !(m == n && (w & (ANSWERED | CLOSED))) && !(open != 0 && (m != n || open == by)) && (w & NOTED) -> DROP
#endif
			:: else -> LEAVE_BAR
			fi
		fi
	   };
	   atomic {
		if
		:: UNCHANGED(w, m) -> word = w | GONE; TO_OVS
		:: else -> DROP
		fi
	   }
	:: atomic {
		k == SYN && !held && open != 0 && !LIVES(w) && word == 0 ->
		word = THERE | NEW; number = n; w = word; m = n
	   };
made:	   copied = n; by = open;
	   atomic {
		if
#ifndef ONE_LOOK
		:: bar && (w & NOTED) -> DROP
		:: bar && !(w & NOTED) ->
			if
			:: UNCHANGED(w, m) -> word = w | GONE; TO_OVS
			:: else -> DROP
			fi
#endif
		:: else
		fi
	   };
	   atomic {
		if
		:: UNCHANGED(w, m) ->
			word = w & ~NEW;
			if
			:: n == serial -> judged = open
			:: else
			fi;
			hit()
		:: else -> gone()
		fi
	   }
	/* No opening, no room, or another copy has made the entry. */
	:: atomic { k == SYN && !held && !(on && LIVES(w)) -> LEAVE_BAR; w = 0; m = 0; open = 0 };
	   atomic {
		if
#ifndef BARS_BLINDLY
		:: LIVES(word) -> gone()
#endif
		:: else -> held = true; leaves()
		fi
	   }
	:: atomic {
		held ->
		track(d, k, n);
		if
		:: pass -> hit()
		:: else -> gone()
		fi
	   }
	od
}

active proctype others()
{
end:	do
	/* Both ends of a connection that was cut give up. */
	:: atomic { cut && phase == 3 -> phase = 0; received[A] = false; received[B] = false }
#ifdef EVICTS
	:: atomic { IS(THERE) -> word = 0; number = 0 }
#endif
	/* Two minutes after the last SYN of Open vSwitch: no other SYN is on its way, or will be sent. */
#ifndef LOST_BAR
	:: atomic { bar && handshakes == 0 && (phase == 0 || phase == 3) -> bar = false; settled = (settled || phase == 3) }
#else
	:: atomic { bar -> bar = false }
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
#define PROMOTED(w) ((w & (CLOSED | NEW)) == 0)
#else
#define PROMOTED(w) ((w & (CLOSED | NEW)) == 0 && (w & ANSWERED) != 0)
#endif
#define STATE_OF(w) ((w & BOTH_FINS) == 0 -> EST : ((w & BOTH_FINS) == BOTH_FINS -> LAST : HALF))

#define DIES if :: !died && events < EVENTS -> died = true; events++; goto next :: skip fi

/* Makes conntrack agree with w. An entry in the way is replaced. */
inline agree(w)
{
	atomic {
		if
		:: PROMOTED(w) -> state = STATE_OF(w); replied = true; backwards = false; cut = false; label = copied
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
			w = word; m = number;
			if
			:: !LIVES(w) -> break
#ifndef NO_NOTE
			:: LIVES(w) && PROMOTED(w) -> word = word | NOTED; w = word
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
#elif defined(TWO_STEPS)
		if
		:: UNCHANGED(w, m) -> word = w | GONE; break
		:: else
		fi
#else
		atomic {
			if
			:: UNCHANGED(w, m) -> assert(!PROMOTED(w) || label == number); word = w | GONE; label = 0; break
			:: else
			fi
		}
#endif
	od;
	w = 0; m = 0; label = 0;
	DIES;
	if
	:: IS(GONE) ->
		wait_for_programs();
#ifndef TAKEN_AT_ONCE
		/* Two seconds later, if it was answered: no copy of its SYN is on its way. */
		atomic { !IS(ANSWERED) || handshakes == 0 -> settled = (settled || (IS(ANSWERED) && phase == 3)); word = 0; number = 0; copied = 0; by = 0 }
#else
		atomic { word = 0; number = 0; copied = 0; by = 0 }
#endif
	:: else
	fi
}

active proctype agent()
{
	byte w, m, label, found_now, changes, events;
	bool died, stops;

	atomic { version = 1;	run packets(A, 0); run packets(A, 1); run packets(B, 2) };
	goto works;
next:
	/* The next agent: first of all it promotes what it finds. */
	w = 0; m = 0; label = 0; found_now = 0;
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
			word = 0; number = 0
#endif
		};
		if
		:: !allows ->
			/* cut */
			wait_for_programs();
#if !defined(NO_CUT) && !defined(CUT_FIRST)
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
#ifdef CUT_FIRST
			promote()
#endif
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
