// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// initScript is the initramfs' /init: it loads what a kernel needs to mount the host's file system, makes that the root and
// hands over to the guest command. The first %s is firstMounts, the second one the guest command, quoted for the shell inside single quotes.
const initScript = `#!/bin/sh
for module in /modules/*; do
  [ ! -e "$module" ] || insmod "$module"
done
mount -t virtiofs rootfs /newroot || exec echo "` + "testbed: " + `mounting the host's file system failed"
%s
exec switch_root /newroot /bin/sh -c '%s; echo o >/proc/sysrq-trigger; sleep 60'
`

// firstMounts returns shell commands that complete the root file system at root with mounts and set the environment of programs. /tmp
// and /run are the machine's own, except for lent directories of the host below them, which the commands reach through the directory
// spare.
func firstMounts(root, spare string, lent []string) (string, error) {
	directories, err := quoted(lent)
	if err != nil {
		return "", err
	}
	var s strings.Builder
	fmt.Fprintf(&s, "mount -o bind %s/ %s\n", root, spare)
	for _, m := range []struct{ fstype, dir string }{{"proc", "proc"}, {"sysfs", "sys"}, {"devtmpfs", "dev"}, {"tmpfs", "tmp"}, {"tmpfs", "run"}} {
		fmt.Fprintf(&s, "mount -t %s %s %s/%[2]s\n", m.fstype, m.dir, root)
	}
	const lend = `for dir in %[1]s; do
  mkdir -p "%[2]s$dir" && mount -o bind "%[3]s$dir" "%[2]s$dir" || exec echo "testbed: lending $dir failed"
done
umount %[3]s
`
	fmt.Fprintf(&s, lend, directories, root, spare)
	s.WriteString("export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=linux")
	return s.String(), nil
}

// quoted returns words for the shell.
func quoted(command []string) (string, error) {
	words := make([]string, 0, len(command))
	for _, word := range command {
		if strings.ContainsAny(word, `'"\$ `+"`") {
			return "", fmt.Errorf("the path %q has characters that the boot script does not allow (quotes, blanks, $, \\)", word)
		}
		words = append(words, `"`+word+`"`)
	}
	return strings.Join(words, " "), nil
}

// initramfs returns an initramfs with busybox, initScript and kernel modules, which are loaded in the given order.
// lent are directories below the host's /tmp or /run that the guest sees too.
func initramfs(guestCommand, modules, lent []string) ([]byte, error) {
	path, err := exec.LookPath("busybox")
	if err != nil {
		return nil, fmt.Errorf("busybox-static is needed for the initramfs: %w", err)
	}
	busybox, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	run, err := quoted(guestCommand)
	if err != nil {
		return nil, err
	}
	mounts, err := firstMounts("/newroot", "/host", lent)
	if err != nil {
		return nil, err
	}
	var out cpio
	for _, dir := range []string{"bin", "modules", "newroot", "host"} {
		out.add(dir, 0o040755, nil)
	}
	out.add("bin/busybox", 0o100755, busybox)
	for _, applet := range []string{"sh", "mount", "umount", "mkdir", "switch_root", "echo", "insmod"} {
		out.add("bin/"+applet, 0o120777, []byte("busybox"))
	}
	for i, module := range modules {
		data, err := os.ReadFile(module)
		if err != nil {
			return nil, err
		}
		out.add(fmt.Sprintf("modules/%02d-%s", i, filepath.Base(module)), 0o100644, data)
	}
	out.add("init", 0o100755, fmt.Appendf(nil, initScript, mounts, run))
	return out.finish(), nil
}

// cpio builds an archive in the "newc" format (Linux: Documentation/driver-api/early-userspace/buffer-format.rst).
type cpio struct {
	buf   bytes.Buffer
	inode int
}

// add adds a file; mode has the type bits of st_mode, data is the content or the target of a symbolic link.
func (c *cpio) add(name string, mode int, data []byte) {
	c.inode++
	// magic, ino, mode, uid, gid, nlink, mtime, filesize, devmajor, devminor, rdevmajor, rdevminor, namesize, check
	fmt.Fprintf(&c.buf, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x",
		c.inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	c.buf.WriteString(name)
	c.buf.WriteByte(0)
	c.pad()
	c.buf.Write(data)
	c.pad()
}

func (c *cpio) pad() {
	for c.buf.Len()%4 != 0 {
		c.buf.WriteByte(0)
	}
}

func (c *cpio) finish() []byte {
	c.add("TRAILER!!!", 0, nil)
	return c.buf.Bytes()
}
