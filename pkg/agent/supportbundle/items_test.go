// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/uplink"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

type fakeCache struct{}

func (fakeCache) Maps() ([]string, error) { return []string{"control", "egress_flows4"}, nil }

func (fakeCache) DumpMap(name string, limit int, w io.Writer) error {
	_, err := fmt.Fprintf(w, "%s %d\n", name, limit)
	return err
}

func (fakeCache) DescribePrograms(w io.Writer) error {
	_, err := io.WriteString(w, "program name=oncache_egress\n")
	return err
}

func collect(t *testing.T, a *Agent, wanted ...string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, item := range a.Items(time.Time{}) {
		require.NotContains(t, files, item.Name, "two files of this name")
		files[item.Name] = ""
		for _, name := range wanted {
			if item.Name == name {
				var text bytes.Buffer
				require.NoError(t, item.Collect(t.Context(), &text), name)
				files[name] = text.String()
			}
		}
	}
	return files
}

func TestItemsOfTheCache(t *testing.T) {
	a := &Agent{LogDirectory: t.TempDir(), OVSLogDirectory: t.TempDir(), OVSRunDir: t.TempDir(), Bridge: "br-int", Routes: map[string]http.HandlerFunc{
		"/oncache":         func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.URL.RawQuery) },
		"/oncache/mode":    func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "enforce") },
		"/oncache/explain": func(http.ResponseWriter, *http.Request) { t.Error("it needs parameters") },
	}}
	files := collect(t, a, "oncache")
	require.NotContains(t, files, "oncache-flows", "the gate is off")
	require.NotContains(t, files, "oncache-explain")

	a.Cache = fakeCache{}
	files = collect(t, a, "oncache", "oncache-mode", "oncache-flows", "oncache-nodes", "oncache-endpoints", "oncache-programs", "oncache-maps/control", "oncache-maps/egress_flows4")
	require.Equal(t, "enforce", files["oncache-mode"])
	require.Equal(t, "limit=20000&view=flows", files["oncache-flows"])
	require.Equal(t, "view=nodes", files["oncache-nodes"])
	require.Equal(t, "view=endpoints", files["oncache-endpoints"])
	require.Equal(t, "program name=oncache_egress\n", files["oncache-programs"])
	require.Equal(t, "control 50000\n", files["oncache-maps/control"])
	require.Equal(t, "egress_flows4 50000\n", files["oncache-maps/egress_flows4"])
}

// TestWhatHelpsMostComesFirst: an Open vSwitch that hangs must not use up the time for logs and problems.
func TestWhatHelpsMostComesFirst(t *testing.T) {
	answer := func(http.ResponseWriter, *http.Request) {}
	a := &Agent{LogDirectory: t.TempDir(), OVSLogDirectory: t.TempDir(), OVSRunDir: t.TempDir(), Bridge: "br-int", Cache: fakeCache{}, ConfigFile: "/x",
		Routes: map[string]http.HandlerFunc{"/agentinfo": answer, "/networkpolicies": answer, "/oncache": answer, "/problems": answer}}
	items := a.Items(time.Time{})
	require.Equal(t, "problems", items[0].Name)
	logs := 0
	asked := false
	for i, item := range items {
		if strings.HasPrefix(item.Name, "logs/") {
			logs++
			require.Equal(t, logs, i, item.Name)
		}
		require.False(t, asked && item.Asks == "", "%s must not wait for Open vSwitch", item.Name)
		asked = asked || item.Asks != ""
		if strings.HasPrefix(item.Name, "ovsdb/") || item.Name == "flows" || item.Name == "agentinfo" {
			require.Equal(t, openVSwitch, item.Asks, item.Name)
		}
	}
	require.Equal(t, 3, logs)
	require.True(t, asked)
}

// TestUplink: the bundle has what antctl check cluster judges.
func TestUplink(t *testing.T) {
	a := &Agent{LogDirectory: t.TempDir(), OVSLogDirectory: t.TempDir(), OVSRunDir: t.TempDir(), Bridge: "br-int", Uplink: netip.MustParseAddr("127.0.0.1")}
	var facts uplink.Facts
	require.NoError(t, json.Unmarshal([]byte(collect(t, a, "uplink")["uplink"]), &facts))
	require.Equal(t, "lo", facts.Device)
	require.Positive(t, facts.Queues)
	require.Contains(t, facts.Features, uplink.GRO)
}

func TestConnections(t *testing.T) {
	sandbox.RequireRoot(t)
	var text bytes.Buffer
	require.NoError(t, writeConnections(t.Context(), &text, []uint16{65520}))
}
