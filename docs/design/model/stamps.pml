/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Stamps of packets from one local Pod to another, with Open vSwitch's stale megaflows and slow handlers: see
 * docs/design/oncache-stamps.md. `make model` checks that the protocol as built holds, and that each of the broken variants below is
 * caught:
 *
 *   -DNO_STAMP    packets carry nothing: Open vSwitch without ONCache
 *   -DBUMP_FIRST  the stamp becomes another one before the change is applied
 *   -DOWN_COUNT   each Pod counts its own changes, and a stamp is the sum
 *   -DWRAP        a stamp comes back while megaflows from its last use are there
 *
 * A rule version stands for everything that decides a verdict. Safety: a packet that enters after a change is complete is
 * treated by rules that are at least as new, whether revalidators ever run or not. Megaflows do not age here; that a number does
 * not come back before they have is an assumption, which WRAP breaks.
 */

#define CHANGES 3
#define PODS 2

byte table_version; /* the flow tables */
byte complete;	    /* version of the last complete change */
byte count;	    /* of changes */
byte changed[PODS]; /* number of each Pod's last change */

#define LATER(a, b) (a > b -> a : b)

#if defined(NO_STAMP)
#define STAMP 0
#elif defined(WRAP)
#define STAMP (LATER(changed[0], changed[1]) % 2)
#elif defined(OWN_COUNT)
#define STAMP ((changed[0] + 2 * changed[1]) % (CHANGES + 1))
#else
#define STAMP LATER(changed[0], changed[1])
#endif

/* The kernel's megaflows: one for each stamp. */
bool there[CHANGES + 1];
byte applies[CHANGES + 1];

inline move_on(pod)
{
	atomic {
#ifdef OWN_COUNT
		changed[pod]++;
#else
		count++;
		changed[pod] = count;
#endif
	}
}

/* The agent changes the rules of either Pod. Between two statements anything may happen. */
active proctype agent()
{
	byte version = 0, pod = 0;

	do
	:: version < CHANGES ->
		version++;
		select (pod : 0 .. PODS - 1);
#ifdef BUMP_FIRST
		move_on(pod);
		table_version = version;
#else
		table_version = version; /* the barrier's answer */
		move_on(pod);
#endif
		complete = version;
	:: version == CHANGES -> break
	od
}

/* Revalidators bring a megaflow up to date, or remove it, at any time or never. */
active proctype revalidator()
{
	byte s;

end:	do
	:: atomic {
		select (s : 0 .. CHANGES);
		if
		:: there[s] -> applies[s] = table_version
		:: there[s] -> there[s] = false
		:: else -> skip
		fi;
		s = 0
	   }
	od
}

/* Packets on two CPUs. */
proctype packet()
{
	byte stamp, entered, version;

end:	do
	:: true ->
		atomic {
			entered = complete;
			stamp = STAMP
		};
		if
		:: atomic {
			there[stamp] ->
			version = applies[stamp]
		   }
		:: atomic {
			/* An upcall: a handler translates by the tables of the moment ... */
			!there[stamp] ->
			version = table_version
		   };
			/* ... and makes a megaflow of it some time later. */
			atomic {
				if
				:: !there[stamp] ->
					there[stamp] = true;
					applies[stamp] = version
				:: else -> skip
				fi
			}
		fi;
		assert(version >= entered);
		atomic {
			stamp = 0;
			entered = 0;
			version = 0
		}
	od
}

init
{
	atomic {
		run packet();
		run packet()
	}
}
