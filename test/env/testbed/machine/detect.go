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

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/umlkernel"
)

// Detect returns KindHost if the running kernel has the Open vSwitch datapath and lets us make namespaces. Otherwise it returns KindUML
// if functional is set, there is no hardware virtualization and the kernel of package umlkernel has been built, and KindVM if not. It also
// returns the reason. It may load the kernel module openvswitch.
func Detect(functional bool) (Kind, string) {
	why, ok := usable()
	if ok {
		return KindHost, why
	}
	if !functional || hasKVM() {
		return KindVM, why
	}
	_, err := umlkernel.Find()
	if err = errors.Join(CanRunUML(), err); err != nil {
		return KindVM, fmt.Sprintf("%s; there is no user-mode Linux, which is faster: %v", why, err)
	}
	return KindUML, why + " and no hardware virtualization"
}

// WantsUML returns nil if Detect would choose KindUML once its kernel is built, and otherwise the reason why not.
func WantsUML() error {
	if why, ok := usable(); ok {
		return errors.New(why)
	}
	if hasKVM() {
		return errors.New("there is hardware virtualization")
	}
	return CanRunUML()
}

// usable reports whether the running kernel can have Nodes, and why, or why not.
func usable() (why string, ok bool) {
	if !hasOpenVSwitch() {
		return "the running kernel has no openvswitch", false
	}
	if err := tryNamespaces(); err != nil {
		return fmt.Sprintf("no namespaces can be made here: %v", err), false
	}
	return "the running kernel has openvswitch", true
}

// hasOpenVSwitch loads the module if there is one. A datapath that is built in is not listed as a module, but has its netlink family.
func hasOpenVSwitch() bool {
	if hasModule("openvswitch") {
		return true
	}
	_, err := netlink.GenlFamilyGet("ovs_datapath")
	return err == nil
}

// hasModule reports whether a kernel module is built in, loaded or loadable; it loads it.
func hasModule(name string) bool {
	if _, err := os.Stat("/sys/module/" + name); err == nil {
		return true
	}
	return exec.Command("modprobe", "-q", name).Run() == nil
}

// loadHostModules loads the modules that exist. Only openvswitch is required: others may be built in without being listed.
func loadHostModules() error {
	if !hasOpenVSwitch() {
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

// emulated is the CPU that QEMU emulates. Without erms and fsrm the kernel copies memory by another method, which is three times as
// fast under emulation; without fsrs, the same holds for clearing memory. Where instructions are counted, the methods with these
// flags cost one instruction per byte, which they do not on any real CPU.
const emulated = "max,-erms,-fsrm,-fsrs"

// InstructionTime is the duration of an instruction in a machine that counts instructions. The shorter it is, the more instructions
// a program executes that runs for a fixed time; if it were much longer, timeouts of programs would be too short.
const InstructionTime = time.Nanosecond << instructionTimeShift

const instructionTimeShift = 2

// counter returns QEMU's arguments for a CPU whose clock counts instructions.
func counter() (name string, args []string) {
	return "tcg, counting instructions", []string{"-accel", "tcg,thread=single", "-icount", fmt.Sprintf("shift=%d,sleep=on", instructionTimeShift), "-cpu", emulated, "-smp", "1"}
}

// accelerator returns QEMU's arguments for the CPUs.
func accelerator() (name string, args []string) {
	if hasKVM() {
		return "kvm", []string{"-accel", "kvm", "-cpu", "host", "-smp", cpus}
	}
	return "tcg", []string{"-accel", "tcg,thread=multi", "-cpu", emulated, "-smp", cpus}
}

// hasKVM reports whether virtual machines run on the real CPU. /dev/kvm alone proves nothing: on CPUs without a virtualization extension
// there are paravirtual emulations of it that cannot run a distribution kernel.
func hasKVM() bool {
	kvm, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	kvm.Close()
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return false
	}
	defer f.Close()
	return hasVirtualization(f)
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
