// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package images_test runs the scripts of the agent's image on directories of their own.
package images_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const (
	scripts  = "agent/rootfs/usr/local/bin"
	conflist = `{"cniVersion": "0.3.0", "name": "antrea", "plugins": [{"type": "antrea"}]}`
)

// node is a directory with the files that install_cni finds in its container.
type node struct {
	t    *testing.T
	root string
}

func newNode(t *testing.T) *node {
	n := &node{t: t, root: t.TempDir()}
	n.write("etc/antrea/antrea-cni.conflist", conflist, 0o644)
	n.write("usr/local/bin/antrea-cni", "new antrea", 0o755)
	for _, plugin := range []string{"loopback", "portmap", "bandwidth"} {
		n.write("opt/cni/bin/"+plugin, "new "+plugin, 0o755)
	}
	n.modprobe("exit 0")
	return n
}

// modprobe makes the modprobe that the script calls; it notes its arguments.
func (n *node) modprobe(command string) {
	n.write("tools/modprobe", "#!/bin/sh\necho \"$1\" >>"+n.root+"/modules\n"+command+"\n", 0o755)
}

func (n *node) write(name, content string, mode fs.FileMode) {
	n.t.Helper()
	file := filepath.Join(n.root, name)
	require.NoError(n.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(n.t, os.WriteFile(file, []byte(content), mode))
}

func (n *node) read(name string) string {
	n.t.Helper()
	content, err := os.ReadFile(filepath.Join(n.root, name))
	require.NoError(n.t, err)
	return string(content)
}

// install runs the script.
func (n *node) install(env ...string) (string, error) {
	n.t.Helper()
	script, err := filepath.Abs(scripts + "/install_cni")
	require.NoError(n.t, err)
	cmd := confined(n.t, "installCNI", script)
	cmd.Env = append([]string{"INSTALL_CNI_ROOT=" + n.root, "PATH=" + n.root + "/tools:" + os.Getenv("PATH")}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// files are the names of all files below host.
func (n *node) files() []string {
	n.t.Helper()
	var names []string
	err := filepath.WalkDir(filepath.Join(n.root, "host"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(n.root, path)
			names = append(names, name)
		}
		return err
	})
	if !os.IsNotExist(err) {
		require.NoError(n.t, err)
	}
	slices.Sort(names)
	return names
}

func (n *node) mode(name string) fs.FileMode {
	n.t.Helper()
	info, err := os.Stat(filepath.Join(n.root, name))
	require.NoError(n.t, err)
	return info.Mode().Perm()
}

func TestInstallCNI(t *testing.T) {
	n := newNode(t)
	n.write("host/etc/cni/net.d/10-antrea.conf", "legacy", 0o644)
	n.write("host/etc/cni/net.d/10-flannel.conflist", "{}", 0o644)
	n.write("host/opt/cni/bin/antrea", "old", 0o755)
	out, err := n.install()
	require.NoError(t, err, out)
	require.Equal(t, []string{
		"host/etc/cni/net.d/10-antrea.conflist", "host/etc/cni/net.d/10-flannel.conflist",
		"host/opt/cni/bin/.antrea/bandwidth.sha256", "host/opt/cni/bin/.antrea/loopback.sha256", "host/opt/cni/bin/.antrea/portmap.sha256",
		"host/opt/cni/bin/antrea", "host/opt/cni/bin/bandwidth", "host/opt/cni/bin/loopback", "host/opt/cni/bin/portmap",
	}, n.files())
	require.Equal(t, "new antrea", n.read("host/opt/cni/bin/antrea"))
	require.Equal(t, "new portmap", n.read("host/opt/cni/bin/portmap"))
	require.Equal(t, conflist, n.read("host/etc/cni/net.d/10-antrea.conflist"))
	require.Equal(t, fs.FileMode(0o644), n.mode("host/etc/cni/net.d/10-antrea.conflist"))
	require.Equal(t, fs.FileMode(0o755), n.mode("host/opt/cni/bin/antrea"))
	require.Equal(t, fs.FileMode(0o750), n.mode("var/run/antrea"))
	require.Equal(t, "openvswitch\nwireguard\n", n.read("modules"))
	require.Contains(t, out, "10-flannel.conflist is of another network plugin; the container runtime ignores it")

	// The container starts again.
	out, err = n.install("CONFIG_FILE_MODE=0600")
	require.NoError(t, err, out)
	require.Len(t, n.files(), 9)
	require.Equal(t, fs.FileMode(0o600), n.mode("host/etc/cni/net.d/10-antrea.conflist"))
}

// TestInstallCNIKeepsOthersPlugins: a plugin that the Node had, or that was installed since, is kept; a plugin of an
// earlier version of the image is not.
func TestInstallCNIKeepsOthersPlugins(t *testing.T) {
	n := newNode(t)
	n.write("host/opt/cni/bin/portmap", "the Node's", 0o755)
	out, err := n.install()
	require.NoError(t, err, out)
	require.Contains(t, out, "the Node has a plugin portmap of its own; it is kept in /opt/cni/bin/.antrea")
	require.Equal(t, "the Node's", n.read("host/opt/cni/bin/.antrea/portmap"))
	require.Equal(t, "new portmap", n.read("host/opt/cni/bin/portmap"))
	require.NoFileExists(t, filepath.Join(n.root, "host/opt/cni/bin/.antrea/bandwidth"))

	n.write("opt/cni/bin/portmap", "newer portmap", 0o755)
	out, err = n.install()
	require.NoError(t, err, out)
	require.Equal(t, "the Node's", n.read("host/opt/cni/bin/.antrea/portmap"))
	require.Equal(t, "newer portmap", n.read("host/opt/cni/bin/portmap"))

	n.write("host/opt/cni/bin/portmap", "the Node's, upgraded", 0o755)
	out, err = n.install()
	require.NoError(t, err, out)
	require.Equal(t, "the Node's, upgraded", n.read("host/opt/cni/bin/.antrea/portmap"))
	require.Equal(t, "newer portmap", n.read("host/opt/cni/bin/portmap"))
}

// TestInstallCNIKilled: an upgrade that was killed before it has replaced a plugin does not take the former version for the Node's own, which
// would replace the copy of the Node's.
func TestInstallCNIKilled(t *testing.T) {
	n := newNode(t)
	n.write("host/opt/cni/bin/portmap", "the Node's", 0o755)
	out, err := n.install()
	require.NoError(t, err, out)

	n.write("opt/cni/bin/portmap", "newer portmap", 0o755)
	n.write("tools/mv", "#!/bin/sh\n[ \"$3\" != "+n.root+"/host/opt/cni/bin/portmap ] || { kill -KILL $PPID; exit 1; }\nexec /bin/mv \"$@\"\n", 0o755)
	_, err = n.install()
	require.Error(t, err)
	require.NoError(t, os.Remove(filepath.Join(n.root, "tools/mv")))
	require.Equal(t, "new portmap", n.read("host/opt/cni/bin/portmap"))

	out, err = n.install()
	require.NoError(t, err, out)
	require.NotContains(t, out, "of its own")
	require.Equal(t, "the Node's", n.read("host/opt/cni/bin/.antrea/portmap"))
	require.Equal(t, "newer portmap", n.read("host/opt/cni/bin/portmap"))
}

func TestInstallCNISettings(t *testing.T) {
	for _, c := range []struct {
		name, env string
		files     []string
		modules   bool
		output    string
	}{
		{
			name: "plugins that the Node has already", env: "SKIP_CNI_BINARIES=loopback,portmap,bandwidth", modules: true,
			files: []string{"host/etc/cni/net.d/10-antrea.conflist", "host/opt/cni/bin/antrea"},
		},
		{
			name: "blanks in the list, and antrea", env: "SKIP_CNI_BINARIES=antrea, loopback", modules: true,
			files: []string{
				"host/etc/cni/net.d/10-antrea.conflist", "host/opt/cni/bin/.antrea/bandwidth.sha256", "host/opt/cni/bin/.antrea/portmap.sha256",
				"host/opt/cni/bin/bandwidth", "host/opt/cni/bin/portmap",
			},
		},
		{
			name: "an unknown plugin", env: "SKIP_CNI_BINARIES=tuning,loopback,portmap,bandwidth", modules: true,
			files:  []string{"host/etc/cni/net.d/10-antrea.conflist", "host/opt/cni/bin/antrea"},
			output: `SKIP_CNI_BINARIES has "tuning"`,
		},
		{name: "no modules", env: "SKIP_LOADING_KERNEL_MODULES=1"},
		{name: "modules, said in the way of the chart", env: "SKIP_LOADING_KERNEL_MODULES=0", modules: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t)
			out, err := n.install(c.env)
			require.NoError(t, err, out)
			if c.files != nil {
				require.Equal(t, c.files, n.files())
			}
			require.Contains(t, out, c.output)
			if _, err := os.Stat(filepath.Join(n.root, "modules")); c.modules {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, fs.ErrNotExist)
			}
		})
	}
}

// TestInstallCNIRefuses: what is wrong is said, and the host's plugins and configuration stay as they are.
func TestInstallCNIRefuses(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(n *node)
		env     string
		output  string
	}{
		{name: "a mode that is none", env: "CONFIG_FILE_MODE=rw-r--r--", output: `CONFIG_FILE_MODE is "rw-r--r--"; it must be an octal mode such as 0644`},
		{
			name: "no configuration", output: "mount key antrea-cni.conflist of ConfigMap antrea-config",
			prepare: func(n *node) {
				require.NoError(n.t, os.Remove(filepath.Join(n.root, "etc/antrea/antrea-cni.conflist")))
			},
		},
		{
			name: "a configuration of another plugin", output: `has no plugin of "type": "antrea"`,
			prepare: func(n *node) { n.write("etc/antrea/antrea-cni.conflist", `{"plugins": [{"type": "bridge"}]}`, 0o644) },
		},
		{
			name: "a plugin is missing in the image", output: "portmap is missing in the image",
			prepare: func(n *node) { require.NoError(n.t, os.Remove(filepath.Join(n.root, "opt/cni/bin/portmap"))) },
		},
		{
			name: "the agent refuses its configuration", output: "antrea-agent refuses validate --config=",
			prepare: func(n *node) {
				n.write("etc/antrea/antrea-agent.conf", "tunnelType: ipip\n", 0o644)
				n.write("usr/local/bin/antrea-agent", "#!/bin/sh\necho \"antrea-agent refuses $*\"\nexit 1\n", 0o755)
			},
		},
		{
			name: "another network plugin comes first", output: "05-other.conflist is of another network plugin and comes before 10-antrea.conflist",
			prepare: func(n *node) { n.write("host/etc/cni/net.d/05-other.conflist", `{"name": "other"}`, 0o644) },
		},
		{
			name: "the kernel has no Open vSwitch", output: "the kernel module openvswitch cannot be loaded into kernel",
			prepare: func(n *node) { n.modprobe("exit 1") },
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t)
			n.write("host/opt/cni/bin/antrea", "old", 0o755)
			if c.prepare != nil {
				c.prepare(n)
			}
			before := n.files()
			out, err := n.install(c.env)
			require.Error(t, err, out)
			require.Contains(t, out, c.output)
			require.Equal(t, before, n.files())
			require.Equal(t, "old", n.read("host/opt/cni/bin/antrea"))
		})
	}
}

func TestInstallCNIAcceptsADelegatingPlugin(t *testing.T) {
	n := newNode(t)
	n.write("host/etc/cni/net.d/00-multus.conf", `{"type": "multus", "clusterNetwork": "antrea"}`, 0o644)
	out, err := n.install()
	require.NoError(t, err, out)
	require.Contains(t, n.files(), "host/etc/cni/net.d/10-antrea.conflist")
}

func TestInstallCNIWithoutWireGuard(t *testing.T) {
	n := newNode(t)
	n.modprobe(`[ "$1" = openvswitch ]`)
	out, err := n.install()
	require.NoError(t, err, out)
	require.Contains(t, out, "the kernel module wireguard cannot be loaded")
}

func TestInstallCNIOnAFullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a file system")
	}
	n := newNode(t)
	host := filepath.Join(n.root, "host")
	require.NoError(t, os.Mkdir(host, 0o755))
	require.NoError(t, unix.Mount("tmpfs", host, "tmpfs", 0, "size=64k"))
	t.Cleanup(func() { require.NoError(t, unix.Unmount(host, 0)) })
	n.write("host/opt/cni/bin/antrea", "old", 0o755)
	n.write("opt/cni/bin/bandwidth", strings.Repeat("x", 100_000), 0o755)
	out, err := n.install()
	require.Error(t, err, out)
	require.Contains(t, out, "bandwidth cannot be written")
	require.Contains(t, out, "Nothing on the Node has been replaced")
	require.Equal(t, []string{"host/opt/cni/bin/antrea"}, n.files())
	require.Equal(t, "old", n.read("host/opt/cni/bin/antrea"))
}
