// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package licences

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func module(t *testing.T, name string, files map[string]string) Module {
	t.Helper()
	m := Module{name, "v1.0.0", t.TempDir()}
	for file, text := range files {
		path := filepath.Join(m.Dir, file)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return m
}

// TestWrite: a text that two modules share is written once, notices and licences of forked parts are kept, and other files left out.
func TestWrite(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, Write(&out, []Module{
		module(t, "example.com/b", map[string]string{"LICENSE": "the licence\r\n", "license.go": "package b", "testdata/LICENSE": "of test data", "README.md": "read"}),
		module(t, "example.com/a", map[string]string{"LICENSE.txt": "the licence\n", "NOTICE": "a notice", "third_party/forked/LICENCE": "another licence"}),
	}))
	rule := strings.Repeat("=", 80) + "\n"
	require.Equal(t, rule+"example.com/a v1.0.0, LICENSE.txt\nexample.com/b v1.0.0, LICENSE\n\nthe licence\n\n"+
		rule+"example.com/a v1.0.0, NOTICE\n\na notice\n\n"+
		rule+"example.com/a v1.0.0, third_party/forked/LICENCE\n\nanother licence\n\n", out.String())

	err := Write(&out, []Module{module(t, "example.com/c", map[string]string{"part/LICENSE": "of a part", "NOTICES": "no licence"})})
	require.ErrorContains(t, err, "example.com/c v1.0.0 has no licence")
}

// TestLinked asks a program of another project, whose own module counts as well.
func TestLinked(t *testing.T) {
	program := filepath.Join(t.TempDir(), "loopback")
	build := exec.Command("go", "build", "-o", program, "github.com/containernetworking/plugins/plugins/main/loopback")
	// As the Makefile builds: the race detector's setting would compile all libraries once more.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := build.CombinedOutput()
	require.NoError(t, err, string(text))
	modules, err := Linked("go", []string{program, program})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, Write(&out, modules))
	for _, name := range []string{"github.com/containernetworking/plugins", "github.com/vishvananda/netlink", "Go's standard library"} {
		require.Regexp(t, `(?m)^`+name+` (v|go)[\d.]+, LICENSE$`, out.String())
	}
	require.NotContains(t, out.String(), "antrea-oncache")

	script := filepath.Join(t.TempDir(), "script")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755))
	_, err = Linked("go", []string{script})
	require.ErrorContains(t, err, "reading the modules of "+script)
}
