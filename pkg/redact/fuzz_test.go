// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// FuzzText removes secrets from arbitrary text. Where the text is cut into pieces makes no difference, and a secret in a line behind the text
// is found, or hidden with what the text has begun.
func FuzzText(f *testing.F) {
	for _, text := range []string{
		"", "token: abcdefgh\n", "a\nAuthorization: Bearer eyJhbGciOiJ.eyJzdWIiOiJ.sig\n", "https://user:hunter2@host/path\n",
		"key: |\n  -----BEGIN RSA PRIVATE KEY-----\n  AAAA\n  -----END RSA PRIVATE KEY-----\nb: c\n", "password: >-\n  x\n  y\nz: 1\n",
		"--password hunter2 --x=y\n", `{"client-key-data":"AAAA","a":"b"}`, "psk=\"a b\"\n",
		"password: 'a\nb' c\n", "psk:\n  a\n- b\n", "- --token\n- b\n", "- name: token\n  value: x\n", "cookie: a\n b\n", `{"auth":"a\"b"}`,
	} {
		f.Add([]byte(text), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var whole []byte
		appetite.Bounded(t, len(text), 256, func() { whole = Text(text) })
		if cut > 0 {
			var pieces bytes.Buffer
			w := NewWriter(&pieces)
			for rest := text; len(rest) > 0; rest = rest[min(cut, len(rest)):] {
				_, err := w.Write(rest[:min(cut, len(rest))])
				require.NoError(t, err)
			}
			require.NoError(t, w.Flush())
			require.Equal(t, string(whole), pieces.String())
		}
		behind := append(bytes.Clone(text), "\nsecret: kKq7pZ2x\n"...)
		require.NotContains(t, string(Text(behind)), "kKq7pZ2x")
	})
}
