// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseDNSServer(t *testing.T) {
	for text, want := range map[string]string{
		"10.96.0.10": "10.96.0.10:53", "10.96.0.10:5353": "10.96.0.10:5353", "fd00::a": "[fd00::a]:53", "[fd00::a]": "[fd00::a]:53",
		"[fd00::a]:5353": "[fd00::a]:5353", "dns.example.com": "dns.example.com:53", "dns.example.com:54": "dns.example.com:54",
		"": "", "10.96.0.10:": "", "10.96.0.10:0": "", "10.96.0.10:70000": "", "[fd00::a": "", "fd00::a]": "", "a:b:c": "", "a b": "", "http://x": "", ":53": "",
	} {
		got, err := ParseDNSServer(text)
		require.Equal(t, want, got, text)
		require.Equal(t, want == "", err != nil, text)
	}
}
