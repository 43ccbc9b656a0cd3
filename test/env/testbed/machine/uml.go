// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
	"github.com/antrea-oncache/antrea/test/env/testbed/umlkernel"
)

const (
	umlDevice = "vec0" // the guest's network device
	umlFiles  = 1 << 20
	// syncTimeout is for writing what the guest has not written to the host's files yet, at its end.
	syncTimeout = 10 * time.Second
)

// umlScript is the first program in user-mode Linux: it completes the root file system, which is the host's own, and runs the guest
// command. The first %s is firstMounts, the second one the guest command. Writes to files that stay open in the guest are soon in the
// host's files too: logs are read there.
const umlScript = `#!/bin/sh
%s
echo 100 >/proc/sys/vm/dirty_expire_centisecs
echo 100 >/proc/sys/vm/dirty_writeback_centisecs
%s
echo o >/proc/sysrq-trigger
sleep 60
`

// CanRunUML returns why user-mode Linux cannot be run here, whether its kernel has been built or not.
func CanRunUML() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("user-mode Linux runs on amd64, not on %s", runtime.GOARCH)
	}
	network, err := newUMLNetwork()
	if err != nil {
		return fmt.Errorf("user-mode Linux needs a network: %w", err)
	}
	network.Close()
	return nil
}

// uml are the parts of a machine that runs as user-mode Linux.
type uml struct {
	o       Options
	network *umlNetwork  // nil for a machine on a Segment
	thread  *proc.Thread // the kernel is started on it
	cpu     *reservation // nil if the kernel is not pinned
	kernel  *proc.Process
	console *console
}

func startUML(ctx context.Context, o Options, secret string) (_ *Machine, err error) {
	kernel, err := findUMLKernel()
	if err != nil {
		return nil, err
	}
	lent, err := lentDirectories(append(o.Directories, o.StateDir, filepath.Dir(o.GuestCommand[0])))
	if err != nil {
		return nil, err
	}
	u := &uml{o: o}
	defer func() {
		if err != nil {
			u.cleanup()
		}
	}()
	script, err := u.writeScript(guest.Config{Secret: secret, Device: umlDevice}, lent)
	if err != nil {
		return nil, err
	}
	if u.network, err = newUMLNetwork(); err != nil {
		return nil, fmt.Errorf("making the network of user-mode Linux: %w", err)
	}
	u.thread = u.network.thread
	o.Progress.Printf("machine: booting user-mode Linux %s", kernel.Version)
	if err := u.boot(ctx, kernel.Path, memoryBytes, umlArgs(script)); err != nil {
		return nil, err
	}
	m := &Machine{
		kind:     KindUML,
		endpoint: remote.Endpoint{Address: u.network.commandAddress(), Secret: secret},
		host:     guest.HostAddress,
		done:     make(chan struct{}),
		publish:  u.network.publish,
	}
	m.endsWith(u.kernel, u.console, func() {
		writeBack(m.endpoint)
		u.cleanup()
	})
	return m, nil
}

func findUMLKernel() (umlkernel.Kernel, error) {
	if err := CanRunUML(); err != nil {
		return umlkernel.Kernel{}, err
	}
	kernel, err := umlkernel.Find()
	if errors.Is(err, fs.ErrNotExist) {
		return kernel, fmt.Errorf("the kernel for user-mode Linux has not been built, run `bin/lab prepare --functional`: %w", err)
	}
	return kernel, err
}

// boot starts the kernel, on a processor of its own if there is one, and waits until the guest is ready.
func (u *uml) boot(ctx context.Context, program string, memory uint64, args []string) (err error) {
	if u.cpu, err = reserveCPU(); err != nil {
		return err
	}
	if u.cpu != nil {
		if err := u.thread.Do(u.cpu.pin); err != nil {
			return err
		}
	}
	if err := u.startKernel(program, memory, args); err != nil {
		return err
	}
	return u.console.waitReady(ctx, u.kernel.Done(), u.o.Progress)
}

// writeBack makes the guest write its files. If a guest no longer answers, its unwritten data is lost.
func writeBack(guest remote.Endpoint) {
	ctx, cancel := context.WithTimeout(context.Background(), syncTimeout)
	defer cancel()
	_, _ = remote.Run(ctx, guest, remote.Command{Args: []string{"/bin/sync"}})
}

func (u *uml) writeScript(config guest.Config, lent []string) (path string, err error) {
	command, err := u.o.guestCommand(config)
	if err != nil {
		return "", err
	}
	run, err := quoted(command)
	if err != nil {
		return "", err
	}
	mounts, err := firstMounts("", "/mnt", lent)
	if err != nil {
		return "", err
	}
	path = filepath.Join(u.o.StateDir, "init")
	return path, os.WriteFile(path, fmt.Appendf(nil, umlScript, mounts, run), 0o700)
}

// umlArgs are the kernel's arguments for a root that is the host's.
func umlArgs(script string) []string {
	return append(umlDeviceArgs(wireDevice), "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw", "init="+script)
}

// umlDeviceArgs are the kernel's arguments that all machines have. The console is its standard output. There is one processor because
// threads of one process exclude each other while they run their own code: with two, the kernel spins for the other thread, which takes more than twice
// the processor time. options are further ones of the network device.
func umlDeviceArgs(wire string, options ...string) []string {
	return []string{
		"ncpus=1", "seccomp=on", "con=null", "con0=null,fd:1", "quiet", "devtmpfs.mount=0", "log_buf_len=4M",
		strings.Join(append([]string{fmt.Sprintf("%s:transport=raw,ifname=%s,depth=64", umlDevice, wire)}, options...), ","),
	}
}

func (u *uml) startKernel(program string, memory uint64, args []string) (err error) {
	if u.console, err = newConsole(filepath.Join(u.o.LogDir, "console.log")); err != nil {
		return err
	}
	cmd := exec.Command(program, append([]string{fmt.Sprintf("mem=%dM", memory>>20), "uml_dir=" + u.o.StateDir}, args...)...)
	cmd.Stdout, cmd.Stderr = u.console, u.console
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "TMPDIR=" + u.memoryDir(memory)}
	if u.kernel, err = proc.StartOn(u.thread, cmd); err != nil {
		return err
	}
	return u.raiseFileLimit()
}

// raiseFileLimit: the kernel keeps a file open for each one that the guest has opened. Root may not be allowed to exceed its hard limit.
func (u *uml) raiseFileLimit() error {
	limit := unix.Rlimit{Cur: umlFiles, Max: umlFiles}
	err := unix.Prlimit(u.kernel.Pid(), unix.RLIMIT_NOFILE, &limit, nil)
	if errors.Is(err, unix.EPERM) {
		if err = unix.Prlimit(u.kernel.Pid(), unix.RLIMIT_NOFILE, nil, &limit); err == nil {
			limit.Cur = limit.Max
			err = unix.Prlimit(u.kernel.Pid(), unix.RLIMIT_NOFILE, &limit, nil)
		}
	}
	if err != nil {
		return fmt.Errorf("raising the limit of open files of user-mode Linux: %w", err)
	}
	return nil
}

// memoryDir is the directory of the file that is the guest's memory: in the host's memory if that file system is large
// enough, which it is not in many containers.
func (u *uml) memoryDir(memory uint64) string {
	const dir = "/dev/shm"
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil || stat.Bavail*uint64(stat.Bsize) < memory {
		return u.o.StateDir
	}
	return dir
}

func (u *uml) cleanup() {
	if u.kernel != nil {
		u.kernel.Kill() // it does not heed SIGTERM while the guest's programs run
	}
	if u.network != nil {
		u.network.Close()
	} else if u.thread != nil {
		u.thread.Close()
	}
	if u.cpu != nil {
		u.cpu.Close()
	}
	if u.console != nil {
		u.console.Close()
	}
}
