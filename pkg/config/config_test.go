// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	text, err := Read("")
	require.NoError(t, err)
	require.Empty(t, text, "no file: all defaults")
	file := filepath.Join(t.TempDir(), "antrea.conf")
	require.NoError(t, os.WriteFile(file, []byte("apiPort: 1"), 0o600))
	text, err = Read(file)
	require.NoError(t, err)
	require.Equal(t, "apiPort: 1", string(text))
	_, err = Read("/absent/antrea.conf")
	require.ErrorContains(t, err, "/absent/antrea.conf")
}

func TestSplitList(t *testing.T) {
	for text, want := range map[string][]string{
		"":                             nil,
		" , ":                          nil,
		"a":                            {"a"},
		"10.10.0.0/24, fd00:10::/64":   {"10.10.0.0/24", "fd00:10::/64"},
		"a,b":                          {"a", "b"},
		"a b":                          {"a", "b"},
		"\n  a,\n  b,\n":               {"a", "b"},
		"VersionTLS12 ,\tVersionTLS13": {"VersionTLS12", "VersionTLS13"},
	} {
		require.ElementsMatch(t, want, SplitList(text), "%q", text)
	}
}

func TestValidateTLS(t *testing.T) {
	require.Empty(t, ValidateTLS("", ""))
	require.Empty(t, ValidateTLS("VersionTLS13", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"))
	errs := ValidateTLS("TLS12", "NONE")
	require.Len(t, errs, 2)
	require.ErrorContains(t, errs[0], `tlsMinVersion: "TLS12" is not a TLS version; allowed: VersionTLS10`)
	require.ErrorContains(t, errs[1], `tlsCipherSuites: "NONE"`)
	require.ErrorContains(t, errs[1], "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256")
}

func TestAKeyThatIsGivenTwice(t *testing.T) {
	var into struct {
		A int            `json:"a"`
		B map[string]int `json:"b"`
	}
	require.NoError(t, Unmarshal([]byte("a: 1\nb: {c: 2}\nunknown: x\n"), &into))
	require.ErrorContains(t, Unmarshal([]byte("a: 1\nb: {c: 2}\na: 3\n"), &into), `key "a" already set`)
	require.ErrorContains(t, Unmarshal([]byte("b:\n  c: 2\n  c: 3\n"), &into), `key "c" already set`)
}

func TestAPIServers(t *testing.T) {
	for _, good := range []string{"", "https://10.0.0.1:6443", "http://localhost:8080", "10.0.0.1:6443", "api.example.com", "https://[fd00::1]:6443", "https://x/prefix"} {
		require.Empty(t, ValidateAPIServer(good), good)
	}
	for _, bad := range []string{"://x", "ftp://x", "https://", "https://x y", "10.0.0.1:port"} {
		require.NotEmpty(t, ValidateAPIServer(bad), bad)
	}
}
