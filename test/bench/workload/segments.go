// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import "strings"

// segment is a part of a packet's path. Functions are prefixes of kernel function names.
type segment struct {
	name      string
	functions []string
}

// segments are in the order of the table. Functions that many segments use (buffers, memory, locks) are in none: their cost
// is charged to the caller.
var segments = []segment{
	{"program and system calls", []string{"user space", "__sys_", "__x64_sys_", "x64_sys_call", "do_syscall_64", "entry_SYSCALL", "syscall_"}},
	{"TCP and socket", []string{"tcp_", "__tcp_", "sock_", "inet_", "__sock_", "ip_queue_xmit", "__ip_queue_xmit", "udp_sendmsg", "udp_recvmsg", "inet6_"}},
	{"wake-up and scheduling", []string{"try_to_wake_up", "__wake_up", "schedule", "__schedule", "ttwu_", "sock_def_readable", "sched_", "finish_task_switch",
		"__sysvec_reschedule", "sysvec_reschedule", "sk_wait_data", "wait_woken", "prepare_task_switch", "pick_next_task"}},
	{"IP, routing, neighbours", []string{"ip_", "__ip_", "fib_", "ip6_", "ipv6_", "neigh_", "dst_", "rt_", "icmp"}},
	{"netfilter and conntrack", []string{"nf_", "__nf_", "ipt_", "ip6t_", "xt_", "nft_", "nfqnl", "conntrack_", "tcp_in_window", "nat_", "ipv4_conntrack", "ipv4_confirm"}},
	{"Open vSwitch", []string{"ovs_", "masked_flow_lookup", "flow_lookup", "do_execute_actions", "execute_set_action", "execute_masked_set_action", "key_extract",
		"clone_execute", "internal_dev_", "do_output", "push_eth", "check_header", "ct_dispatch"}},
	{"tunnel device", []string{"vxlan_", "geneve_", "udp_tunnel", "iptunnel_", "gro_cell", "udp4_lib", "udp_rcv", "__udp4_lib", "udp_queue_rcv", "udp_unicast_rcv", "skb_tunnel", "udpv6_"}},
	{"eBPF programs", []string{"bpf_", "__bpf_", "htab_", "__htab_", "lookup_nulls_elem", "tcx_", "skb_do_redirect"}},
	{"veth", []string{"veth_", "__dev_forward_skb", "dev_forward_skb", "____dev_forward_skb", "skb_scrub_packet"}},
	{"hand-over to the other Node's CPU", []string{"enqueue_to_backlog", "get_rps_cpu", "net_rps_", "__smp_call", "smp_call", "generic_smp_call", "generic_exec_single",
		"__sysvec_call_function", "sysvec_call_function", "csd_", "__flush_smp_call", "flush_smp_call", "native_send_call_func", "x2apic_send_IPI", "trigger_rx_softirq", "rps_trigger"}},
	{"link layer", []string{"__dev_queue_xmit", "dev_hard_start_xmit", "__netif_receive_skb", "netif_", "__netif_rx", "net_rx_action", "process_backlog", "__napi_poll",
		"validate_xmit", "sch_handle", "dev_", "net_tx_action", "handle_softirqs", "__do_softirq", "do_softirq", "__local_bh_enable_ip", "eth_"}},
}

// programSegment is the first of segments: the remainder.
const programSegment = 0

// Segments are the names of the parts of a packet's path, in order.
func Segments() (names []string) {
	for _, s := range segments {
		names = append(names, s.name)
	}
	return names
}

// segmentOf returns the segment of a sample. own is set for a sample of the measuring program; another program's sample
// belongs to the network only if it was interrupted for it.
func segmentOf(own bool, chain []string) (int, bool) {
	if !own && !interrupted(chain) {
		return 0, false
	}
	for _, function := range chain {
		if i, ok := SegmentOfFunction(function); ok {
			return i, true
		}
	}
	return programSegment, own
}

// SegmentOfFunction returns the segment of a kernel function by its name, or of "user space"; ok is false for functions
// that many segments use. It prefers the longest prefix: tcp_ is TCP's, tcp_in_window conntrack's.
func SegmentOfFunction(function string) (segment int, ok bool) {
	longest := 0
	for i, s := range segments {
		for _, begin := range s.functions {
			if len(begin) > longest && strings.HasPrefix(function, begin) {
				segment, longest, ok = i, len(begin), true
			}
		}
	}
	return segment, ok
}

// interrupted reports whether a call chain contains a softirq for received packets.
func interrupted(chain []string) bool {
	for _, function := range chain {
		if function == "net_rx_action" || strings.HasPrefix(function, "sysvec_call_function") || strings.HasPrefix(function, "flush_smp_call") {
			return true
		}
	}
	return false
}
