// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCountSegments(t *testing.T) {
	for _, c := range []struct {
		name, script, segment string
	}{
		{"memory for a packet is its layer's", "sockperf \n\tffff8 kmem_cache_alloc\n\tffff8 __alloc_skb\n\tffff8 tcp_stream_alloc_skb\n\tffff8 do_syscall_64\n\n", "TCP and socket"},
		{"conntrack looks into TCP", "sockperf \n\tffff8 tcp_in_window\n\tffff8 nf_conntrack_in\n\tffff8 net_rx_action\n\n", "netfilter and conntrack"},
		{"a program of ours", "sockperf \n\tffff8 bpf_prog_1234_oncache_egress\n\tffff8 tcx_run\n\tffff8 __netif_receive_skb_core\n\n", "eBPF programs"},
		{"user code", "sockperf \n\t55555 main\n\n", "program and system calls"},
		{"interrupted soaker", "bench \n\tffff8 veth_xmit\n\tffff8 net_rx_action\n\tffff8 asm_sysvec_call_function_single\n\tffff8 main.spin\n\n", "veth"},
		{"soaker", "bench \n\tffff8 main.spin\n\n", ""},
		{"other program's network", "sshd \n\tffff8 tcp_sendmsg\n\n", ""},
		{"end without an empty line", "sockperf \n\tffff8 vxlan_xmit\n", "tunnel device"},
	} {
		t.Run(c.name, func(t *testing.T) {
			counts, err := countSegments(strings.NewReader(c.script), "sockperf")
			require.NoError(t, err)
			for i, n := range counts {
				want := 0
				if segments[i].name == c.segment {
					want = 1
				}
				require.Equal(t, want, n, segments[i].name)
			}
		})
	}
}
