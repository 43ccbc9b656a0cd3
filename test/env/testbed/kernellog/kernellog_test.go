// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kernellog

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFaults(t *testing.T) {
	for message, want := range map[string]bool{
		"WARNING: CPU: 1 PID: 23 at net/core/dev.c:3200 skb_warn_bad_offload+0x6a/0xf0":                     true,
		"BUG: kernel NULL pointer dereference, address: 0000000000000010":                                   true,
		"kernel BUG at net/core/skbuff.c:2000!":                                                             true,
		"Oops: 0000 [#1] PREEMPT SMP NOPTI":                                                                 true,
		"Oops: general protection fault, probably for non-canonical address 0xdead: 0000 [#1]":              true,
		"BUG: KASAN: slab-use-after-free in ovs_vport_receive+0x12/0x80 [openvswitch]":                      true,
		"BUG: KFENCE: out-of-bounds read in skb_gro_receive":                                                true,
		"UBSAN: array-index-out-of-bounds in drivers/net/geneve.c:700:3":                                    true,
		"refcount_t: underflow; use-after-free.":                                                            true,
		"unregister_netdevice: waiting for eth0 to become free. Usage count = 2":                            true,
		"skbuff: skb_under_panic: text:ffffffffc0 len:1514 put:50 head:ffff data:ffff tail:0x5d0 end:0x6c0": true,
		"vethb2f1: caps=(0x00000fffffffffff, 0x0000000000000000) len=2880 data_len=0 gso_size=1400":         true,
		"eth0: hw csum failure": true,
		"INFO: suspicious RCU usage would be preceded by WARNING: suspicious RCU usage":                   true,
		"Dead loop on virtual device genev_sys_6081, fix it urgently!":                                    true,
		"protocol 0800 is buggy, dev eth0":                                                                true,
		"nf_conntrack: nf_conntrack: table full, dropping packet":                                         true,
		"openvswitch: ovs-system: deferred action limit reached, drop recirc action":                      true,
		"BUG: sleeping function called from invalid context at net/core/sock.c:3000":                      true,
		"test: page allocation failure: order:4, mode:0x40cc0":                                            true,
		"Memory cgroup out of memory: would begin with a capital; Out of memory: Killed process 1":        true,
		"verifier bug: REG INVARIANTS VIOLATION":                                                          true,
		"eth0: entered promiscuous mode":                                                                  false,
		"IPv6: ADDRCONF(NETDEV_CHANGE): eth0: link becomes ready":                                         false,
		"non-ECT from 192.168.77.11 with TOS=0x2":                                                         false,
		"TCP: eth0: Driver has suspect GRO implementation, TCP performance may be compromised.":           false,
		"overlayfs: fs on '/run/lower' does not support file handles, falling back to index=off,nfs=off.": false,
		"watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [ovs-vswitchd:123]":                            false,
		"rcu: INFO: rcu_preempt self-detected stall on CPU":                                               false,
		"INFO: task ovs-vswitchd:123 blocked for more than 120 seconds.":                                  false,
		"clocksource: timekeeping watchdog on CPU0: Marking clocksource 'tsc' as unstable":                false,
		"ip_tables: (C) 2000-2006 Netfilter Core Team":                                                    false,
		"debugging the BUGs of yesterday":                                                                 false,
	} {
		t.Run(message, func(t *testing.T) {
			found := Faults([]Record{{Level: 6, Message: message}})
			require.Equal(t, want, len(found) == 1, "%q", found)
		})
	}
}

func TestEveryCriticalMessageIsAFault(t *testing.T) {
	for level, want := range []int{1, 1, 1, 0, 0, 0, 0, 0} {
		require.Len(t, Faults([]Record{{Level: level, Message: "something happened"}}), want, "level %d", level)
	}
}

func TestParse(t *testing.T) {
	r, err := parse("12,4711,123456789,-,caller=T1;eth0: link; is up\n SUBSYSTEM=net\n DEVICE=n2\n")
	require.NoError(t, err)
	require.Equal(t, Record{Level: 4, Sequence: 4711, Message: "eth0: link; is up"}, r)
	for _, text := range []string{"", "no header", "x,1,2,-;text", "6,x,2,-;text", "6;text"} {
		_, err := parse(text)
		require.Error(t, err, "%q", text)
	}
}
