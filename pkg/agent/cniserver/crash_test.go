// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
)

// noPolicies makes the server go through the steps of policies.
type noPolicies struct{}

func (noPolicies) PodArrives(*interfacestore.InterfaceConfig) error { return nil }
func (noPolicies) PodLeaves(*interfacestore.InterfaceConfig)        {}

// runUntil runs op and stops the server for good after its step number k, as a crash would: nothing deferred runs, and open
// files of the process are closed. It returns the steps that were taken; k of 0 lets op finish.
func (h *harness) runUntil(k int, op func()) (steps []string) {
	h.t.Helper()
	taken := make(chan string, 1000)
	crashed, done := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	h.server.afterStep = func(step string) {
		taken <- step
		if int(n.Add(1)) == k {
			close(crashed)
			select {}
		}
	}
	go func() {
		defer close(done)
		op()
	}()
	select {
	case <-crashed:
	case <-done:
		require.Zero(h.t, k, "there is no such step")
	}
	close(taken)
	for step := range taken {
		steps = append(steps, step)
	}
	h.server.afterStep = nil
	return steps
}

// closeFilesOf closes this process's open files of a path, as its end would do.
func closeFilesOf(t *testing.T, path string) {
	t.Helper()
	var want unix.Stat_t
	if err := unix.Stat(path, &want); errors.Is(err, unix.ENOENT) {
		return
	} else {
		require.NoError(t, err)
	}
	var open []int
	entries, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	for _, entry := range entries {
		var fd int
		var got unix.Stat_t
		if _, err := fmt.Sscan(entry.Name(), &fd); err == nil && unix.Fstat(fd, &got) == nil && got.Dev == want.Dev && got.Ino == want.Ino {
			open = append(open, fd)
		}
	}
	for _, fd := range open {
		require.NoError(t, unix.Close(fd))
	}
}

// scene is a Node in one crash test.
type scene struct {
	*harness
	prefix string
	// web is the Pod that requests are about, all has every Pod, and apiPods are the Pods that kube-apiserver knows.
	web     *pod
	all     []*pod
	apiPods []*corev1.Pod
}

var scenes atomic.Int32

func newScene(t *testing.T) *scene {
	s := &scene{harness: newReadyHarness(t, func(c *Config) { c.Policies = noPolicies{} }), prefix: fmt.Sprintf("c%d-", scenes.Add(1))}
	s.web = s.newScenePod("web")
	s.apiPods = append(s.apiPods, apiPod(s.web.name, testNodeName))
	return s
}

func (s *scene) newScenePod(name string) *pod {
	p := s.newPod(s.prefix + name)
	s.all = append(s.all, p)
	return p
}

// crash replaces the server by the one of a new process.
func (s *scene) crash() {
	for _, p := range s.all {
		closeFilesOf(s.t, p.netns)
	}
	closeFilesOf(s.t, filepath.Join(s.leases, "lock"))
	fallback := s.server.ipam.fallbackDir
	s.restart()
	s.server.ipam.fallbackDir = fallback
	s.flows.set(func(f *fakeFlows) { f.installErr, f.uninstallErr = nil, nil })
}

func (s *scene) reconcile() {
	s.t.Helper()
	require.NoError(s.t, s.server.Reconcile(s.t.Context(), podLister(s.t, s.apiPods...), synced))
	close(s.ready)
}

// state describes everything that exists of the scene's Pods. MAC addresses and port numbers are random or depend on
// history, and so do addresses: they only have to be the same everywhere.
func (s *scene) state() []string {
	s.t.Helper()
	var out []string
	say := func(format string, args ...any) {
		out = append(out, strings.ReplaceAll(fmt.Sprintf(format, args...), s.prefix, ""))
	}
	addressOf := func(ip netip.Addr) string {
		if c, ok := s.store.GetInterfaceByIP(ip); ok {
			return "address of " + c.ContainerID
		}
		return ip.String()
	}
	ports, err := s.ports.ListPorts()
	require.NoError(s.t, err)
	for _, port := range ports {
		say("port of %s, OpenFlow port %v", port.ExternalIDs[externalIDContainerID], port.OFPort != 0)
	}
	for _, c := range s.store.ListInterfaces() {
		flow, found := s.flows.all()[c.InterfaceName]
		say("interface of %s in the store, flows fit %v", c.ContainerID, found && slices.Equal(flow.IPs, c.IPs) && flow.MAC == c.MAC.String() && flow.OFPort == c.OFPort)
	}
	say("%d sets of flows", len(s.flows.all()))
	for ip, owner := range s.leaseOwners() {
		say("lease of %s: %s", strings.ReplaceAll(owner, "\r\n", " "), addressOf(netip.MustParseAddr(ip)))
	}
	links, err := rtnl.Links()
	require.NoError(s.t, err)
	for _, link := range links {
		if strings.HasPrefix(link.Attrs().Name, s.prefix) {
			c, found := s.store.GetInterfaceByName(link.Attrs().Name)
			say("host interface, known %v, of container %v", found, found && c.ContainerID != "")
		}
	}
	for _, p := range s.all {
		if !exists(p.netns) {
			continue
		}
		inNetNS(s.t, p.netns, func() {
			link, err := netlink.LinkByName(p.ifname)
			if err != nil {
				return
			}
			addrs, err := rtnl.Dump(func() ([]netlink.Addr, error) { return netlink.AddrList(link, netlink.FAMILY_V4) })
			require.NoError(s.t, err)
			routes, err := rtnl.Dump(func() ([]netlink.Route, error) { return netlink.RouteList(link, netlink.FAMILY_V4) })
			require.NoError(s.t, err)
			for _, a := range addrs {
				ip, _ := netip.AddrFromSlice(a.IP.To4())
				say("container interface of %s: %s, %d routes", p.containerID, addressOf(ip), len(routes))
			}
		})
	}
	slices.Sort(out)
	return out
}

// doAdd and doDel are requests whose answer does not matter: the agent crashes.
func (s *scene) doAdd() { _, _ = s.server.CmdAdd(context.Background(), s.request(s.web)) }
func (s *scene) doDel() { _, _ = s.server.CmdDel(context.Background(), s.request(s.web)) }

// retry is the runtime's next request, which must succeed.
func (s *scene) retry(call func(context.Context, *cnipb.CniCmdRequest) (*cnipb.CniCmdResponse, error), p *pod) {
	s.t.Helper()
	response, err := call(s.t.Context(), s.request(p))
	require.NoError(s.t, err)
	require.Nil(s.t, response.Error)
}

func TestCrashAfterEachStep(t *testing.T) {
	scenarios := []struct {
		name string
		// before makes the scene in which op runs.
		before func(*scene)
		op     func(*scene)
	}{
		{"ADD", func(*scene) {}, (*scene).doAdd},
		{"ADD with other names in the CNI configuration", func(s *scene) {
			dir := s.t.TempDir()
			s.server.cfg.IPAMDataDir, s.server.ipam.dataDir = "", ""
			s.web.conf = map[string]any{"name": "other", "ipam": map[string]any{"type": hostLocalType, "dataDir": dir}}
			s.leases = filepath.Join(dir, "other")
		}, (*scene).doAdd},
		{"ADD that fails and is undone", func(s *scene) {
			s.flows.set(func(f *fakeFlows) { f.installErr = errors.New("boom") })
		}, (*scene).doAdd},
		{"ADD in place of an interface that is broken", func(s *scene) {
			s.mustAdd(s.web)
			require.NoError(s.t, deleteHostLink(s.web.hostInterface()))
		}, (*scene).doAdd},
		{"DEL", func(s *scene) {
			result := s.mustAdd(s.web)
			s.apiPods = []*corev1.Pod{apiPod(s.web.name, testNodeName, result.IPs[0].Address.IP.String())}
		}, (*scene).doDel},
		{"DEL of what is in part gone", func(s *scene) {
			s.mustAdd(s.web)
			require.NoError(s.t, deleteHostLink(s.web.hostInterface()))
		}, (*scene).doDel},
		{"Reconcile", func(s *scene) {
			s.mustAdd(s.web)
			for _, name := range []string{"kept", "vanished", "dead"} {
				p := s.newScenePod(name)
				s.mustAdd(p)
				if name != "vanished" {
					s.apiPods = append(s.apiPods, apiPod(p.name, testNodeName))
				}
			}
			require.NoError(s.t, deleteHostLink(s.all[len(s.all)-1].hostInterface()))
			s.lease("10.10.1.100", "nobody")
			s.lease("10.10.1.101", "nobody")
			s.crash()
		}, func(s *scene) { _ = s.server.Reconcile(context.Background(), podLister(s.t, s.apiPods...), synced) }},
	}
	aftermaths := []struct {
		name string
		run  func(*scene)
	}{
		{"ADD again", func(s *scene) {
			s.reconcile()
			s.retry(s.server.CmdAdd, s.web)
		}},
		{"DEL", func(s *scene) {
			s.reconcile()
			s.retry(s.server.CmdDel, s.web)
		}},
		{"DEL and another sandbox", func(s *scene) {
			s.reconcile()
			s.retry(s.server.CmdDel, s.web)
			again := s.newScenePod("web")
			again.containerID, again.conf = "second", s.web.conf
			s.retry(s.server.CmdAdd, again)
		}},
		{"the Pod is gone, without a request", func(s *scene) {
			deleteNetNS(s.t, s.web.netns)
			s.apiPods = s.apiPods[1:]
			s.reconcile()
		}},
	}
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			run := func(t *testing.T, k int, aftermath func(*scene)) (*scene, []string) {
				s := newScene(t)
				scenario.before(s)
				steps := s.runUntil(k, func() { scenario.op(s) })
				s.crash()
				aftermath(s)
				return s, steps
			}
			for _, aftermath := range aftermaths {
				t.Run(aftermath.name, func(t *testing.T) {
					undisturbed, steps := run(t, 0, aftermath.run)
					var want []string
					eventually(t, func() bool {
						want = undisturbed.state()
						return !slices.ContainsFunc(want, func(line string) bool { return strings.Contains(line, "known false") })
					}, "interfaces of namespaces that are gone are gone")
					require.NotEmpty(t, steps)
					for k, step := range steps {
						t.Run(fmt.Sprintf("%d %s", k+1, step), func(t *testing.T) {
							s, _ := run(t, k+1, aftermath.run)
							eventually(t, func() bool { return slices.Equal(want, s.state()) }, "the same as without a crash: want\n%s\ngot\n%s",
								strings.Join(want, "\n"), stateOf{s})
						})
					}
				})
			}
		})
	}
}

// stateOf is formatted only when needed.
type stateOf struct{ s *scene }

func (f stateOf) String() string { return strings.Join(f.s.state(), "\n") }
