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

// Detect returns KindHost when the running kernel has the Open vSwitch datapath and lets us make namespaces. Else it is KindUML if there is
// no hardware virtualization, the kernel of package umlkernel has been built and functional is set, else KindVM. It also returns the
// reason. It may load the kernel module openvswitch.
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

// WantsUML returns why Detect would not choose KindUML if its kernel were built, nil if it would.
func WantsUML() error {
	if why, ok := usable(); ok {
		return errors.New(why)
	}
	if hasKVM() {
		return errors.New("there is hardware virtualization")
	}
	return CanRunUML()
}

// usable says whether the running kernel can have Nodes, and why, or why not.
func usable() (why string, ok bool) {
	if !hasOpenVSwitch() {
		return "the running kernel has no openvswitch", false
	}
	if err := tryNamespaces(); err != nil {
		return fmt.Sprintf("no namespaces can be made here: %v", err), false
	}
	return "the running kernel has openvswitch", true
}

// hasOpenVSwitch loads the module if there is one. Built in, the datapath is in no list of modules, but it has its netlink family.
func hasOpenVSwitch() bool {
	if hasModule("openvswitch") {
		return true
	}
	_, err := netlink.GenlFamilyGet("ovs_datapath")
	return err == nil
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

// accelerator returns QEMU's arguments for the processors.
func accelerator() (name string, args []string) {
	if hasKVM() {
		return "kvm", []string{"-accel", "kvm", "-cpu", "host", "-smp", cpus}
	}
	return "tcg", []string{"-accel", "tcg,thread=multi", "-cpu", emulated, "-smp", cpus}
}

// hasKVM says whether virtual machines run on the real processor. /dev/kvm alone proves nothing: paravirtual emulations of it exist
// that cannot run a distribution kernel, on processors that show no virtualization extension.
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
