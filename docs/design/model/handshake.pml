/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Learning at the handshake: see docs/design/oncache-learning.md. One Node, both directions of a 5-tuple whose ports are used
 * again and again. Packets pass a program before Open vSwitch, conntrack, and a program behind it; Open vSwitch may hold a
 * packet for as long as it likes. `make model` checks that the protocol as built holds, and that each of the broken variants
 * below is caught:
 *
 *   -DNO_CANCEL   a ticket outlives the beginning and the end of its connection
 *   -DANY_SYNACK  a SYN-ACK teaches, whoever has opened the connection
 *   -DBOTH        it also does if both ends have opened it
 *   -DLOST_NOTE   another flow takes the cell in which it is noted that a flow has opened the connection. This is so as built; the
 *                 design says why it may be
 *
 * Safety: a packet takes the fast path only in a connection that conntrack takes for established.
 *
 * Conntrack is Linux's as far as these packets go (nf_conntrack_tcp_packet): the first SYN is the original direction;
 * a SYN-ACK of the other direction makes it SYN_RECV; a segment of the original direction then makes it established. That it
 * remembers two SYNs is left out, because it may forget that.
 */

#define FORTH 0
#define BACK 1

mtype = { SYN, SYNACK, ACK, RST };

/* Conntrack. */
#define NONE 0
#define SENT 1
#define RECV 2
#define EST 3
byte state;
bit original;

/* The cache: what each direction has. */
bool entry[2], other_proved[2], opened[2];
/* The number of the packet whose ticket is outstanding; 0 for none. */
byte ticket[2];
byte issued;

#define PROVED(d) (entry[d] && other_proved[d])

/* A SYN-ACK may teach. */
#if defined(ANY_SYNACK)
#define MAY_BEGIN(d) (!entry[1 - d])
#elif defined(BOTH)
#define MAY_BEGIN(d) (!entry[1 - d] && opened[1 - d])
#else
#define MAY_BEGIN(d) (!entry[1 - d] && opened[1 - d] && !opened[d])
#endif

inline cancel(d)
{
#ifndef NO_CANCEL
	ticket[d] = 0
#else
	skip
#endif
}

/* Before Open vSwitch. */
inline before(d, k)
{
	if
	:: k != ACK ->
		entry[0] = false; entry[1] = false;
		other_proved[0] = false; other_proved[1] = false;
		cancel(0); cancel(1);
		if
		:: k == RST -> opened[0] = false; opened[1] = false
		:: k == SYN -> opened[d] = true
		:: else
		fi
	:: else
	fi
}

/* Conntrack's state after the packet, and whether Open vSwitch passes it on, and writes the epoch. */
inline track(d, k)
{
	pass = true; epoch = true;
	if
	:: k == RST -> state = NONE; epoch = false
	:: k == SYN && (state == NONE) -> state = SENT; original = d; epoch = false
	:: k == SYN && state != NONE -> epoch = (d != original || state >= RECV)
	:: k == SYNACK ->
		if
		:: state == SENT && d != original -> state = RECV
		:: state == RECV
		:: state == EST && d != original /* an answer to an old SYN: ignored */
		:: else -> pass = false
		fi
	:: k == ACK ->
		if
		:: state == RECV && d == original -> state = EST
		:: (state == RECV && d != original) || state == EST
		:: else -> pass = false
		fi
	fi
}

/* Behind Open vSwitch: the packet redeems its ticket. */
inline learn(d)
{
	if
	:: number != 0 && ticket[d] == number && marked ->
		ticket[d] = 0;
		if
		:: kind == SYNACK ->
			if
			:: MAY_BEGIN(d) ->
				entry[d] = true;
				other_proved[d] = false;
				if
				:: entry[1 - d] -> other_proved[0] = true; other_proved[1] = true
				:: else
				fi
			:: else
			fi
		:: kind == ACK ->
			entry[d] = true;
			if
			:: entry[1 - d] -> other_proved[0] = true; other_proved[1] = true
			:: else
			fi
		fi
	:: else
	fi
}

/* The packets of a direction. Open vSwitch may hold one, behind conntrack, while others pass. */
proctype packets(bit d)
{
	mtype k, kind;
	bool pass, epoch, holds, marked;
	byte n, number;

end:	do
	:: atomic {
		!holds && issued < 6 ->
		if
		:: k = SYN
		:: k = SYNACK
		:: k = ACK
		:: k = RST
		fi;
		if
		:: k == ACK && PROVED(d) ->
			/* A hit. */
			assert(state == EST)
		:: else ->
			before(d, k);
			n = 0;
			if
			:: (k == SYNACK || k == ACK) && ticket[d] == 0 ->
				issued++; n = issued; ticket[d] = n
			:: else
			fi;
			track(d, k);
			if
			:: pass ->
				holds = true; kind = k; number = n; marked = epoch
			:: else ->
				/* Dropped. Its ticket is not kept for long. */
				if
				:: n != 0 -> ticket[d] = 0
				:: else
				fi
			fi
		fi;
		k = 0; pass = false; epoch = false; n = 0
	   }
#ifdef LOST_NOTE
	:: atomic { opened[d] -> opened[d] = false }
#endif
	:: atomic {
		holds ->
		learn(d);
		holds = false; number = 0; kind = 0; marked = false
	   }
	od
}

init
{
	atomic {
		run packets(FORTH);
		run packets(FORTH);
		run packets(BACK);
		run packets(BACK)
	}
}
