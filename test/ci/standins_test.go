// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ci_test runs the scripts in ci/ without what they are for: clusters and registries elsewhere. It also runs
// scripts of make test, whose hidden failures would stay unnoticed (fuzz_test.go, stages_test.go). Programs that stand in
// for kind, kubectl, docker and others note how they are called (standins_test.go). The publishing of images and chart
// is real, into a registry on loopback (publish_test.go).
package ci_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const root = "../.."

// checkout is a directory with the scripts, and with programs that stand in for others.
type checkout struct {
	t    *testing.T
	dir  string
	path string
	// env are additional variables of scripts.
	env []string
}

// newCheckout copies files and folders of this checkout.
func newCheckout(t *testing.T, paths ...string) *checkout {
	t.Helper()
	c := &checkout{t: t, dir: t.TempDir(), path: "/usr/bin:/bin"}
	for _, path := range append(paths, "ci") {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(c.dir, path)), 0o755))
		out, err := exec.Command("cp", "-r", filepath.Join(root, path), filepath.Join(c.dir, path)).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	require.NoError(t, os.MkdirAll(filepath.Join(c.dir, "standins"), 0o755))
	// The machine's own kind, docker and so on must not be found.
	tools := filepath.Join(c.dir, "tools")
	require.NoError(t, os.MkdirAll(tools, 0o755))
	for _, tool := range []string{"awk", "bash", "cat", "cmp", "cp", "dirname", "env", "git", "grep", "mkdir", "mktemp", "mv", "rm", "rmdir", "ps", "sed", "sh", "sha256sum", "sleep", "sort", "tail", "tee", "timeout", "touch", "uname"} {
		file, err := exec.LookPath(tool)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(file, filepath.Join(tools, tool)))
	}
	c.path = filepath.Join(c.dir, "standins") + ":" + tools
	return c
}

func (c *checkout) write(name, content string) {
	c.t.Helper()
	file := filepath.Join(c.dir, name)
	require.NoError(c.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(c.t, os.WriteFile(file, []byte(content), 0o755))
}

// standIn makes a program that notes its name and arguments, and standard input if it is given with "-", and then does what the lines of
// shell say.
func (c *checkout) standIn(file, script string) {
	c.t.Helper()
	name := filepath.Base(file)
	c.write(file, "#!/bin/sh\necho \""+name+" $*\" >>"+c.dir+"/calls\ncase \" $* \" in *' - '*|*' -') cat >"+c.dir+"/input ;; esac\n"+script+"\n")
}

// calls are the calls of stand-ins since the last call of this function.
func (c *checkout) calls() []string {
	c.t.Helper()
	file := filepath.Join(c.dir, "calls")
	text, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(c.t, err)
	require.NoError(c.t, os.Remove(file))
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func (c *checkout) read(name string) string {
	c.t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	require.NoError(c.t, err)
	return string(text)
}

// run runs a script. It is called from elsewhere, as a user may do.
func (c *checkout) run(script string, args ...string) (string, error) {
	c.t.Helper()
	cmd := exec.Command(filepath.Join(c.dir, script), args...)
	cmd.Dir = c.t.TempDir()
	cmd.Env = append([]string{"PATH=" + c.path, "HOME=" + c.dir, "TMPDIR=" + c.t.TempDir()}, c.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}
