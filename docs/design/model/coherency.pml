/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * The coherency protocol of ONCache for one local endpoint, with Open vSwitch's stale megaflows: see "Coherency" in
 * docs/design/oncache.md. `make model` checks that the protocol as built holds, and that each of the broken variants below
 * is caught:
 *
 *   -DPAPER             evict after the barrier, no epoch: what the paper does, without its pause
 *   -DSEPARATE_BUNDLES  the epoch reaches Open vSwitch in a bundle of its own, before the change
 *   -DBUMP_FIRST        the generation moves on before the change is applied
 *   -DTWO_STORES        generation and epoch are published one after the other, epoch last
 *   -DNO_LEASE          entries live until they are evicted, and one eviction is lost
 *
 * A rule version stands for everything that decides a verdict. A verdict is as old as the version it was decided under.
 * Safety: from the moment a change is complete, no packet uses a result of an earlier version. With -DLOSE_EVICTION the
 * agent forgets to publish one change: then no packet may use an old result for longer than a lease and one revalidation.
 */

#define CHANGES 2 /* changes of the rules */
#define LEASE 1	  /* ticks */

#ifdef NO_LEASE
#define LOSE_EVICTION
#endif

/* Open vSwitch: the flow tables, and what the kernel's megaflow still applies. */
byte table_version, table_epoch = 1;
byte megaflow_version, megaflow_epoch = 1;

/* The endpoint's word in the endpoints map. */
byte generation, epoch = 1;

/* The entry of one flow. */
bool entry_valid;
byte entry_generation, entry_version, entry_lease;

byte complete;	/* version of the last complete change */
byte now;
bool lost;	/* an eviction was lost ... */
byte lost_at;	/* ... at this time */

#ifdef NO_LEASE
#define LEASE_RUNS true
#else
#define LEASE_RUNS (entry_lease >= now)
#endif

#ifdef PAPER
#define MAY_LEARN(mark, e) (mark != 0)
#else
#define MAY_LEARN(mark, e) (mark == e)
#endif

/* The agent changes the rules. Between two statements anything may happen. */
active proctype agent()
{
	byte version = 0;

	do
	:: version < CHANGES ->
		version++;
#ifdef BUMP_FIRST
		generation++;
#endif
#ifdef SEPARATE_BUNDLES
		table_epoch = version + 1;
		table_version = version;
#else
		/* One atomic bundle; its barrier says nothing about megaflows. */
		atomic {
			table_version = version;
			table_epoch = version + 1;
		}
#endif
		if
#ifdef LOSE_EVICTION
		:: !lost ->
			lost = true;
			lost_at = now;
#endif
		:: true ->
#if defined(PAPER)
			generation++;
#elif defined(BUMP_FIRST)
			epoch = version + 1;
#elif defined(TWO_STORES)
			generation++;
			epoch = version + 1;
#else
			/* One store. */
			atomic {
				generation++;
				epoch = version + 1;
			}
#endif
		fi;
		complete = version;
	:: version == CHANGES -> break
	od
}

/* A revalidator brings the megaflow up to date: some time later. */
active proctype revalidator()
{
end:	do
	:: atomic {
		megaflow_version != table_version || megaflow_epoch != table_epoch ->
		megaflow_version = table_version;
		megaflow_epoch = table_epoch;
	   }
	od
}

#ifdef LOSE_EVICTION
/* Time passes; a megaflow is not stale and a packet not on its way for longer than a tick. */
bool on_its_way[2];
byte since[2];
#define PUNCTUAL(i) (!on_its_way[i] || since[i] == now)
#define END (LEASE + 5)

active proctype clock()
{
	do
	:: atomic {
		now < END && megaflow_version == table_version && megaflow_epoch == table_epoch && PUNCTUAL(0) && PUNCTUAL(1) ->
		now++
	   }
	:: now == END -> break
	od
}
#define DEPART(i) on_its_way[i] = true; since[i] = now
#define ARRIVE(i) on_its_way[i] = false
#define FRESH(v) (v >= complete || (lost && now <= lost_at + LEASE + 2))
#else
#define DEPART(i) skip
#define ARRIVE(i) skip
#define FRESH(v) (v >= complete)
#endif

/* Two packets of the flow at a time, on two CPUs. */
proctype packet(byte i)
{
	byte mark, version, g, e;

end:	do
	:: /* Hit: the generation is compared last, that is when the packet uses the entry. */
		atomic {
			entry_valid && entry_generation == generation && LEASE_RUNS ->
			assert(FRESH(entry_version))
		}
	:: /* Miss: through Open vSwitch. Verdict and mark are decided in one translation. */
		atomic {
			!(entry_valid && entry_generation == generation && LEASE_RUNS) ->
			mark = megaflow_epoch;
			version = megaflow_version;
			DEPART(i)
		};
		/* The learning program reads generation and epoch in one load ... */
		atomic {
			g = generation;
			e = epoch
		};
		/* ... and writes the entry some time later. */
		if
		:: MAY_LEARN(mark, e) ->
			atomic {
				entry_valid = true;
				entry_generation = g;
				entry_version = version;
				entry_lease = now + LEASE;
				ARRIVE(i)
			}
		:: else -> ARRIVE(i)
		fi
	od
}

init
{
	atomic {
		run packet(0);
		run packet(1)
	}
}
