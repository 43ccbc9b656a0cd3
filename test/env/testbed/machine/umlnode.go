// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"

	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// NodeOptions are the options of StartNode.
type NodeOptions struct {
	// Directories, StateDir, LogDir, GuestCommand and Progress have the meaning of the fields of Options; the machine
	// sees the directories under the same paths as the host. The other fields have no effect.
	Options
	// Name is the machine's host name.
	Name string
	// Segment is the network of the machine's only network device.
	Segment *Segment
	// Addresses are the machine's addresses, Gateways the gateways of its default routes.
	Addresses []netip.Prefix
	Gateways  []netip.Addr
	// Disk is a file with an ext4 file system, which becomes the machine's root. The machine does not change it: what it writes is in the
	// file Changes, which is made if it does not exist, and continues the former machine's disk if it does.
	Disk, Changes string
	// Memory is in bytes. The host provides only the part that the machine touches.
	Memory uint64
}

// nodeScript is the first program in user-mode Linux with a disk of its own: it completes the disk's file system with what the kernel
// and the host provide, makes it the root, and runs the guest command. Inode tables that are not used yet need not be cleared
// (noinit_itable). The first %s is the lent directories, the second one the guest command.
const nodeScript = `#!/bin/sh
mount -t devtmpfs devtmpfs /dev
mount -t ext4 -o noinit_itable /dev/ubda /mnt || exec echo "testbed: mounting the disk failed"
mount -t proc proc /mnt/proc
mount -t sysfs sysfs /mnt/sys
mount -t devtmpfs devtmpfs /mnt/dev
mount -t tmpfs tmpfs /mnt/tmp
mount -t tmpfs -o mode=755 tmpfs /mnt/run
for dir in %s; do
  mkdir -p "/mnt$dir" && mount -o bind "$dir" "/mnt$dir" || exec echo "testbed: lending $dir failed"
done
mkdir -p /mnt/.host
cd /mnt
pivot_root . .host
umount -l /.host
rmdir /.host
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=linux
%s
echo o >/proc/sysrq-trigger
sleep 60
`

// StartNode starts user-mode Linux with a disk of its own on a network segment, and returns when commands can be run in it. Machines on
// one segment are a cluster's Nodes, each with a kernel of its own.
func StartNode(ctx context.Context, o NodeOptions) (_ *Machine, err error) {
	kernel, err := findUMLKernel()
	if err != nil {
		return nil, err
	}
	u := &uml{o: o.Options}
	defer func() {
		if err != nil {
			u.cleanup()
		}
	}()
	secret := rand.Text()
	script, err := u.writeNodeScript(o, secret)
	if err != nil {
		return nil, err
	}
	wire, err := o.Segment.attach()
	if err != nil {
		return nil, err
	}
	if u.thread, err = o.Segment.newThread(); err != nil {
		return nil, err
	}
	// t: the disk can neither write zeroes without data nor discard. A request of ext4 to write zeroes never ended once (Linux 7.3.4), and all
	// later requests waited for it.
	args := append(umlDeviceArgs(wire, "mac="+macAddress(o.Addresses[0].Addr()).String()), fmt.Sprintf("ubd0t=%s,%s", o.Changes, o.Disk), "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "init="+script)
	if err := u.boot(ctx, kernel.Path, o.Memory, args); err != nil {
		return nil, fmt.Errorf("starting machine %s: %w", o.Name, err)
	}
	commands, err := o.Segment.Publish(net.JoinHostPort(o.Addresses[0].Addr().String(), strconv.Itoa(guest.Port)), 0)
	if err != nil {
		return nil, err
	}
	m := &Machine{
		kind:     KindUML,
		endpoint: remote.Endpoint{Address: commands, Secret: secret},
		done:     make(chan struct{}),
	}
	m.endsWith(u.kernel, u.console, func() {
		writeBack(m.endpoint)
		u.cleanup()
	})
	return m, nil
}

// macAddress is the MAC address of a machine's device. As a real machine's, it stays over reboots.
func macAddress(addr netip.Addr) net.HardwareAddr {
	bytes := addr.AsSlice()
	return append(net.HardwareAddr{2, 0}, bytes[len(bytes)-4:]...)
}

func (u *uml) writeNodeScript(o NodeOptions, secret string) (path string, err error) {
	config := guest.Config{Secret: secret, Device: umlDevice, Hostname: o.Name, Addresses: o.Addresses, Gateways: o.Gateways}
	command, err := u.o.guestCommand(config)
	if err != nil {
		return "", err
	}
	run, err := quoted(command)
	if err != nil {
		return "", err
	}
	lent, err := quoted(append(o.Directories, o.StateDir, o.LogDir, filepath.Dir(o.GuestCommand[0])))
	if err != nil {
		return "", err
	}
	path = filepath.Join(o.StateDir, "init")
	return path, os.WriteFile(path, fmt.Appendf(nil, nodeScript, lent, run), 0o700)
}
