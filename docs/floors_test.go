// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// floors are the packages of the agent, by folders below pkg/agent with all that is in them, from the ground up: the code (not the
// tests) of a package imports packages of lower floors only. A folder belongs to the longest entry; "." is pkg/agent itself.
// A new package belongs to the lowest floor above everything that it imports.
var floors = [][]string{
	{
		"apis", "client", "config", "conntrack", "cputime", "interfacestore", "ippacket", "leftover", "nodelock", "oncache/api", "policy",
		"prefixindex", "problem", "reach", "rtnl", "servicehealth", "share", "switchhealth", "sysctl",
	},
	{"announce", "dependency", "monitor", "oncache/coherency", "recovery", "supportbundle", "tunnelprobe"},
	{"memberlist", "openflow", "upkeep"},
	{"affinity", "auditlog", "cniserver", "controller/egress", "controller/noderoute", "controller/serviceexternalip", "fqdn", "meterloss", "metrics", "querier", "round", "route", "servicereject", "wireguard"},
	{".", "controller/multicluster", "controller/networkpolicy", "nodeportlocal", "oncache", "policyreject", "proxy", "start"},
	{"cleanup", "explain", "flowexporter", "stats"},
	{"apiserver", "controller/traceflow"},
}

// floorOf returns the entry of floors to which a folder below pkg/agent belongs, and its floor, or -1.
func floorOf(folder string) (entry string, floor int) {
	floor = -1
	for i, entries := range floors {
		for _, e := range entries {
			if (folder == e || strings.HasPrefix(folder, e+"/")) && len(e) > len(entry) {
				entry, floor = e, i
			}
		}
	}
	return entry, floor
}

// climbed says what is wrong with an import within pkg/agent, "" if nothing is.
func climbed(i imported) string {
	below := func(folder string) (string, bool) {
		relative, err := filepath.Rel("pkg/agent", folder)
		return filepath.ToSlash(relative), err == nil && !strings.HasPrefix(relative, "..")
	}
	from, ours := below(i.from)
	if !ours || i.test || isForTests(i.from) {
		return ""
	}
	importing, high := floorOf(from)
	if high < 0 {
		return fmt.Sprintf("%s has no floor: give it one in floors", i.from)
	}
	to, ours := below(i.to)
	if !ours {
		return ""
	}
	if entry, low := floorOf(to); entry != importing && low >= high {
		return fmt.Sprintf("%s, on floor %d, imports %s, on floor %d", i.from, high, i.to, low)
	}
	return ""
}

func TestTheAgentsPackagesImportDownwards(t *testing.T) {
	known := map[string]bool{}
	for _, i := range imports(t, "pkg/agent") {
		require.Empty(t, climbed(i))
		if from, err := filepath.Rel("pkg/agent", i.from); err == nil {
			entry, _ := floorOf(from)
			known[entry] = true
		}
	}
	for _, entry := range slices.Concat(floors...) {
		require.DirExists(t, filepath.Join(root, "pkg/agent", entry), "delete it from floors")
	}
	require.Greater(t, len(known), 25, "it would be easy to find nothing wrong by finding nothing")
}

func TestClimbs(t *testing.T) {
	for _, bad := range []imported{
		{"pkg/agent/openflow/internal/mark", "pkg/agent/oncache", false},
		{"pkg/agent/route", "pkg/agent/proxy", false},
		{"pkg/agent/route", "pkg/agent/fqdn", false},
		{"pkg/agent/oncache/datapath", "pkg/agent/explain", false},
		{"pkg/agent/openflow", "pkg/agent", false},
		{"pkg/agent/new", "pkg/log", false},
	} {
		require.NotEmpty(t, climbed(bad), "%v", bad)
	}
	for _, good := range []imported{
		{"pkg/agent/openflow", "pkg/agent/oncache/coherency", false},
		{"pkg/agent/oncache", "pkg/agent/oncache/datapath", false},
		{"pkg/agent/route", "pkg/agent/proxy", true},
		{"pkg/agent", "pkg/agent/route", false},
		{"pkg/controller/networkpolicy", "pkg/agent/new", false},
	} {
		require.Empty(t, climbed(good), "%v", good)
	}
}
