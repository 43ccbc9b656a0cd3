// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
	"github.com/antrea-oncache/antrea/test/env/testbed/umlkernel"
)

func TestUMLScript(t *testing.T) {
	u := &uml{o: Options{StateDir: t.TempDir(), GuestCommand: []string{"/opt/testbed", "guest"}}}
	path, err := u.writeScript(guest.Config{Secret: "s", Device: umlDevice}, []string{"/tmp/clone"})
	require.NoError(t, err)
	out, err := exec.Command("/bin/sh", "-n", path).CombinedOutput()
	require.NoError(t, err, string(out))
	script, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(script), "\nmount -t proc proc /proc\n")
	require.Contains(t, string(script), `for dir in "/tmp/clone"; do`)
	require.Contains(t, string(script), fmt.Sprintf("\n\"/opt/testbed\" \"guest\" \"%s/guest.json\"\n", u.o.StateDir))
	info, err := os.Stat(filepath.Join(u.o.StateDir, "guest.json"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode(), "it has the secret")
}

func TestCountedInstructionsNeedQEMU(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	for _, kind := range []Kind{KindHost, KindUML} {
		_, err := Start(t.Context(), Options{Kind: kind, CountInstructions: true})
		require.ErrorContains(t, err, fmt.Sprintf(`not %q`, kind))
	}
}

func TestUMLNetwork(t *testing.T) {
	if err := CanRunUML(); err != nil || os.Geteuid() != 0 {
		t.Skipf("needs root and a network: %v", err)
	}
	n, err := newUMLNetwork()
	require.NoError(t, err)
	defer n.Close()
	_, err = netlink.LinkByName(wireDevice)
	require.Error(t, err, "the device is in a namespace of its own")

	target, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer target.Close()
	go func() {
		if conn, err := target.Accept(); err == nil {
			fmt.Fprint(conn, "published")
			conn.Close()
		}
	}()
	port := target.Addr().(*net.TCPAddr).Port
	require.NoError(t, n.publish(port))
	var conn net.Conn
	err = n.thread.Do(func() error { // the guest's side: without a guest the address is local
		if err := setUp("lo"); err != nil {
			return err
		}
		conn, err = net.Dial("tcp", net.JoinHostPort(guest.HostAddress, strconv.Itoa(port)))
		return err
	})
	require.NoError(t, err)
	defer conn.Close()
	said, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "published", string(said))
}

// TestUMLRunsCommands boots. That this test's own files are there after the end shows that they are written back.
func TestUMLRunsCommands(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	if _, err := umlkernel.Find(); err != nil || CanRunUML() != nil {
		t.Skipf("needs the kernel that `lab prepare --functional` builds, where it is of use: %v", err)
	}
	// Not t.TempDir: the guest has a /tmp of its own.
	dir, err := os.MkdirTemp(visibleDir(t), "uml-test-")
	require.NoError(t, err)
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "testbed")
	build := exec.Command("go", "build", "-o", program, "../../lab")
	// As the Makefile builds: the race detector's setting would compile all libraries once more.
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	m, err := Start(t.Context(), Options{
		Kind: KindUML, StateDir: dir, LogDir: dir, GuestCommand: []string{program, "guest"}, Progress: progress.New(os.Stderr),
	})
	require.NoError(t, err)
	defer m.Close()
	var stdout bytes.Buffer
	code, err := m.Run(t.Context(), remote.Command{
		Args: []string{"/bin/sh", "-c", `echo "$1" >"$1/written"; uname -m; exit 3`, "sh", dir}, Dir: "/",
		Stdout: &stdout,
	})
	require.NoError(t, err)
	require.Equal(t, 3, code)
	require.Equal(t, "x86_64\n", stdout.String())
	require.NoError(t, m.Close())
	require.NoError(t, m.Err())
	written, err := os.ReadFile(filepath.Join(dir, "written"))
	require.NoError(t, err)
	require.Equal(t, dir+"\n", string(written))
}

// visibleDir is a directory that all kinds of machines see.
func visibleDir(t *testing.T) string {
	t.Helper()
	dir, err := os.UserCacheDir()
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(dir, 0o755))
	return dir
}

func TestDetectChoosesUMLOnlyWhereTimesDoNotMatter(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	kind, _ := Detect(false)
	require.NotEqual(t, KindUML, kind)
	kind, why := Detect(true)
	if _, err := umlkernel.Find(); err == nil && WantsUML() == nil {
		require.Equal(t, KindUML, kind, why)
	} else {
		require.NotEqual(t, KindUML, kind, why)
	}
}
