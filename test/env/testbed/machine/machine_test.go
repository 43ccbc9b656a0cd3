// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHasVirtualization(t *testing.T) {
	for name, tc := range map[string]struct {
		cpuinfo string
		want    bool
	}{
		"Intel":                          {"processor\t: 0\nflags\t\t: fpu vmx sse\n", true},
		"AMD":                            {"flags\t\t: fpu svm\n", true},
		"guest without nested":           {"flags\t\t: fpu sse\nvmx flags\t: none\n", false},
		"flag that only begins the same": {"flags\t\t: fpu vmx_like svm2\n", false},
		"no flags line":                  {"processor\t: 0\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tc.want, hasVirtualization(strings.NewReader(tc.cpuinfo)))
		})
	}
}

func TestInitramfs(t *testing.T) {
	if _, err := exec.LookPath("busybox"); err != nil {
		t.Skip("busybox-static is not installed")
	}
	dir := t.TempDir()
	module := filepath.Join(dir, "virtiofs.ko")
	require.NoError(t, os.WriteFile(module, []byte("module"), 0o600))
	archive, err := initramfs([]string{"/opt/testbed", "guest", "/state/guest.json"}, []string{module}, []string{"/tmp/clone"})
	require.NoError(t, err)
	cmd := exec.Command("busybox", "cpio", "-i")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(archive)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	target, err := os.Readlink(filepath.Join(dir, "bin", "switch_root"))
	require.NoError(t, err)
	require.Equal(t, "busybox", target)
	packed, err := os.ReadFile(filepath.Join(dir, "modules", "00-virtiofs.ko"))
	require.NoError(t, err)
	require.Equal(t, "module", string(packed))
	init, err := os.ReadFile(filepath.Join(dir, "init"))
	require.NoError(t, err)
	require.Contains(t, string(init), `for dir in "/tmp/clone"; do`)
	require.Contains(t, string(init), `/bin/sh -c '"/opt/testbed" "guest" "/state/guest.json"; echo o`)
	out, err = exec.Command(filepath.Join(dir, "bin", "busybox"), "sh", "-n", filepath.Join(dir, "init")).CombinedOutput()
	require.NoError(t, err, string(out))
}

func TestInitramfsRefusesPathsThatTheShellWouldSplit(t *testing.T) {
	if _, err := exec.LookPath("busybox"); err != nil {
		t.Skip("busybox-static is not installed")
	}
	for _, path := range []string{"/with blank", "/with'quote", "/with$dollar"} {
		_, err := initramfs([]string{path}, nil, nil)
		require.ErrorContains(t, err, path)
	}
}

func TestModulesToLoad(t *testing.T) {
	const shown = "builtin virtio_pci\ninsmod /m/virtio.ko\ninsmod /m/fuse.ko dax=0 \ninsmod /m/virtio.ko\n"
	require.Equal(t, []string{"/m/virtio.ko", "/m/fuse.ko"}, modulesToLoad([]byte(shown)))
}

func TestUnknownKernel(t *testing.T) {
	_, err := findFiles("newest")
	require.ErrorContains(t, err, `kernel "newest" is not known, use "backports" or "stable"`)
}

func TestCheckVisible(t *testing.T) {
	require.NoError(t, CheckVisible("/usr"))
	require.NoError(t, CheckVisible(t.TempDir()), "it can be lent")
	require.ErrorContains(t, CheckVisible("/tmp"), "is not visible")
	require.ErrorContains(t, CheckVisible("/var/run"), "/run is not visible", "symbolic links are followed")
	require.ErrorContains(t, CheckVisible("/proc/self"), "which has a /proc of its own")
}

func TestLentDirectories(t *testing.T) {
	dir, err := os.MkdirTemp("/tmp", "lent")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	inner := filepath.Join(dir, "inner")
	require.NoError(t, os.Mkdir(inner, 0o755))
	other := dir + "-other"
	require.NoError(t, os.Mkdir(other, 0o755))
	defer os.RemoveAll(other)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(inner, link))

	lent, err := lentDirectories([]string{"/usr", inner, other, dir, link})
	require.NoError(t, err)
	require.Equal(t, []string{dir, other}, lent, "what is below another one is lent with it")
	_, err = lentDirectories([]string{filepath.Join(dir, "absent")})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestConsole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "console.log")
	c, err := newConsole(path)
	require.NoError(t, err)
	for _, part := range []string{"SeaBIOS\r\nBooting..test", "bed: mounts\r\n[ 1.0] panic", "\nno newline"} {
		_, err := c.Write([]byte(part))
		require.NoError(t, err)
	}
	require.Equal(t, "mounts", <-c.messages)
	require.Equal(t, "SeaBIOS\nBooting..testbed: mounts\n[ 1.0] panic\nno newline", c.tail())
	require.NoError(t, c.Close())
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(data), "no newline")
}
