// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/test/env/testbed/cluster"
)

const (
	pinDirectory   = "/sys/fs/bpf/antrea"
	liberalSysctl  = "/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal"
	programsPrefix = "oncache_"
)

// testGateSwitch turns the gate off and on again under traffic. It leaves it on.
func testGateSwitch(t *testing.T, s *suite) {
	r := s.startStream(t)
	r.waitFastIfGate(t)
	require.NotEmpty(t, loadedPrograms(t), "the test looks for the wrong name")
	for _, n := range s.Nodes {
		require.NoError(t, n.Do(func() error { return exists(pinDirectory) }))
		s.waitTunnelProgram(t, n)
	}

	s.setGate(t, false)
	r.requireFlowing(t)
	s.waitRoundsComplete(t)
	for _, n := range s.Nodes {
		if s.rewrites {
			waitRemoved(t, n)
		}
		requireNoTrace(t, n)
	}
	// The kernel frees programs a moment after their last user has gone.
	eventually(t, "programs to be gone", func() error {
		if names := loadedPrograms(t); len(names) > 0 {
			return notYet("loaded: " + strings.Join(names, ", "))
		}
		return nil
	})
	require.Empty(t, attachedLinks(t))

	s.setGate(t, true)
	r.requireFlowing(t)
	r.waitFastIfGate(t)
	r.end(t, 0)
}

// waitRemoved waits until an agent with the gate off has removed the programs and maps of its predecessor, which rewrote packets. The agent is
// ready before: these programs restore what other Nodes still send, until their keys have ended.
func waitRemoved(t *testing.T, n *cluster.Node) {
	t.Helper()
	eventuallyWithin(t, 3*patience, "the programs to be removed", func() error {
		err := n.Do(func() error { return exists(pinDirectory + "/oncache") })
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err == nil:
			return notYet("they are there")
		}
		return err
	})
}

// waitTunnelProgram waits until a program of the cache is attached to the Node's tunnel device.
func (s *suite) waitTunnelProgram(t *testing.T, n *cluster.Node) {
	t.Helper()
	eventually(t, "a program on "+s.tunnelDevice()+" of "+n.Name, func() error {
		return n.Do(func() error {
			device, err := net.InterfaceByName(s.tunnelDevice())
			if err != nil {
				return err
			}
			found, err := link.QueryPrograms(link.QueryOptions{Target: device.Index, Attach: ebpf.AttachTCXEgress})
			if err != nil {
				return err
			}
			if len(found.Programs) != 1 {
				return notYet(fmt.Sprintf("there are %d", len(found.Programs)))
			}
			return nil
		})
	})
}

// setGate restarts all agents with the gate on or off.
func (s *suite) setGate(t *testing.T, on bool) {
	t.Helper()
	for _, n := range s.Nodes {
		require.NoError(t, n.SetFeatureGates(map[string]bool{gate: on}))
	}
	s.restartAgents(t)
	s.oncache = on
}

// requireNoTrace checks that no trace of the cache is left on a Node.
func requireNoTrace(t *testing.T, n *cluster.Node) {
	t.Helper()
	err := n.Do(func() error { return exists(pinDirectory + "/oncache") })
	require.ErrorIs(t, err, fs.ErrNotExist, "pins are left")
	for _, f := range dumpFlows(t, n) {
		require.NotContains(t, string(f), "ONCache")
	}
	require.NotContains(t, succeeds(t, n.Space, "ovs-vsctl", "list", "Flow_Table"), "ONCache")
	require.NotContains(t, ovsSetting(t, n, "Bridge", "br-int", "external_ids"), "oncache")
	require.NotContains(t, succeeds(t, n.Space, "tc", "filter", "show", "dev", "eth0", "ingress"), programsPrefix)
	liberal, err := n.ReadFile(liberalSysctl)
	require.NoError(t, err)
	require.Equal(t, "0", strings.TrimSpace(string(liberal)), "a new network namespace has 0")
}

// loadedPrograms returns the names of the cache's programs in the kernel, on any Node.
func loadedPrograms(t *testing.T) (names []string) {
	t.Helper()
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return names
		}
		require.NoError(t, err)
		id = next
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // freed in between
		}
		info, err := p.Info()
		require.NoError(t, err)
		if strings.HasPrefix(info.Name, programsPrefix) {
			names = append(names, info.Name)
		}
		p.Close()
	}
}

// attachedLinks returns the program names of TCX and netkit links of the cache, on any Node.
func attachedLinks(t *testing.T) (names []string) {
	t.Helper()
	links := &link.Iterator{}
	defer links.Close()
	for links.Next() {
		info, err := links.Link.Info()
		if err != nil || info.TCX() == nil && info.Netkit() == nil {
			continue
		}
		p, err := ebpf.NewProgramFromID(info.Program)
		if err != nil {
			continue
		}
		if programInfo, err := p.Info(); err == nil && strings.HasPrefix(programInfo.Name, programsPrefix) {
			names = append(names, programInfo.Name)
		}
		p.Close()
	}
	require.NoError(t, links.Err())
	return names
}
