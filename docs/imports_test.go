// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const modulePath = "github.com/antrea-oncache/antrea/"

// mayImport says which folders of the project the packages of a folder may import besides their own folder. A package belongs to
// the longest folder that has a row. At the top are the agent, the controller and antctl, which do not need each other: what
// they have in common is further down, and nothing down there imports them.
var mayImport = map[string][]string{
	"pkg/agent": {
		"multicluster/apis", "pkg/apis", "pkg/client", "pkg/config", "pkg/features", "pkg/httpapi", "pkg/log", "pkg/macaddr", "pkg/nlattr", "pkg/ovs", "pkg/retry",
		"pkg/supportbundle", "pkg/trie", "pkg/uplink", "pkg/version",
	},
	"pkg/antctl": {
		"multicluster/apis", "multicluster/manifest", "pkg/agent/apis", "pkg/agent/oncache/api", "pkg/apis", "pkg/client/crd", "pkg/config", "pkg/features", "pkg/httpapi/apis", "pkg/redact", "pkg/stats",
		"pkg/supportbundle/bundletest", "pkg/svg", "pkg/uplink", "pkg/version",
	},
	"pkg/apiserver": {
		"pkg/apis", "pkg/client", "pkg/config", "pkg/controller", "pkg/features", "pkg/httpapi", "pkg/log", "pkg/retry", "pkg/version",
	},
	"pkg/controller": {"pkg/apis", "pkg/httpapi/apis", "pkg/client", "pkg/features", "pkg/log", "pkg/retry", "pkg/supportbundle", "pkg/trie", "pkg/version"},

	// The controllers of leader and member, in a program of their own.
	"multicluster":      {"pkg/apis", "pkg/apiserver/certificate", "pkg/apiserver/webhook", "pkg/client", "pkg/config", "pkg/retry"},
	"multicluster/apis": {},

	// The start knows the order of controllers and cache, not what they do.
	"pkg/agent/round": {"pkg/agent/interfacestore", "pkg/agent/openflow"},
	"pkg/agent/start": {"pkg/agent/interfacestore", "pkg/agent/openflow", "pkg/agent/recovery", "pkg/agent/round", "pkg/retry"},

	// The features of the pipeline do not know each other. Package pipeline contains what two of them need.
	"pkg/agent/openflow/flowstore":              {"pkg/agent/oncache/coherency", "pkg/agent/recovery", "pkg/ovs"},
	"pkg/agent/openflow/internal/pipeline":      {"pkg/agent/config", "pkg/agent/oncache/coherency", "pkg/agent/openflow/flowstore", "pkg/ovs"},
	"pkg/agent/openflow/internal/connectivity":  featureMayImport("pkg/agent/config", "pkg/agent/prefixindex", "pkg/agent/reach"),
	"pkg/agent/openflow/internal/dns":           featureMayImport(),
	"pkg/agent/openflow/internal/egress":        featureMayImport("pkg/agent/config"),
	"pkg/agent/openflow/internal/mark":          featureMayImport(),
	"pkg/agent/openflow/internal/metertest":     featureMayImport(),
	"pkg/agent/openflow/internal/multicluster":  featureMayImport("pkg/agent/config"),
	"pkg/agent/openflow/internal/networkpolicy": featureMayImport("pkg/agent/policy"),
	"pkg/agent/openflow/internal/service":       featureMayImport("pkg/agent/statefile"),
	"pkg/agent/openflow/internal/traceflow":     featureMayImport("pkg/agent/ippacket", "pkg/agent/policy", "pkg/apis/crd"),

	// The parts of the APIs that clients and other components need.
	"pkg/agent/apis":            {"pkg/apis"},
	"pkg/agent/oncache/api":     {},
	"pkg/httpapi/apis":          {},
	"pkg/httpapi/apiservertest": {},
	"pkg/httpapi/generic":       {"pkg/log", "pkg/version"},
	"pkg/httpapi/handlers":      {"pkg/apis", "pkg/httpapi/apis", "pkg/config", "pkg/features", "pkg/log", "pkg/version"},

	"pkg/client":    {"pkg/apis", "pkg/config"},
	"pkg/component": {"pkg/log", "pkg/version"},
	"pkg/config":    {"pkg/apis", "pkg/features"},
	"pkg/ovs":       {"pkg/log", "pkg/macaddr", "pkg/nlattr", "pkg/retry"},
	"pkg/retry":     {"pkg/log"},

	"pkg/supportbundle": {"pkg/apis", "pkg/redact", "pkg/version"},

	"pkg/apis":     {},
	"pkg/features": {},
	"pkg/log":      {},
	"pkg/macaddr":  {},
	"pkg/nlattr":   {},
	"pkg/redact":   {},
	"pkg/stats":    {},
	"pkg/svg":      {},
	"pkg/trie":     {},
	"pkg/uplink":   {},
	"pkg/version":  {},

	// The needs of suites: surroundings to run in, and tools. The suites themselves may import everything.
	"test":       {"multicluster", "pkg"},
	"test/ci":    {"build"},
	"test/env":   {"pkg/apis", "pkg/ovs/ofctl"}, // ports and files of the components' APIs
	"test/tools": {"test/env"},
	// Its tests read what the agent answers.
	"test/tools/wire": {"pkg/agent/servicereject", "test/tools"},
	// Real switches with the agent's pipeline.
	"test/env/switchpair": {"pkg/agent", "pkg/ovs", "test/tools"},
}

// boundaries are within pkg/agent: code (not tests) below from imports nothing below to, except what is named.
var boundaries = []struct {
	from, to string
	except   map[string]string // importing folder to imported folder; "" for each one
}{
	{"pkg/agent/oncache", "pkg/agent/openflow", nil},
	{"pkg/agent/oncache", "pkg/agent/controller", nil},
	// The pipeline and the cache know each other by their contract.
	{"pkg/agent/openflow", "pkg/agent/oncache", map[string]string{"": "pkg/agent/oncache/coherency"}},
	{"pkg/agent/openflow", "pkg/agent/controller", nil},
	// Traces carry the explanations that the agent's API also gives.
	{"pkg/agent/controller", "pkg/agent/oncache", map[string]string{"": "pkg/agent/oncache/coherency", "pkg/agent/controller/traceflow": "pkg/agent/oncache/api"}},
	{"pkg/agent/cniserver", "pkg/agent/oncache", nil},
	{"pkg/agent/proxy", "pkg/agent/oncache", nil},
}

// crossed returns what is wrong with an import within pkg/agent, "" if nothing is.
func crossed(i imported) string {
	below := func(folder, top string) bool { return folder == top || strings.HasPrefix(folder, top+"/") }
	for _, b := range boundaries {
		if !i.test && below(i.from, b.from) && below(i.to, b.to) && b.except[""] != i.to && b.except[i.from] != i.to {
			return fmt.Sprintf("%s imports %s; code of %s may import nothing of %s except %v", i.from, i.to, b.from, b.to, b.except)
		}
	}
	return ""
}

// featureMayImport returns what a feature of the pipeline may import, and others besides.
func featureMayImport(others ...string) []string {
	return append(others, "pkg/agent/oncache/coherency", "pkg/agent/openflow/flowstore", "pkg/agent/openflow/internal/pipeline", "pkg/ovs")
}

// isForTests reports whether a package is for tests only: it may import what tests may, and only tests may import it.
func isForTests(folder string) bool {
	return folder == "test" || strings.HasPrefix(folder, "test/") || strings.HasSuffix(folder, "test") || folder == "pkg/agent/oncache/datapath/harness"
}

// imported is an import of one package of the project by another one; both are folders.
type imported struct {
	from, to string
	// test says that a test imports it.
	test bool
}

// wrong says what is wrong with an import, or nothing.
func wrong(i imported) string {
	within := func(folder string) bool { return i.to == folder || strings.HasPrefix(i.to, folder+"/") }
	row := i.from
	for mayImport[row] == nil {
		if row = filepath.Dir(row); row == "." {
			return fmt.Sprintf("%s has no row in mayImport", i.from)
		}
	}
	if isForTests(i.to) && !i.test && !isForTests(i.from) {
		return fmt.Sprintf("%s imports %s, which is for tests", i.from, i.to)
	}
	if i.test && strings.HasPrefix(row, "pkg/agent/openflow/internal/") && within("pkg/agent") {
		return "" // features are tested as parts of the client
	}
	if within(row) || within("test") && !strings.HasPrefix(row, "test/") || slices.ContainsFunc(mayImport[row], within) {
		return ""
	}
	return fmt.Sprintf("%s imports %s; allowed to %s: %s", i.from, i.to, row, strings.Join(mayImport[row], ", "))
}

// imports returns the imports of all packages below a folder.
func imports(t *testing.T, folder string) (found []imported) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(filepath.Join(root, folder), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if d.Name() == "testdata" {
			return filepath.SkipDir
		}
		pkg, err := build.ImportDir(path, 0)
		if none := (*build.NoGoError)(nil); errors.As(err, &none) {
			return nil
		} else if err != nil {
			return err
		}
		from, err := filepath.Rel(root, path)
		for test, list := range map[bool][]string{false: pkg.Imports, true: slices.Concat(pkg.TestImports, pkg.XTestImports)} {
			for _, name := range list {
				if to, ours := strings.CutPrefix(name, modulePath); ours {
					found = append(found, imported{filepath.ToSlash(from), to, test})
				}
			}
		}
		return err
	}))
	return found
}

// TestImportsRunDown: packages that agent, controller and antctl have in common do not import them, nor do these import each
// other.
func TestImportsRunDown(t *testing.T) {
	found := slices.Concat(imports(t, "multicluster"), imports(t, "pkg"), imports(t, "test"))
	used := map[string]bool{}
	for _, i := range found {
		require.Empty(t, wrong(i))
		require.Empty(t, crossed(i))
		used[i.from] = true
	}
	// It would be easy to find nothing wrong by finding nothing.
	for _, from := range []string{"pkg/agent/openflow", "pkg/antctl", "pkg/apiserver", "pkg/config/agent", "pkg/ovs/ovsconfig", "pkg/retry"} {
		require.Contains(t, slices.Collect(maps.Keys(used)), from)
	}
	for folder := range mayImport {
		require.DirExists(t, filepath.Join(root, folder), "delete its row")
	}
}

func TestCrossedBoundaries(t *testing.T) {
	for _, i := range []imported{
		{"pkg/agent/oncache", "pkg/agent/openflow", false},
		{"pkg/agent/openflow/internal/mark", "pkg/agent/oncache/api", false},
		{"pkg/agent/controller/noderoute", "pkg/agent/oncache/api", false},
		{"pkg/agent/controller/traceflow", "pkg/agent/oncache", false},
	} {
		require.NotEmpty(t, crossed(i), "%v", i)
	}
	require.Empty(t, crossed(imported{"pkg/agent/controller/traceflow", "pkg/agent/oncache/api", false}))
	require.Empty(t, crossed(imported{"pkg/agent/openflow", "pkg/agent/oncache/coherency", false}))
}

func TestWrongImports(t *testing.T) {
	for _, i := range []imported{
		{"pkg/config/agent", "pkg/agent/apis", false},
		{"pkg/httpapi/handlers/featuregates", "pkg/agent/apiserver/handlers", false},
		{"pkg/apiserver", "pkg/agent/problem", true},
		{"pkg/controller/networkpolicy", "pkg/agent/openflow", false},
		{"pkg/controller/networkpolicy", "pkg/apiserver/registry", false},
		{"pkg/agent/controller/networkpolicy", "pkg/controller/networkpolicy", false},
		{"pkg/agent/client", "pkg/apiserver/certificate", false},
		{"pkg/agent/apis", "pkg/agent/config", false},
		{"pkg/agent/start", "pkg/agent/proxy", false},
		{"pkg/antctl", "pkg/agent/openflow", false},
		{"pkg/antctl", "pkg/agent/apiserver/handlers", false},
		{"pkg/ovs/openflow", "pkg/agent/recovery", false},
		{"pkg/log", "pkg/agent/problem", false},
		{"pkg/retry", "pkg/agent/problem", false},
		{"pkg/retry", "pkg/log/logtest", false},
		{"pkg/agent/openflow", "test/env/sandbox", false},
		{"pkg/agent/openflow/internal/service", "pkg/agent/openflow/internal/networkpolicy", false},
		{"pkg/agent/openflow/internal/pipeline", "pkg/agent/openflow/internal/mark", false},
		{"pkg/agent/openflow/internal/mark", "pkg/agent/oncache", false},
		{"pkg/agent/openflow/internal/service", "pkg/agent/openflow", false},
		{"pkg/new", "pkg/log", false},
		{"test/env/testbed/cluster", "test/tools/afpacket", true},
		{"test/env/testbed/cluster", "pkg/agent/config", true},
		{"test/tools/traffic", "test/bench", false},
	} {
		require.NotEmpty(t, wrong(i), "%v", i)
	}
	for _, i := range []imported{
		{"pkg/agent/openflow", "pkg/agent/config", false},
		{"pkg/agent/controller/networkpolicy", "pkg/client/controlplane", false},
		{"pkg/antctl", "pkg/agent/apis", false},
		{"pkg/retry", "pkg/log/logtest", true},
		{"pkg/controller/networkpolicy", "test/tools/cost", true},
		{"test/tools/traffic", "test/env/sandbox", false},
		{"test/e2e", "pkg/agent/apis", true},
		{"test/e2e", "test/env/testbed/cluster", true},
	} {
		require.Empty(t, wrong(i))
	}
}
