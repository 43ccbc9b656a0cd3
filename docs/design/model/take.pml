/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * CPUs of a receiver that give and tell a key of the rewriting tunnel at the same time: see
 * docs/design/oncache-rewriting.md. Two flows use the same slot. A CPU that tells notes the time in the slot and compares the
 * serial number afterward; a CPU that takes the slot for a flow makes the serial number odd and compares the time
 * afterward. Safety: a key is told only for the flow that it was given to, and given to another flow only when it was not
 * told for REST ticks.
 *
 *   -DAS_BUILT        holds
 *   -DNO_SERIAL       who tells does not compare the serial number
 *   -DNO_SECOND_LOOK  who takes does not compare the time again once it has the slot for itself
 *   -DSERIAL_FIRST    who tells compares the serial number before it notes the time
 */

#define REST 2
#define FLOWS 2
#define SERIALS 6 /* the serial number has 32 bits: it does not wrap around while a program runs */

/* The slot. */
byte flow = FLOWS; /* nobody's */
byte serial;
byte age = REST; /* since the time that is noted in it */

/* The property's knowledge: ticks since the key was last told for each flow. */
byte told[FLOWS] = REST;

#define RESTED (age >= REST)
#define ODD(n) (n % 2)

/* take gives the key to flow f. */
proctype take(byte f)
{
	byte seen;

	do
	:: serial < SERIALS ->
		seen = serial;
		if
		:: !ODD(seen) && RESTED ->
			atomic {
				if
				:: serial == seen -> serial++
				:: else -> goto next
				fi
			};
#ifndef NO_SECOND_LOOK
			if
			:: RESTED
			:: else ->
				serial = seen;
				goto next
			fi;
#endif
			flow = f;
			age = 0;
			atomic {
				assert(told[1 - f] >= REST);
				serial = seen + 2
			}
		:: else
		fi;
next:		seen = 0
	:: serial >= SERIALS -> break
	od
}

/* tell tells the key of flow f. The telling counts from when the time was noted: until it is on its way, it grows older as
 * a packet does. */
proctype tell(byte f)
{
	byte seen;

end:	do
	:: seen = serial;
		if
		:: !ODD(seen) && flow == f ->
#ifdef SERIAL_FIRST
			if
			:: serial == seen
			:: else -> goto next
			fi;
#endif
			age = 0;
			atomic {
				if
#if defined(NO_SERIAL) || defined(SERIAL_FIRST)
				:: true ->
#else
				:: serial == seen ->
#endif
					assert(flow == f);
					told[f] = age
#if !defined(NO_SERIAL) && !defined(SERIAL_FIRST)
				:: else
#endif
				fi
			}
		:: else
		fi;
next:		seen = 0
	od
}

active proctype clock()
{
end:	do
	:: atomic {
		age < REST || told[0] < REST || told[1] < REST;
		age = (age < REST -> age + 1 : REST);
		told[0] = (told[0] < REST -> told[0] + 1 : REST);
		told[1] = (told[1] < REST -> told[1] + 1 : REST)
	   }
	od
}

init
{
	atomic {
		run take(0);
		run take(1);
		run tell(0);
		run tell(1)
	}
}
