// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/testbed/guest"
	"github.com/antrea-oncache/antrea/test/testbed/proc"
)

// Detect returns KindHost when the running kernel has the Open vSwitch datapath and lets us make namespaces, else KindVM,
// and the reason. It may load the kernel module openvswitch.
func Detect() (Kind, string) {
	if !hasModule("openvswitch") {
		return KindVM, "the running kernel has no openvswitch"
	}
	if err := tryNamespaces(); err != nil {
		return KindVM, fmt.Sprintf("no namespaces can be made here: %v", err)
	}
	return KindHost, "the running kernel has openvswitch"
}

// hasModule says whether a kernel module is built in, loaded or loadable; it loads it.
func hasModule(name string) bool {
	if _, err := os.Stat("/sys/module/" + name); err == nil {
		return true
	}
	return exec.Command("modprobe", "-q", name).Run() == nil
}

// loadHostModules loads what is there. Only openvswitch is required: others may be built in without being listed.
func loadHostModules() error {
	if !hasModule("openvswitch") {
		return errors.New("the running kernel has no openvswitch module: use a virtual machine")
	}
	for _, name := range guest.Modules {
		hasModule(name)
	}
	return nil
}

func tryNamespaces() error {
	thread := proc.NewThread()
	defer thread.Close()
	return thread.Do(func() error { return unix.Unshare(unix.CLONE_NEWNET | unix.CLONE_NEWNS | unix.CLONE_NEWUTS) })
}

// emulated is QEMU's processor under emulation. Without erms and fsrm the kernel copies memory in a way that is three times as
// fast, without fsrs it clears it so. Where instructions are counted, each byte of the other ways is one, which it is not on any
// real processor.
const emulated = "max,-erms,-fsrm,-fsrs"

// InstructionTime is how long an instruction takes in a machine that counts instructions. The shorter, the more of them a program executes
// that runs for a certain time; with much longer ones timeouts of the programs would be too short.
const InstructionTime = time.Nanosecond << instructionTimeShift

const instructionTimeShift = 2

// counter returns QEMU's arguments for a processor whose time is a count of instructions.
func counter() (name string, args []string) {
	return "tcg, counting instructions", []string{"-accel", "tcg,thread=single", "-icount", fmt.Sprintf("shift=%d,sleep=on", instructionTimeShift), "-cpu", emulated, "-smp", "1"}
}

// accelerator returns QEMU's arguments for the processors. /dev/kvm alone proves nothing: paravirtual emulations of it exist
// that cannot run a distribution kernel, on processors that show no virtualization extension.
func accelerator() (name string, args []string) {
	if kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0); err == nil {
		kvm.Close()
		if f, err := os.Open("/proc/cpuinfo"); err == nil {
			defer f.Close()
			if hasVirtualization(f) {
				return "kvm", []string{"-accel", "kvm", "-cpu", "host", "-smp", cpus}
			}
		}
	}
	return "tcg", []string{"-accel", "tcg,thread=multi", "-cpu", emulated, "-smp", cpus}
}

// hasVirtualization looks for the flags vmx or svm in the text of /proc/cpuinfo.
func hasVirtualization(cpuinfo io.Reader) bool {
	lines := bufio.NewScanner(cpuinfo)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		if strings.TrimSpace(key) != "flags" {
			continue
		}
		flags := strings.Fields(value)
		return slices.Contains(flags, "vmx") || slices.Contains(flags, "svm")
	}
	return false
}
