// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// hostile has characters that control terminals: C0 and C1 controls, DEL, direction overrides, and invisible characters.
const hostile = "pod\x1b]0;owned\x07\x1b[2J\r\nFAKE ROW\b\x7f\u009b31m\u0085\u202egnp.exe\u2066\u200b\u2028\ufeff\U000e0041"

func TestClean(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"plain", "shop/web-1 10.10.0.2", "shop/web-1 10.10.0.2"},
		{"letters of all kinds", "größer 猫 🐈", "größer 猫 🐈"},
		{"escape sequence", "\x1b[31m", `\x1b[31m`},
		{"lines", "a\r\n\tb", `a\r\n\tb`},
		{"C1", "a\u009b1m", `a\u009b1m`},
		{"DEL", "\x7f", `\x7f`},
		{"right to left", "\u202eabc", `\u202eabc`},
		{"no UTF-8", "a\x9b1m\xff", `a\x9b1m\xff`},
		{"beyond 16 bits", "\U000e0041", `\U000e0041`},
		{"replacement character", "\ufffd", "\ufffd"},
	} {
		t.Run(tc.name, func(t *testing.T) { require.Equal(t, tc.want, clean(tc.text)) })
	}
	require.Equal(t, "a\\r\nb", cleanText("a\r\nb"))
}

// requireHarmless fails when a terminal would do anything except show the text.
func requireHarmless(t *testing.T, text string) {
	t.Helper()
	require.True(t, utf8.ValidString(text))
	for _, r := range text {
		require.True(t, r == '\n' || !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), "%q in %q", r, text)
	}
}

func TestOutputIsHarmless(t *testing.T) {
	type object struct{ Name string }
	result := Result{
		Data:  []object{{hostile}, {"two\nlines \u202e"}},
		Table: Table{Header: []string{"NAME", "OTHER"}, Rows: [][]string{{hostile, "x"}, {"short", hostile}}},
	}
	for _, format := range []Format{FormatTable, FormatJSON, FormatYAML} {
		t.Run(string(format), func(t *testing.T) {
			var b bytes.Buffer
			require.NoError(t, write(&b, result, format))
			requireHarmless(t, b.String())
			switch format {
			case FormatTable:
				require.Len(t, strings.Split(strings.TrimSpace(b.String()), "\n"), 3, "no cell makes rows")
			case FormatJSON:
				var back []object
				require.NoError(t, json.Unmarshal(b.Bytes(), &back))
				require.Equal(t, result.Data, back, "it means the same")
			case FormatYAML:
				var back []object
				require.NoError(t, yaml.Unmarshal(b.Bytes(), &back))
				require.Len(t, back, 2)
				require.Equal(t, hostile, back[0].Name)
			}
		})
	}
}

// evil is a server that answers every request with the given answer.
func evil(t *testing.T, answer http.HandlerFunc) (address, tokenFile string) {
	t.Helper()
	s := httptest.NewTLSServer(answer)
	t.Cleanup(s.Close)
	tokenFile = filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte("secret"), 0o600))
	return s.Listener.Addr().String(), tokenFile
}

func TestEvilServers(t *testing.T) {
	endless := func(w http.ResponseWriter, _ *http.Request) {
		piece := bytes.Repeat([]byte(" "), 1<<20)
		for {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
	text, err := json.Marshal(hostile)
	require.NoError(t, err)
	for _, tc := range []struct {
		name   string
		args   []string
		answer http.HandlerFunc
		want   string
	}{
		{"error as text", []string{"version"}, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, hostile, 500) }, `Error: pod\x1b]0;owned`},
		{"error as Status", []string{"version"}, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"message":` + string(text) + `}`))
		}, `Error: pod\x1b]0;owned`},
		{"reason of the status line", []string{"version"}, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_, _ = conn.Write([]byte("HTTP/1.1 500 \x1b[2J\r\nContent-Length: 0\r\n\r\n"))
				conn.Close()
			}
		}, `the server answers 500 \x1b[2J`},
		{"text output", []string{"get", "featuregates"}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`[{"component":"agent","name":` + string(text) + `}]`))
		}, ""},
		{"container ID that is cut within a character", []string{"get", "podinterface"}, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`[{"containerID":"0123456789\u6c9b"}]`))
		}, ""},
		{"answer without end", []string{"get", "agentinfo"}, endless, "is larger than 64 MiB"},
		{"error without end", []string{"get", "agentinfo"}, func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(500)
			endless(w, r)
		}, "is larger than 64 MiB"},
		{"redirections without end", []string{"version"}, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/version", http.StatusFound)
		}, "has redirected 4 times"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			address, tokenFile := evil(t, tc.answer)
			stdout, stderr, err := run(inAgent, tokenFile, append([]string{"-s", address}, tc.args...)...)
			requireHarmless(t, stdout)
			requireHarmless(t, stderr)
			if tc.want == "" {
				require.NoError(t, err)
				return
			}
			require.Error(t, err)
			require.Contains(t, stderr, tc.want)
			require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
		})
	}
}

// A token goes only to the server that it is for, and not to another server that this one names.
func TestTokensStayAtTheServer(t *testing.T) {
	asked := 0
	elsewhere := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		_, _ = w.Write([]byte(`{}`))
	}))
	defer elsewhere.Close()
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer s.Close()
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte("secret"), 0o600))
	// Both test servers have the same certificate.
	kubeconfig := kubeconfigFor(t, s)
	for name, do := range map[string]func() (string, string, error){
		"in the Pod": func() (string, string, error) { return run(inAgent, tokenFile, "-s", s.URL, "log-level", "2") },
		"through Kubernetes": func() (string, string, error) {
			return run(Environment{Mode: ModeController}, "", "version", "-k", kubeconfig)
		},
	} {
		_, stderr, err := do()
		require.Error(t, err, name)
		require.Contains(t, stderr, "which antctl does not follow", name)
	}
	require.Zero(t, asked)
}
