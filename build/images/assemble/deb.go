// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assemble

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"path"
	"strings"
)

// Package is a downloaded Debian package.
type Package struct {
	Name, Version, Architecture string
	file                        string
}

// unwanted are folders whose content nothing in a container needs: what people read, other languages, conversion between character sets, init
// systems. The licences of the packages stay.
var unwanted = []string{
	"etc/cron.d", "etc/cron.daily", "etc/cron.hourly", "etc/cron.monthly", "etc/cron.weekly", "etc/init.d", "etc/network", "etc/update-motd.d",
	"usr/lib/systemd", "usr/lib/udev", "usr/lib/tmpfiles.d", "usr/lib/sysusers.d",
	"usr/share/bash-completion", "usr/share/bug", "usr/share/doc-base", "usr/share/gcc", "usr/share/gdb", "usr/share/info", "usr/share/lintian",
	"usr/share/locale", "usr/share/man", "usr/share/perl5", "usr/share/pixmaps", "usr/share/zsh", "var/cache",
}

// wanted reports whether an image gets a file of a package.
func wanted(name string) bool {
	for dir := name; dir != "."; dir = path.Dir(dir) {
		for _, u := range unwanted {
			if dir == u {
				return false
			}
		}
		if path.Base(dir) == "gconv" && strings.HasPrefix(dir, "usr/lib/") {
			return false
		}
	}
	if rest, found := strings.CutPrefix(name, "usr/share/doc/"); found {
		return !strings.Contains(rest, "/") || path.Base(name) == "copyright"
	}
	return true
}

// addTo adds the package's files to a tree.
func (p Package) addTo(ctx context.Context, t *Tree) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", p.file)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stream, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	addErr := t.addTar(stream, wanted)
	// Read behind the end of the archive; otherwise dpkg-deb would get SIGPIPE.
	io.Copy(io.Discard, stream)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("unpacking %s: %w: %s", p.file, err, stderr.String())
	}
	if addErr != nil {
		return fmt.Errorf("package %s: %w", p.Name, addErr)
	}
	return nil
}

// status is the package's paragraph in dpkg's list of installed packages, by which scanners recognize it.
func (p Package) status(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "dpkg-deb", "--field", p.file).Output()
	if err != nil {
		return "", fmt.Errorf("reading the description of %s: %w", p.file, err)
	}
	first, rest, _ := strings.Cut(string(out), "\n")
	return first + "\nStatus: install ok installed\n" + strings.TrimRight(rest, "\n") + "\n\n", nil
}
