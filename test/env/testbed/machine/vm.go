// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/test/env/testbed/freeport"
	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

const (
	socketName = "virtiofs.sock"
	qemu       = "qemu-system-x86_64"
	cpus       = "2"

	// The host provides only the part of memory that the guest touches.
	memory      = "6G"
	memoryBytes = 6 << 30
)

var qemuVersion = regexp.MustCompile(`version (\d+)\.`)

// checkQEMU refuses versions that corrupt the guest's memory under emulation (seen with 7.2, not with 10.0).
func checkQEMU(accel string) error {
	out, err := exec.Command(qemu, "--version").Output()
	if err != nil {
		return fmt.Errorf("%s is needed, run `make deps`: %w", qemu, err)
	}
	m := qemuVersion.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("%s --version says %q, which has no version number", qemu, out)
	}
	if major, _ := strconv.Atoi(string(m[1])); accel != "kvm" && major < 10 {
		return fmt.Errorf("%s %d is too old for emulation (random kernel panics), version 10 is needed: run `make deps`", qemu, major)
	}
	return nil
}

func startVM(ctx context.Context, o Options, secret string) (_ *Machine, err error) {
	parts, err := findFiles(o.Kernel)
	if err != nil {
		return nil, err
	}
	accel, accelArgs, err := o.processors()
	if err != nil {
		return nil, err
	}
	if err := checkQEMU(accel); err != nil {
		return nil, err
	}
	lent, err := lentDirectories(append(o.Directories, o.StateDir, filepath.Dir(o.GuestCommand[0]), parts.modulesRoot))
	if err != nil {
		return nil, err
	}
	v := &vm{o: o}
	defer func() {
		if err != nil {
			v.cleanup()
		}
	}()
	// Sockets are in a directory of their own because their paths may have at most 107 bytes.
	if v.socketDir, err = os.MkdirTemp("", "antrea-testbed-"); err != nil {
		return nil, err
	}
	modules, err := parts.bootModules()
	if err != nil {
		return nil, err
	}
	initrd, err := v.writeGuestFiles(guest.Config{Secret: secret, ModulesRoot: parts.modulesRoot, Device: "eth0"}, modules, lent)
	if err != nil {
		return nil, err
	}
	socket := filepath.Join(v.socketDir, socketName)
	if err := v.startVirtiofsd(ctx, parts.virtiofsd, socket); err != nil {
		return nil, err
	}
	ports, err := freeport.Loopback(1)
	if err != nil {
		return nil, err
	}
	port := ports[0]
	o.Progress.Printf("machine: booting %s (%s)", parts.release(), accel)
	if err := v.startQEMU(append(accelArgs, qemuArgs(parts.kernel, initrd, socket, port)...)); err != nil {
		return nil, err
	}
	if err := v.console.waitReady(ctx, v.qemu.Done(), o.Progress); err != nil {
		return nil, err
	}
	m := &Machine{
		kind:     KindVM,
		endpoint: remote.Endpoint{Address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port)), Secret: secret},
		host:     guest.HostAddress,
		done:     make(chan struct{}),
	}
	m.endsWith(v.qemu, v.console, v.cleanup)
	return m, nil
}

// processors returns QEMU's arguments for the CPUs and, if there is one, for the profiler.
func (o Options) processors() (accel string, args []string, err error) {
	if o.Profiler != "" && !o.CountInstructions {
		return "", nil, fmt.Errorf("profiler %s requires a machine that counts instructions (--count-instructions)", o.Profiler)
	}
	if !o.CountInstructions {
		accel, args = accelerator()
		return accel, args, nil
	}
	accel, args = counter()
	if o.Profiler != "" {
		blocks := filepath.Join(o.LogDir, "blocks")
		if err := os.MkdirAll(blocks, 0o755); err != nil {
			return "", nil, err
		}
		args = append(args, "-plugin", "file="+o.Profiler+",out="+blocks)
	}
	return accel, args, nil
}

func qemuArgs(kernel, initrd, socket string, port int) []string {
	// Without no_timer_check the kernel waits for ten ticks of the emulated timer, and panics when QEMU gets too little CPU time to make them.
	return []string{
		"-machine", "q35", "-m", memory, "-nographic", "-no-reboot", "-nodefaults", "-serial", "stdio",
		"-kernel", kernel, "-initrd", initrd,
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off nokaslr net.ifnames=0 log_buf_len=4M no_timer_check",
		"-object", "memory-backend-memfd,id=mem,size=" + memory + ",share=on", "-numa", "node,memdev=mem",
		"-chardev", "socket,id=c0,path=" + socket, "-device", "vhost-user-fs-pci,chardev=c0,tag=rootfs,queue-size=1024",
		"-netdev", fmt.Sprintf("user,id=n0,hostfwd=tcp:127.0.0.1:%d-%s:%d", port, guest.Address, guest.Port),
		"-device", "virtio-net-pci,netdev=n0,romfile=", "-device", "virtio-rng-pci",
	}
}

// vm holds the parts of a virtual machine that cleanup ends.
type vm struct {
	o         Options
	socketDir string
	virtiofsd *proc.Process
	qemu      *proc.Process
	console   *console
}

func (v *vm) writeGuestFiles(config guest.Config, modules, lent []string) (initrd string, err error) {
	command, err := v.o.guestCommand(config)
	if err != nil {
		return "", err
	}
	archive, err := initramfs(command, modules, lent)
	if err != nil {
		return "", err
	}
	initrd = filepath.Join(v.o.StateDir, "initramfs")
	return initrd, os.WriteFile(initrd, archive, 0o600)
}

func (v *vm) startVirtiofsd(ctx context.Context, program, socket string) error {
	log, err := os.Create(filepath.Join(v.o.LogDir, "virtiofsd.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(program, "--socket-path="+socket,
		"-o", "source=/", "-o", "sandbox=chroot", "-o", "cache=always", "-o", "no_posix_lock")
	cmd.Stdout, cmd.Stderr = log, log
	if v.virtiofsd, err = proc.Start(cmd); err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if _, err := os.Stat(socket); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-v.virtiofsd.Done():
			return fmt.Errorf("virtiofsd has ended (%v), see %s", v.virtiofsd.Err(), log.Name())
		case <-tick.C:
		}
	}
}

func (v *vm) startQEMU(args []string) (err error) {
	if v.console, err = newConsole(filepath.Join(v.o.LogDir, "console.log")); err != nil {
		return err
	}
	cmd := exec.Command(qemu, args...)
	cmd.Stdout, cmd.Stderr = v.console, v.console
	v.qemu, err = proc.Start(cmd)
	return err
}

// cleanup ends QEMU and virtiofsd. The guest needs no shutdown: its writes to the host's file system are not delayed.
func (v *vm) cleanup() {
	for _, p := range []*proc.Process{v.qemu, v.virtiofsd} {
		if p != nil {
			if err := p.Stop(10 * time.Second); err != nil {
				v.o.Progress.Printf("machine: %v", err)
			}
		}
	}
	if v.console != nil {
		v.console.Close()
	}
	if v.virtiofsd != nil {
		// virtiofsd leaves this file behind when it is terminated.
		socket := filepath.Join(v.socketDir, socketName)
		os.Remove("/run/virtiofsd/" + strings.ReplaceAll(socket, "/", ".") + ".pid")
	}
	os.RemoveAll(v.socketDir)
}
