// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package machine provides a machine whose kernel has the Open vSwitch datapath: this one if it has it, else user-mode Linux or a virtual
// machine (QEMU with a distribution kernel), each with this machine's own file system as root. It needs root. Commands run in all kinds
// in the same way, through a command server (package remote).
//
// User-mode Linux is a kernel that runs as an ordinary process of this machine: programs run at full speed, and only their system calls
// cost more. Without hardware virtualization QEMU emulates a CPU, which takes four times the CPU time. But times under user-mode Linux say
// nothing about a real kernel: it has no JIT compiler for eBPF programs, a timer of 100 Hz, and other costs of system calls. So everything
// that is measured or recorded uses QEMU.
package machine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/antrea-oncache/antrea/test/env/testbed/guest"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// Kind says what a machine is.
type Kind string

const (
	// KindHost is the machine this program runs on.
	KindHost Kind = "host"
	// KindUML is user-mode Linux, with the kernel of package umlkernel.
	KindUML Kind = "uml"
	// KindVM is a virtual machine under QEMU.
	KindVM Kind = "vm"
)

// Options are the options of Start.
type Options struct {
	// Kind is the kind of machine to start; "" detects it.
	Kind Kind
	// Functional says that times in the machine do not matter; then KindUML may be chosen.
	Functional bool
	// Kernel is the kernel that a virtual machine boots; "" is KernelBackports.
	Kernel Kernel
	// CountInstructions makes time a count of executed instructions, InstructionTime each. It requires a virtual machine, which then
	// has one CPU and models no caches: the same path takes the same time wherever and whenever it is measured.
	CountInstructions bool
	// Profiler, with CountInstructions, is a plugin of QEMU that counts instructions by their address between two marks (package
	// marker), into the directory "blocks" in LogDir; "" for none.
	Profiler string
	// Directories are the directories that commands in the machine will use. Machines other than KindHost see the
	// host's file system without /tmp and /run, except for these directories and the directories named below.
	Directories []string
	// StateDir is an existing directory for private files of this machine.
	StateDir string
	// LogDir is an existing directory for log files (console.log, virtiofsd.log).
	LogDir string
	// GuestCommand is the command line, without its last argument, that calls guest.Run(last argument). Its first word is a
	// statically linked program's absolute path, visible in the guest.
	GuestCommand []string
	Progress     *progress.Printer
}

// Machine is a running machine.
type Machine struct {
	kind     Kind
	endpoint remote.Endpoint
	host     string
	done     chan struct{}
	err      error
	stop     func() error
	publish  func(port int) error // nil if nothing has to be done
}

// Start starts a machine and returns when commands can be run in it.
func Start(ctx context.Context, o Options) (*Machine, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("the testbed makes network namespaces and shares the file system with a virtual machine: run it as root")
	}
	switch {
	case o.CountInstructions && o.Kind != "" && o.Kind != KindVM:
		return nil, fmt.Errorf("instructions can only be counted in a machine of kind %q, not %q", KindVM, o.Kind)
	case o.CountInstructions:
		o.Kind = KindVM
	case o.Kind == "":
		kind, why := Detect(o.Functional)
		o.Kind = kind
		o.Progress.Printf("machine: %s (%s)", kind, why)
	}
	secret := rand.Text()
	switch o.Kind {
	case KindHost:
		return startHost(o, secret)
	case KindUML:
		return startUML(ctx, o, secret)
	case KindVM:
		return startVM(ctx, o, secret)
	default:
		return nil, fmt.Errorf("machine kind %q is not known, use %q, %q or %q", o.Kind, KindHost, KindUML, KindVM)
	}
}

// Kind returns the machine's kind.
func (m *Machine) Kind() Kind { return m.kind }

// Endpoint returns the machine's command server.
func (m *Machine) Endpoint() remote.Endpoint { return m.endpoint }

// HostAddress is the address at which processes in the machine reach published ports of this host's 127.0.0.1.
func (m *Machine) HostAddress() string { return m.host }

// Publish lets processes in the machine connect to this TCP port of this host's 127.0.0.1 until the machine ends.
func (m *Machine) Publish(port int) error {
	if m.publish == nil {
		return nil
	}
	if err := m.publish(port); err != nil {
		return fmt.Errorf("publishing port %d to the machine: %w", port, err)
	}
	return nil
}

// Done is closed when the machine has ended, by Close or by itself.
func (m *Machine) Done() <-chan struct{} { return m.done }

// Err returns the reason why the machine has ended by itself, nil after Close. It must only be called after Done is closed.
func (m *Machine) Err() error { return m.err }

// Run runs a command in the machine; see remote.Run. It fails when the machine ends.
func (m *Machine) Run(ctx context.Context, cmd remote.Command) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-ctx.Done():
		case <-m.done:
			cancel(m.err)
		}
	}()
	code, err := remote.Run(ctx, m.endpoint, cmd)
	select {
	case <-m.done:
		if m.err != nil {
			return 0, m.err
		}
	default:
	}
	return code, err
}

// Close ends the machine and everything that runs in it.
func (m *Machine) Close() error { return m.stop() }

// endsWith ties the machine's end to the end of a process. Close calls cleanup, which ends the process.
func (m *Machine) endsWith(process *proc.Process, console *console, cleanup func()) {
	closing := make(chan struct{})
	m.stop = sync.OnceValue(func() error {
		close(closing)
		cleanup()
		<-m.done
		return nil
	})
	go func() {
		<-process.Done()
		select {
		case <-closing:
		default:
			m.err = fmt.Errorf("the machine has ended by itself; the end of its console:\n%s", console.tail())
		}
		close(m.done)
	}()
}

// guestCommand returns the command line to run in the guest, and writes its configuration to a file that only root can read.
func (o Options) guestCommand(config guest.Config) ([]string, error) {
	data, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(o.StateDir, "guest.json")
	return append(slices.Clone(o.GuestCommand), file), os.WriteFile(file, data, 0o600)
}

// startHost serves commands in this process.
func startHost(o Options, secret string) (*Machine, error) {
	if err := loadHostModules(); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := remote.NewServer(secret)
	m := &Machine{
		kind:     KindHost,
		endpoint: remote.Endpoint{Address: l.Addr().String(), Secret: secret},
		host:     "127.0.0.1",
		done:     make(chan struct{}),
	}
	m.stop = func() error {
		l.Close()
		server.Close()
		<-m.done
		return m.err
	}
	go func() {
		m.err = server.Serve(l)
		close(m.done)
	}()
	o.Progress.Printf("machine: using the running kernel")
	return m, nil
}
