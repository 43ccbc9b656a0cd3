// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kallsyms is an example of /proc/kallsyms: two names for one address, data, a module, an eBPF program.
const kallsyms = `ffffffff81000000 T _stext
ffffffff81000000 T startup
ffffffff81000100 T __sys_sendto
ffffffff81000200 t tcp_ack
ffffffff81000300 D jiffies
ffffffffc0000000 t ovs_flow_lookup	[openvswitch]
ffffffffc0001000 t bpf_prog_0123456789abcdef_oncache_egress	[bpf]
`

func TestBlocks(t *testing.T) {
	s, err := readSymbols(strings.NewReader(kallsyms))
	require.NoError(t, err)
	functions, err := readBlocks(strings.NewReader(`ffffffff81000100 5 4
ffffffff81000110 3 2
ffffffff81000000 2 4
ffffffff81000304 10 2
ffffffffc0001000 100 4
401000 7 4
1000 1 2
`), s)
	require.NoError(t, err)
	functions, err = perTransaction(functions, tcp)
	require.NoError(t, err)
	require.Equal(t, map[string]function{
		"__sys_sendto": {13, 2}, // 26 instructions, 4 calls, 2 transactions
		"_stext":       {4, 2},
		"tcp_ack":      {10, 0}, // data is not a function
		"bpf_prog_0123456789abcdef_oncache_egress": {200, 2},
		userSpace: {15, 0},
	}, functions)
	require.Equal(t, map[string]float64{
		"program and system calls": 28, "TCP and socket": 10, "eBPF programs": 200, sharedSegment: 4,
	}, bySegment(functions))

	path := filepath.Join(t.TempDir(), "functions.txt")
	require.NoError(t, writeFunctions(path, functions))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), `instructions   calls  function, for one transaction
       200.0    2.00  bpf_prog_0123456789abcdef_oncache_egress
        15.0    0.00  user space
        13.0    2.00  __sys_sendto
`)
}

func TestBlocksOfNoTransaction(t *testing.T) {
	_, err := perTransaction(map[string]function{userSpace: {100, 0}}, tcp)
	require.ErrorContains(t, err, "no block begins __sys_sendto")
	_, err = readBlocks(strings.NewReader("ffffffff81000100 5\n"), &symbols{})
	require.ErrorContains(t, err, `block "ffffffff81000100 5"`)
	_, err = readSymbols(strings.NewReader("x T f\n"))
	require.ErrorContains(t, err, `symbol "x T f"`)
}

// TestMedians: functions that run in a minority of intervals are not part of the workload.
func TestMedians(t *testing.T) {
	require.Equal(t, map[string]function{"tcp_ack": {10, 1}}, medians([]map[string]function{
		{"tcp_ack": {9, 1}}, {"tcp_ack": {10, 1}, "agent": {1000, 7}}, {"tcp_ack": {12, 2}},
	}))
}
