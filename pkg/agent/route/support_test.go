// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package route

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// The stderr texts come from iptables 1.8.9.
func TestExplainRestore(t *testing.T) {
	tables := desiredTables(geneveParams())
	cause := errors.New("exit status 1")
	for name, tc := range map[string]struct {
		stderr string
		want   []string
	}{
		"nf_tables backend names the rule's line": {
			stderr: "iptables-restore v1.8.9 (nf_tables): \nline 8: RULE_APPEND failed (No such file or directory): rule in chain ANTREA-PREROUTING",
			want:   []string{"table raw", "chain ANTREA-PREROUTING", "-j NOTRACK", "xt_CT", "xt_addrtype", "RULE_APPEND failed"},
		},
		"legacy backend names the COMMIT line": {
			stderr: "iptables-restore: line 10 failed",
			want:   []string{"table raw", "ANTREA-PREROUTING, ANTREA-OUTPUT", "xt_CT"},
		},
		"no such table": {
			stderr: "iptables-restore v1.8.9 (legacy): iptables-restore: unable to initialize table 'raw'\nError occurred at line: 1\nTry `iptables-restore -h'",
			want:   []string{"table raw", "iptable_raw", "nf_tables"},
		},
		"table in the middle": {
			stderr: "Error occurred at line: 11",
			want:   []string{"table mangle", "iptable_mangle"},
		},
		"missing set match": {
			stderr: "Error occurred at line: 33",
			want:   []string{"table nat", "chain ANTREA-POSTROUTING", "ANTREA-POD-IP", "xt_set", "xt_MASQUERADE"},
		},
		"no line number": {stderr: "Permission denied (you must be root)", want: []string{"iptables-restore", "Permission denied"}},
		"line beyond":    {stderr: "line 999 failed", want: []string{"line 999 failed"}},
	} {
		t.Run(name, func(t *testing.T) {
			err := explainRestore("iptables-restore", tables, tc.stderr, cause)
			require.ErrorIs(t, err, cause)
			for _, want := range tc.want {
				require.ErrorContains(t, err, want)
			}
		})
	}
}
