// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHostInterfaceName(t *testing.T) {
	tests := []struct {
		name, pod, container, ifname, want string
	}{
		// The hashes are the output of "printf %s <key> | sha1sum".
		{"pod name longer than the prefix", "coredns-5d78c9869d-abcde", "0123456789abcdef", "eth0", "coredns--fe5567"},
		{"pod name shorter than the prefix", "web", "0123456789abcdef", "eth0", "web-fe5567"},
		{"pod name as long as the prefix", "webserve", "0123456789abcdef", "eth0", "webserve-fe5567"},
		{"leading dashes are trimmed", "--web", "0123456789abcdef", "eth0", "web-fe5567"},
		{"dots are kept", "a.b.c.d.e", "0123456789abcdef", "eth0", "a.b.c.d.-fe5567"},
		{"other interface has another hash", "web", "0123456789abcdef", "eth1", "web-d7f174"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := HostInterfaceName(tt.pod, tt.container, tt.ifname)
			require.Equal(t, tt.want, got)
			require.LessOrEqual(t, len(got), 15)
		})
	}
}
