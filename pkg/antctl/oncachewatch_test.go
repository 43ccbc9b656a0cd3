// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/antctl/watch"
)

// TestWatch is antctl get oncache --watch against an agent's API, which fails once, until Ctrl-C.
func TestWatch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var answers atomic.Int64
	var flowQuery atomic.Value
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("view") == "flows" {
			flowQuery.Store(r.URL.RawQuery)
			_ = json.NewEncoder(w).Encode([]api.FlowInfo{})
			return
		}
		n := answers.Add(1)
		switch n {
		case 2:
			http.Error(w, "map\x1b[2J is gone", http.StatusInternalServerError)
			return
		case 4:
			defer cancel()
		}
		_ = json.NewEncoder(w).Encode(api.Status{State: api.StateActive, Time: time.Unix(n, 0), Egress: api.DirectionStats{Hits: uint64(1000 * n)}})
	}))
	defer s.Close()
	tokenFile := filepath.Join(t.TempDir(), "token")
	require.NoError(t, os.WriteFile(tokenFile, []byte("secret"), 0o600))
	var out bytes.Buffer
	cmd := NewCommand(inAgent, tokenFile)
	cmd.SetOut(&out)
	cmd.SetArgs([]string{"-s", s.Listener.Addr().String(), "get", "oncache", "-w", "--interval", "500ms", "-n", "shop"})
	require.NoError(t, cmd.ExecuteContext(ctx))
	require.Equal(t, "limit=500&namespace=shop&view=flows", flowQuery.Load())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 4, out.String())
	require.Regexp(t, `^TIME +STATE +EGRESS-FAST`, lines[0])
	require.Regexp(t, `^\d\d:\d\d:\d\d Active +- +-`, lines[1])
	require.Regexp(t, `^no answer since .*map\\x1b\[2J is gone`, lines[2])
	require.Regexp(t, `^\d\d:\d\d:\d\d Active +\d.*/s`, lines[3])
}

func TestWatchRefuses(t *testing.T) {
	address, tokenFile, _ := server(t)
	for message, args := range map[string][]string{
		"--interval needs --watch":               {"--interval", "3s"},
		`no views: leave "flows" out`:            {"flows", "--watch"},
		"it has no --output":                     {"--watch", "-o", "json"},
		"--interval 10ms: must be at least":      {"--watch", "--interval", "10ms"},
		"decoding the server's answer":           {"--watch"}, // this server's agent has no cache
		"reading the token of the agent (is it ": {"--watch"},
	} {
		file := tokenFile
		if strings.HasPrefix(message, "reading") {
			file += "x"
		}
		_, _, err := run(inAgent, file, append([]string{"-s", address, "get", "oncache"}, args...)...)
		require.ErrorContains(t, err, message)
	}
}

// TestWatchOnATerminal: the screen is redrawn in place, lines end where the former ones did, and the cursor comes back.
func TestWatchOnATerminal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var out bytes.Buffer
	n := 0
	sample := func(context.Context) watch.Sample {
		if n++; n == 3 {
			cancel()
		}
		return watch.Sample{Time: time.Unix(int64(n), 0), Status: api.Status{State: api.StateSuspended, Reason: "eth0 is \x1b]0;down"}}
	}
	c := &canvas{out: &out, size: func() (int, int, error) { return 0, 0, errors.New("not known") }}
	require.NoError(t, watchCache(ctx, sample, time.Millisecond, c))
	drawn := out.String()
	require.True(t, strings.HasPrefix(drawn, hideCursor+clearScreen+home+bold+"ONCache: Suspended"), "%q", drawn)
	require.True(t, strings.HasSuffix(drawn, clearRest+showCursor+"\n"), "%q", drawn)
	require.Equal(t, 2, strings.Count(drawn, home))
	require.Contains(t, drawn, bold+`eth0 is \x1b]0;down`+plain+clearLine+"\n")
}

func TestLocale(t *testing.T) {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		t.Setenv(name, "")
	}
	require.True(t, speaksUTF8(), "a container without a locale")
	t.Setenv("LANG", "C")
	require.False(t, speaksUTF8())
	t.Setenv("LC_CTYPE", "C.UTF-8")
	require.True(t, speaksUTF8())
	t.Setenv("LC_ALL", "POSIX")
	require.False(t, speaksUTF8())
}
