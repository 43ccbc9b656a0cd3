// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ThisMachine describes the machine that the process runs on.
func ThisMachine() (Machine, error) {
	m := Machine{CPUs: runtime.NumCPU()}
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		return m, fmt.Errorf("uname: %w", err)
	}
	m.Kernel = unix.ByteSliceToString(name.Release[:])
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return m, fmt.Errorf("sysinfo: %w", err)
	}
	m.MemoryBytes = info.Totalram * uint64(info.Unit)
	cpu, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return m, err
	}
	m.CPU, m.Processor, m.Hypervisor = parseCPU(cpu)
	m.LoadBefore, err = Load1()
	return m, err
}

// parseCPU reads the first processor in cpuinfo; hypervisor is "yes" if there is one.
func parseCPU(cpuinfo []byte) (model, processor, hypervisor string) {
	first, _, _ := bytes.Cut(cpuinfo, []byte("\n\n"))
	of := map[string]string{}
	for line := range strings.Lines(string(first)) {
		key, value, _ := strings.Cut(line, ":")
		of[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	if slices.Contains(strings.Fields(of["flags"]), "hypervisor") {
		hypervisor = "yes"
	}
	return of["model name"], strings.Join([]string{of["vendor_id"], of["cpu family"], of["model"], of["stepping"]}, " "), hypervisor
}

// Load1 is the load average of the last minute.
func Load1() (load float64, err error) {
	data, err := os.ReadFile("/proc/loadavg")
	if err == nil {
		_, err = fmt.Sscan(string(data), &load)
	}
	return load, err
}

// Commit returns the commit of the tree that contains dir, and whether files differ from it; "" outside a repository.
func Commit(dir string) (commit string, dirty bool) {
	out, err := exec.Command("git", "-C", dir, "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "", false
	}
	changed, err := exec.Command("git", "-C", dir, "status", "--porcelain", "--untracked-files=no").Output()
	return strings.TrimSpace(string(out)), err != nil || len(changed) > 0
}
