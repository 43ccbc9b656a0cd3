// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBase: the Dockerfiles and the table of requirements name the versions of base/release, and tests of this machine run with its Open vSwitch.
func TestBase(t *testing.T) {
	b, err := readBase("../..")
	require.NoError(t, err)
	files, err := filepath.Glob("../../*/Dockerfile")
	require.NoError(t, err)
	require.Len(t, files, len(project))
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), "\nFROM debian:"+b.debian+"-slim\n", file)
	}
	page, err := os.ReadFile("../../../../docs/start/installation.md")
	require.NoError(t, err)
	require.Contains(t, string(page), fmt.Sprintf("| Open vSwitch | in the image (%s, of Debian %s).", b.openVSwitch, b.debian))

	system, err := os.ReadFile("/etc/os-release")
	if err != nil || !strings.Contains(string(system), fmt.Sprintf("VERSION_ID=%q\n", b.debian)) {
		t.Skipf("this machine is not Debian %s", b.debian)
	}
	version, err := exec.Command("ovs-vswitchd", "--version").Output()
	if err != nil {
		t.Skip("this machine has no Open vSwitch")
	}
	require.Contains(t, strings.SplitAfter(string(version), "\n")[0], "Open vSwitch) "+b.openVSwitch+".")
}

func TestBaseIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"DEBIAN=12\n":                                "release lacks OPENVSWITCH",
		"DEBIAN=\nOPENVSWITCH=3.1\n":                 `has the line "DEBIAN=", must be like`,
		"# x\nDEBIAN=12\nOPENVSWITCH=3.1\nOVS=3.5\n": `has the line "OVS=3.5", must be like`,
	} {
		folder := t.TempDir()
		require.NoError(t, os.Mkdir(filepath.Join(folder, "base"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(folder, "base/release"), []byte(text), 0o644))
		_, err := readBase(folder)
		require.ErrorContains(t, err, want)
	}
	_, err := readBase(t.TempDir())
	require.ErrorContains(t, err, "reading the images' base")
}
