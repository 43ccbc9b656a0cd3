/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * A restart of the agent while Open vSwitch forwards: see "Restart" in docs/design/oncache-coherency.md. The former agent may end
 * between any two of its steps. The next agent may have the same rules or others. Hits continue until its flows are others, or until
 * its own cache takes over. `make model` checks that the protocol as built holds, and that each of the broken variants below is
 * caught:
 *
 *   -DNO_COMPARISON  the epochs of Open vSwitch and of the cache are not compared
 *   -DLATE_END       the hits end only after the first change that is more than a renewal
 *   -DNO_EVICTION    the new cache adopts the entries of the former one when rules have changed
 *   -DSAME_EPOCH     the new cache continues with the epoch of the former one
 *   -DSILENT         after that, flows of the former round that differ are replaced or deleted without an eviction
 *
 * A rule version stands for everything that decides a verdict, as in coherency.pml. Safety: from the moment a change is complete,
 * no packet uses a result of an earlier version. The flows of an agent are complete when that agent says so: also if the
 * switch had it from an agent that ended before it could say so.
 */

#define CHANGES 2 /* changes by the former agent */

/* Open vSwitch: the flow tables, and what the kernel's megaflow still applies. */
byte table_version, table_epoch = 1;
byte megaflow_version, megaflow_epoch = 1;

/* The maps: the mode, and the endpoint's word. */
bool hits = true;
byte generation, epoch = 1;

/* The entry of one flow. */
bool entry_valid;
byte entry_generation, entry_version;

byte complete; /* version of the last complete change */
bool ended;    /* the former agent */

/* The former agent changes the rules, and is killed at any time. */
active proctype former()
{
	byte version = 0;

	do
	:: version < CHANGES ->
		version++;
		if
		:: break
		:: true
		fi;
		atomic {
			table_version = version;
			table_epoch = version + 1
		};
		if
		:: break
		:: true
		fi;
		atomic {
			generation++;
			epoch = version + 1
		};
		if
		:: break
		:: true
		fi;
		complete = version
	:: true -> break
	od;
	ended = true
}

#define FIRST_EPOCH (CHANGES + 2) /* no agent has used it */

/* A change as the agent makes it once its cache has taken over: one bundle, one store. */
inline change()
{
	atomic {
		table_version++;
#ifndef SILENT
		table_epoch++
#endif
	};
#ifndef SILENT
	atomic {
		generation++;
		epoch = table_epoch
	};
#endif
	complete = table_version
}

active proctype next()
{
	ended;
#ifndef NO_COMPARISON
	if
	:: table_epoch != epoch -> hits = false
	:: else
	fi;
#endif
	/* The flows of this agent replace the former agent's. Its marks come later. */
	if
	:: true /* they are the same */
	:: true ->
#ifdef LATE_END
		table_version++;
		complete = table_version;
		hits = false
#else
		hits = false;
		table_version++
#endif
	fi;
	complete = table_version;
	/* The new cache takes over: nothing is left of the former one. */
	hits = false;
#ifndef NO_EVICTION
	atomic {
		generation++;
		epoch = 0
	};
#endif
#ifndef SAME_EPOCH
	table_epoch = FIRST_EPOCH;
#endif
	atomic {
#ifndef NO_EVICTION
		generation++;
#endif
		epoch = table_epoch
	};
	hits = true;
	/* Flows of former rounds that were not renewed are replaced, or deleted in the end. */
	if
	:: true /* there are none, and nothing is evicted */
	:: true -> change()
	fi
}

/* A revalidator brings the megaflow up to date: some time later. */
active proctype revalidator()
{
end:	do
	:: atomic {
		megaflow_version != table_version || megaflow_epoch != table_epoch ->
		megaflow_version = table_version;
		megaflow_epoch = table_epoch
	   }
	od
}

#define IS_HIT (hits && entry_valid && entry_generation == generation)

/* Two packets of the flow at a time, on two CPUs. */
proctype packet()
{
	byte mark, version, g, e;

end:	do
	:: atomic {
		IS_HIT ->
		assert(entry_version >= complete)
	   }
	:: atomic {
		!IS_HIT ->
		mark = megaflow_epoch;
		version = megaflow_version
	   };
		atomic {
			g = generation;
			e = epoch
		};
		if
		:: mark == e ->
			atomic {
				entry_valid = true;
				entry_generation = g;
				entry_version = version
			}
		:: else
		fi
	od
}

init
{
	atomic {
		run packet();
		run packet()
	}
}
