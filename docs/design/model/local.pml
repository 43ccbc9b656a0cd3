/* Copyright 2026 The antrea-oncache Authors.
 * SPDX-License-Identifier: Apache-2.0
 *
 * Flows between two Pods of one Node: see docs/design/oncache-same-node.md. Both Pods' rules decide about a packet, and a
 * change concerns either of them. `make model` checks that the protocol as built holds, and that each of the broken variants
 * below is caught:
 *
 *   -DONE_EPOCH       packets carry the receiver's epoch only
 *   -DONE_GENERATION  the entry has the sender's generation only
 *   -DNODE_EPOCH      one epoch of the Node for all packets between its Pods, published after the generation
 *   -DSTAMP           the stamp serves as epoch, and is published after the generation, as stamps are
 *   -DSTAMP_WRAP      the stamp serves as epoch, is published before the generation, and has two values
 *
 * A rule version stands for everything that decides a verdict, for each of the two Pods. Safety: from the moment a change
 * of a Pod is complete, no packet uses a result of an earlier version of this Pod's rules.
 */

#define CHANGES 3 /* of either Pod */
#define A 0	  /* sends */
#define B 1	  /* receives */

#if defined(STAMP) || defined(STAMP_WRAP)
#define BY_STAMP
#endif

/* Open vSwitch: the flow tables, and what a megaflow applies. There is one for each stamp, if the stamp tells them apart. */
byte table_version[2], table_epoch[2];
typedef megaflow_type {
	bool there;
	byte version[2];
	byte epoch[2]
};
megaflow_type megaflow[CHANGES + 1];

/* The words of both Pods in the endpoints map; the number of each Pod's last change; the Node's epoch. */
byte generation[2], epoch[2], changed[2], node_epoch;

/* The entry of one flow. */
bool entry_valid;
byte entry_generation[2], entry_version[2];

byte complete[2]; /* version of each Pod's last complete change */

#ifdef STAMP_WRAP
#define NUMBER(n) ((n) % 2)
#else
#define NUMBER(n) (n)
#endif
#define STAMP_NOW NUMBER((changed[A] > changed[B] -> changed[A] : changed[B]))

#ifdef ONE_GENERATION
#define CURRENT (entry_generation[A] == generation[A])
#else
#define CURRENT (entry_generation[A] == generation[A] && entry_generation[B] == generation[B])
#endif

/* The agent changes the rules of either Pod. Between two statements anything may happen. */
active proctype agent()
{
	byte n = 0, pod = 0;

	do
	:: n < CHANGES ->
		n++;
		select (pod : 0 .. 1);
		/* One atomic bundle; its barrier says nothing about megaflows. */
		atomic {
			table_version[pod] = n;
#ifdef NODE_EPOCH
			table_epoch[A] = n;
			table_epoch[B] = n
#else
			table_epoch[pod] = n
#endif
		};
#ifdef STAMP_WRAP
		changed[pod] = n;
#endif
		/* One store. */
		atomic {
			generation[pod]++;
			epoch[pod] = n
		};
#ifdef STAMP
		changed[pod] = n;
#endif
#ifdef NODE_EPOCH
		node_epoch = n;
#endif
		complete[pod] = n
	:: n == CHANGES -> break
	od
}

/* A revalidator brings a megaflow up to date, or removes it: some time later, or never. */
active proctype revalidator()
{
	byte s;

end:	do
	:: atomic {
		select (s : 0 .. CHANGES);
		if
		:: megaflow[s].there ->
			megaflow[s].version[A] = table_version[A];
			megaflow[s].version[B] = table_version[B];
			megaflow[s].epoch[A] = table_epoch[A];
			megaflow[s].epoch[B] = table_epoch[B]
		:: megaflow[s].there -> megaflow[s].there = false
		:: else -> skip
		fi;
		s = 0
	   }
	od
}

#if defined(BY_STAMP)
#define MAY_LEARN (stamp == now)
#elif defined(NODE_EPOCH)
#define MAY_LEARN (mark[A] == now)
#elif defined(ONE_EPOCH)
#define MAY_LEARN (mark[B] == e[B])
#else
#define MAY_LEARN (mark[A] == e[A] && mark[B] == e[B])
#endif

/* Packets of the flow. */
proctype packet()
{
	byte stamp, now, mark[2], version[2], g[2], e[2];

end:	do
	:: /* Hit: generations are compared one after the other; at the last comparison the packet uses the entry. */
		atomic {
			entry_valid && CURRENT ->
			assert(entry_version[A] >= complete[A] && entry_version[B] >= complete[B])
		}
	:: /* Miss: through Open vSwitch. Verdict and epochs are decided in one translation. */
		atomic {
			!(entry_valid && CURRENT);
#ifdef BY_STAMP
			stamp = STAMP_NOW
#endif
		};
		atomic {
			if
			:: !megaflow[stamp].there ->
				megaflow[stamp].there = true;
				megaflow[stamp].version[A] = table_version[A];
				megaflow[stamp].version[B] = table_version[B];
				megaflow[stamp].epoch[A] = table_epoch[A];
				megaflow[stamp].epoch[B] = table_epoch[B]
			:: else -> skip
			fi;
			version[A] = megaflow[stamp].version[A];
			version[B] = megaflow[stamp].version[B];
			mark[A] = megaflow[stamp].epoch[A];
			mark[B] = megaflow[stamp].epoch[B]
		};
		/* The learning program reads generation and epoch of one Pod in one load, then both of the other ... */
		atomic {
			g[A] = generation[A];
			e[A] = epoch[A]
		};
		atomic {
			g[B] = generation[B];
			e[B] = epoch[B]
		};
#if defined(BY_STAMP)
		now = STAMP_NOW;
#elif defined(NODE_EPOCH)
		now = node_epoch;
#endif
		/* ... and writes the entry some time later. */
		if
		:: MAY_LEARN ->
			atomic {
				entry_valid = true;
				entry_generation[A] = g[A];
				entry_generation[B] = g[B];
				entry_version[A] = version[A];
				entry_version[B] = version[B]
			}
		:: else -> skip
		fi;
		atomic {
			stamp = 0; now = 0;
			mark[A] = 0; mark[B] = 0; version[A] = 0; version[B] = 0;
			g[A] = 0; g[B] = 0; e[A] = 0; e[B] = 0
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
