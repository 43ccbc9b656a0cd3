// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assemble

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
)

// alternatives are links that maintainer scripts make with update-alternatives. As there, the variant that Debian prefers is taken, which is
// the first that is in the image.
var alternatives = []struct{ link, target string }{
	{"usr/bin/awk", "mawk"},
	{"usr/bin/nc", "nc.openbsd"},
	{"usr/bin/which", "which.debianutils"},
	{"usr/sbin/arptables", "arptables-nft"},
	{"usr/sbin/ebtables", "ebtables-nft"},
	{"usr/sbin/ip6tables", "ip6tables-nft"},
	{"usr/sbin/ip6tables-restore", "ip6tables-nft-restore"},
	{"usr/sbin/ip6tables-save", "ip6tables-nft-save"},
	{"usr/sbin/iptables", "iptables-nft"},
	{"usr/sbin/iptables-restore", "iptables-nft-restore"},
	{"usr/sbin/iptables-save", "iptables-nft-save"},
	{"usr/sbin/ovs-vswitchd", "../lib/openvswitch-switch/ovs-vswitchd"},
}

// defaults are files that maintainer scripts copy.
var defaults = []struct{ file, from string }{
	{"etc/passwd", "usr/share/base-passwd/passwd.master"},
	{"etc/group", "usr/share/base-passwd/group.master"},
	{"etc/nsswitch.conf", "usr/share/libc-bin/nsswitch.conf"},
	{"etc/profile", "usr/share/base-files/profile"},
	{"root/.profile", "usr/share/base-files/dot.profile"},
	{"root/.bashrc", "usr/share/base-files/dot.bashrc"},
}

// Install adds packages to the tree and does what their maintainer scripts would do. installed are the packages of
// former calls.
func (t *Tree) Install(ctx context.Context, packages, installed []Package) error {
	for _, p := range packages {
		if err := p.addTo(ctx, t); err != nil {
			return err
		}
	}
	t.layOut()
	for _, d := range defaults {
		body, err := t.read(d.from)
		if err == nil && !t.exists(d.file) {
			t.WriteFile(d.file, body, 0o644, t.newest)
		}
	}
	for _, a := range alternatives {
		if t.files[a.link] == nil && t.exists(path.Join(path.Dir(a.link), a.target)) {
			t.Symlink(a.link, a.target, t.newest)
		}
	}
	t.dropScripts()
	return t.listPackages(ctx, append(slices.Clone(installed), packages...))
}

// layOut makes the links of the root, and the directories that base-files makes when it is installed.
func (t *Tree) layOut() {
	for _, dir := range merged {
		if t.files["usr/"+dir] != nil && t.files[dir] == nil {
			t.put(dir, tar.Header{Typeflag: tar.TypeSymlink, Linkname: "usr/" + dir, Mode: 0o777, ModTime: t.newest}, nil)
		}
	}
	for link, target := range map[string]string{"var/run": "/run", "var/lock": "/run/lock"} {
		if f := t.files[link]; f == nil || f.header.Typeflag != tar.TypeSymlink {
			t.Symlink(link, target, t.newest)
		}
	}
	for dir, mode := range map[string]int64{"opt": 0o755, "mnt": 0o755, "srv": 0o755, "run/lock": 0o1777, "tmp": 0o1777, "usr/local/bin": 0o755} {
		if t.files[dir] == nil {
			t.put(dir, tar.Header{Typeflag: tar.TypeDir, Mode: mode, ModTime: t.newest}, nil)
		}
	}
}

// dropScripts removes scripts whose interpreter is not in the image: what is there can run.
func (t *Tree) dropScripts() {
	for name, f := range t.files {
		if f.sealed || f.header.Typeflag != tar.TypeReg || f.header.Mode&0o100 == 0 {
			continue
		}
		if interpreter := interpreterOf(f.body); interpreter != "" && !t.exists(interpreter) {
			delete(t.files, name)
		}
	}
}

// interpreterOf is the program that runs a script: the absolute path, or what env looks for, in /usr/bin.
func interpreterOf(script []byte) string {
	line, found := bytes.CutPrefix(script, []byte("#!"))
	if !found {
		return ""
	}
	line, _, _ = bytes.Cut(line, []byte("\n"))
	words := strings.Fields(string(line))
	switch {
	case len(words) == 0:
		return ""
	case path.Base(words[0]) == "env" && len(words) > 1:
		return path.Join("/usr/bin", words[len(words)-1])
	}
	return words[0]
}

// listPackages writes dpkg's list of installed packages.
func (t *Tree) listPackages(ctx context.Context, packages []Package) error {
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	var list strings.Builder
	for _, p := range packages {
		paragraph, err := p.status(ctx)
		if err != nil {
			return err
		}
		list.WriteString(paragraph)
	}
	t.WriteFile("var/lib/dpkg/status", []byte(list.String()), 0o644, t.newest)
	return nil
}

// CheckRelease fails unless the tree is of that release of Debian.
func (t *Tree) CheckRelease(release string) error {
	about, err := t.read("etc/os-release")
	if err != nil {
		return err
	}
	if want := fmt.Sprintf("VERSION_ID=%q", release); !strings.Contains(string(about), want+"\n") {
		return fmt.Errorf("the packages that apt has chosen are not of Debian %s (no %s in os-release): apt on this machine must offer that release", release, want)
	}
	return nil
}
