// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodefacts

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, root, file, text string) {
	t.Helper()
	path := filepath.Join(root, file)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestRead(t *testing.T) {
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "[::1]:0")
	require.NoError(t, err)
	defer udp.Close()

	root := t.TempDir()
	facts, err := Read(t.Context(), root, netip.Addr{})
	require.NoError(t, err)
	require.Nil(t, facts.Uplink)
	require.Contains(t, facts.Unknown, "no network device has the Node's address")
	require.Empty(t, facts.CNIFiles)
	require.Empty(t, facts.OVS)
	require.False(t, facts.BPFFS)
	require.Contains(t, facts.TCP, uint16(tcp.Addr().(*net.TCPAddr).Port))
	require.Contains(t, facts.UDP, uint16(udp.LocalAddr().(*net.UDPAddr).Port))
	require.NotContains(t, facts.UDP, uint16(tcp.Addr().(*net.TCPAddr).Port))
	require.NotEmpty(t, facts.Kernel)

	for _, name := range []string{"10-other.conflist", "05-first.conf", "87-podman.json", "README", "10-antrea.conflist.bak"} {
		write(t, root, "etc/cni/net.d/"+name, "")
	}
	write(t, root, "run/openvswitch/db.sock", "")
	facts, err = Read(t.Context(), root, netip.Addr{})
	require.NoError(t, err)
	require.Equal(t, []string{"05-first.conf", "10-other.conflist", "87-podman.json"}, facts.CNIFiles)
	require.Equal(t, "/run/openvswitch/db.sock", facts.OVS)
}

func TestModules(t *testing.T) {
	root := t.TempDir()
	require.Equal(t, Unknown, findModule(root, "6.1.0", "none_such"))
	write(t, root, "lib/modules/6.1.0/modules.builtin", "kernel/net/openvswitch/openvswitch.ko\n")
	require.Equal(t, Present, findModule(root, "6.1.0", "openvswitch"))
	require.Equal(t, Missing, findModule(root, "6.1.0", "none_such"))
	require.Equal(t, Unknown, findModule(root, "6.2.0", "none_such"), "another kernel's directory says nothing")
	write(t, root, "lib/modules/6.1.0/modules.dep", "kernel/net/none_such.ko.zst: kernel/lib/libcrc32c.ko.zst\n")
	require.Equal(t, Present, findModule(root, "6.1.0", "none_such"))
	require.Equal(t, Missing, findModule(root, "6.1.0", "such"), "part of a name")
}

// A table whose rows cannot be read is an error: a port that is in use must not count as free.
func TestTables(t *testing.T) {
	root := t.TempDir()
	const header = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	for text, want := range map[string][]uint16{
		header: nil,
		header + "   0: 0100007F:286E 00000000:0000 0A 00000000:00000000\n   1: 0100007F:286F 0100007F:01BB 01 0:0\n": {10350},
		header + "   0: 00000000:17C1 00000000:0000 07 0:0\n   1: 00000000:0035 00000000:0000 07 0:0\n":               {53, 6081},
	} {
		write(t, root, "table", text)
		ports, err := listening(filepath.Join(root, "table"), filepath.Join(root, "missing"))
		require.NoError(t, err)
		require.Equal(t, want, ports)
	}
	write(t, root, "table", header+"   0: 0100007F:x 00000000:0000 0A 0:0\n")
	_, err := listening(filepath.Join(root, "table"))
	require.ErrorContains(t, err, "the port in")
}
