// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cniserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/containernetworking/cni/pkg/types"
	types040 "github.com/containernetworking/cni/pkg/types/040"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/announce"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	cnipb "github.com/antrea-oncache/antrea/pkg/apis/cni/v1beta1"
	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

func TestAddConnectsPod(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web-0")
	result := h.mustAdd(p)

	name := p.hostInterface()
	host, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.Equal(t, "veth", host.Type())
	require.Equal(t, 1450, host.Attrs().MTU)
	require.NotZero(t, host.Attrs().Flags&net.FlagUp)

	var mac net.HardwareAddr
	inNetNS(t, p.netns, func() {
		link, err := netlink.LinkByName("eth0")
		require.NoError(t, err)
		require.Equal(t, 1450, link.Attrs().MTU)
		require.NotZero(t, link.Attrs().Flags&net.FlagUp)
		require.Equal(t, host.Attrs().Index, link.Attrs().ParentIndex)
		mac = link.Attrs().HardwareAddr
		require.Equal(t, byte(0x02), mac[0]&0x03, "locally administered unicast")
		addrs, err := netlink.AddrList(link, netlink.FAMILY_V4)
		require.NoError(t, err)
		require.Len(t, addrs, 1)
		require.Equal(t, "10.10.1.2/24", addrs[0].IPNet.String())
		routes, err := netlink.RouteGet(net.IPv4(8, 8, 8, 8))
		require.NoError(t, err)
		require.Equal(t, "10.10.1.1", routes[0].Gw.String())
	})

	port, found, err := h.ports.Fake.GetPort(name)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, map[string]string{
		"antrea-type": "container", "attached-mac": mac.String(), "ip-address": "10.10.1.2", "container-id": p.containerID,
		"pod-name": "web-0", "pod-namespace": "test", "net-ns": p.netns,
	}, port.ExternalIDs)
	stored, found := h.store.GetContainerInterface(p.containerID)
	require.True(t, found)
	restored, err := InterfaceFromPort(port)
	require.NoError(t, err)
	require.Equal(t, stored, restored, "OVSDB and the store agree")
	ip := netip.MustParseAddr("10.10.1.2")
	require.Equal(t, map[string]podFlow{name: {IPs: []netip.Addr{ip}, MAC: mac.String(), OFPort: port.OFPort}}, h.flows.all())
	require.Equal(t, port.OFPort, h.ports.OFPortRequest(name), "flows name the Pod by this number")
	require.Equal(t, map[string]string{"10.10.1.2": p.containerID + "\r\neth0"}, h.leaseOwners())

	want := &current.Result{
		CNIVersion: "1.0.0",
		Interfaces: []*current.Interface{
			{Name: name, Mac: host.Attrs().HardwareAddr.String(), Mtu: 1450},
			{Name: "eth0", Mac: mac.String(), Mtu: 1450, Sandbox: p.netns},
		},
		IPs: []*current.IPConfig{{
			Interface: current.Int(1), Address: net.IPNet{IP: net.IPv4(10, 10, 1, 2), Mask: net.CIDRMask(24, 32)}, Gateway: net.IPv4(10, 10, 1, 1),
		}},
		Routes: []*types.Route{{Dst: net.IPNet{IP: net.IPv4zero.To4(), Mask: net.CIDRMask(0, 32)}, GW: net.IPv4(10, 10, 1, 1)}},
	}
	require.Empty(t, cmp.Diff(want, result))

	h.mustDel(p)
	h.requireNothing(p)
}

// The bridge is not in the kernel here, so the gateway's address is on the host side of the pair.
func TestAddedPodCarriesTraffic(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web-0")
	h.mustAdd(p)
	host, err := netlink.LinkByName(p.hostInterface())
	require.NoError(t, err)
	require.NoError(t, netlink.AddrAdd(host, &netlink.Addr{IPNet: ipNet(netip.MustParsePrefix("10.10.1.1/24"))}))

	var listener net.Listener
	inNetNS(t, p.netns, func() {
		listener, err = net.Listen("tcp4", "10.10.1.2:0")
		require.NoError(t, err)
	})
	defer listener.Close()
	go func() {
		if conn, err := listener.Accept(); err == nil {
			_, _ = conn.Write([]byte("hello"))
			conn.Close()
		}
	}()
	conn, err := net.DialTimeout("tcp4", listener.Addr().String(), 5*time.Second)
	require.NoError(t, err)
	defer conn.Close()
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "hello", string(got))
}

func TestAddPrintsTheRequestedVersion(t *testing.T) {
	h := newReadyHarness(t)
	for _, version := range cnipb.SupportedCNIVersions {
		t.Run(version, func(t *testing.T) {
			p := h.newPod("web")
			p.conf = map[string]any{"cniVersion": version}
			response, err := h.server.CmdAdd(t.Context(), h.request(p))
			require.NoError(t, err)
			require.Nil(t, response.Error)
			var got struct{ CNIVersion string }
			require.NoError(t, json.Unmarshal(response.CniResult, &got))
			require.Equal(t, version, got.CNIVersion)
			if version < "1" {
				result, err := types040.NewResult(response.CniResult)
				require.NoError(t, err)
				require.Equal(t, "4", result.(*types040.Result).IPs[0].Version)
			}
			h.mustDel(p)
			h.requireNothing(p)
		})
	}
}

func TestAddOptions(t *testing.T) {
	t.Run("MTU of the network configuration", func(t *testing.T) {
		h := newReadyHarness(t)
		p := h.newPod("web")
		p.conf = map[string]any{"mtu": 1300}
		h.mustAdd(p)
		host, err := netlink.LinkByName(p.hostInterface())
		require.NoError(t, err)
		require.Equal(t, 1300, host.Attrs().MTU)
		inNetNS(t, p.netns, func() {
			link, err := netlink.LinkByName("eth0")
			require.NoError(t, err)
			require.Equal(t, 1300, link.Attrs().MTU)
		})
	})
	t.Run("TX checksum offload", func(t *testing.T) {
		for disable, want := range map[bool]uint32{false: 1, true: 0} {
			h := newReadyHarness(t, func(c *Config) { c.DisableTXChecksumOffload = disable })
			p := h.newPod("web")
			h.mustAdd(p)
			inNetNS(t, p.netns, func() {
				got, err := ethtool("eth0", ethtoolValue{cmd: unix.ETHTOOL_GTXCSUM})
				require.NoError(t, err)
				require.Equal(t, want, got, "offload with disableTXChecksumOffload %v", disable)
			})
			h.mustDel(p)
		}
	})
	t.Run("other interface than eth0", func(t *testing.T) {
		h := newReadyHarness(t)
		p := h.newPod("web")
		h.mustAdd(p)
		second := *p
		second.ifname = "net1"
		// Two default routes need different metrics, which this network does not give.
		inNetNS(t, p.netns, func() {
			require.NoError(t, netlink.RouteDel(&netlink.Route{Dst: ipNet(netip.MustParsePrefix("0.0.0.0/0"))}))
		})
		h.mustAdd(&second)
		port, found, err := h.ports.Fake.GetPort(second.hostInterface())
		require.NoError(t, err)
		require.True(t, found)
		require.Equal(t, "net1", port.ExternalIDs["if-dev"])
		h.mustDel(&second)
		h.requireNothing(&second)
		_, found = h.store.GetContainerInterface(p.containerID)
		require.True(t, found, "the first interface stays")
		h.mustDel(p)
		h.requireNothing(p)
	})
	t.Run("dual stack", func(t *testing.T) {
		h := newReadyHarness(t, func(c *Config) { c.Node.PodIPv6CIDR = netip.MustParsePrefix("fd00:10:1::/64") })
		p := h.newPod("web")
		result := h.mustAdd(p)
		require.Len(t, result.IPs, 2)
		require.Equal(t, "fd00:10:1::2/64", result.IPs[1].Address.String())
		require.Equal(t, "::/0", result.Routes[1].Dst.String())
		inNetNS(t, p.netns, func() {
			routes, err := netlink.RouteGet(net.ParseIP("2001:db8::1"))
			require.NoError(t, err)
			require.Equal(t, "fd00:10:1::1", routes[0].Gw.String())
		})
		require.Len(t, h.leaseOwners(), 2)
		h.mustDel(p)
		h.requireNothing(p)
	})
	t.Run("host-local's default data directory", func(t *testing.T) {
		requireNamespaces(t)
		require.NoError(t, unix.Mount("tmpfs", "/var/lib", "tmpfs", 0, ""))
		t.Cleanup(func() { require.NoError(t, unix.Unmount("/var/lib", unix.MNT_DETACH)) })
		h := newReadyHarness(t, func(c *Config) { c.IPAMDataDir = "" })
		p := h.newPod("web")
		h.mustAdd(p)
		require.FileExists(t, "/var/lib/cni/networks/antrea/10.10.1.2")
		h.mustDel(p)
		require.NoFileExists(t, "/var/lib/cni/networks/antrea/10.10.1.2")
	})
	t.Run("network namespace below hostProcPathPrefix", func(t *testing.T) {
		prefix := t.TempDir()
		h := newReadyHarness(t, func(c *Config) { c.HostProcPathPrefix = prefix })
		p := h.newPod("web")
		real := p.netns
		p.netns = "/run/only-on-the-host"
		require.NoError(t, os.Mkdir(filepath.Join(prefix, "run"), 0o755))
		require.NoError(t, os.Symlink(real, filepath.Join(prefix, p.netns)))
		result := h.mustAdd(p)
		require.Equal(t, p.netns, result.Interfaces[1].Sandbox)
		h.mustDel(p)
		p.netns = real
		h.requireNothing(p)
	})
}

func TestAddAfterOtherPlugins(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	prev := map[string]any{
		"cniVersion": "1.0.0",
		"interfaces": []any{map[string]any{"name": "dummy0", "sandbox": p.netns}},
		"ips":        []any{map[string]any{"address": "192.0.2.1/32", "interface": 0}},
		"dns":        map[string]any{"domain": "example.org"},
	}
	p.conf = map[string]any{"prevResult": prev}
	result := h.mustAdd(p)
	require.Len(t, result.Interfaces, 3)
	require.Equal(t, "dummy0", result.Interfaces[0].Name)
	require.Len(t, result.IPs, 2)
	require.Equal(t, 2, *result.IPs[1].Interface, "the index counts the earlier interfaces")
	require.Equal(t, "example.org", result.DNS.Domain)

	other := h.newPod("other")
	prev["interfaces"] = []any{map[string]any{"name": "eth0", "sandbox": other.netns}}
	other.conf = map[string]any{"prevResult": prev}
	e := h.addError(other)
	require.Equal(t, cnipb.ErrorCode_INVALID_NETWORK_CONFIG, e.Code)
	h.requireNothing(other)
}

func TestAddSendsGratuitousARPs(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	capture := -1
	h.flows.before = func(operation, name string) {
		if operation == "InstallPodFlows" {
			capture = captureARP(t, name)
		}
	}
	h.mustAdd(p)
	defer unix.Close(capture)
	stored, _ := h.store.GetContainerInterface(p.containerID)
	frame := announce.Frame(stored.IPs[0], stored.MAC)
	var times []time.Time
	buffer := make([]byte, 100)
	for len(times) < announcementCount {
		n, _, err := afpacket.Recvfrom(capture, buffer)
		require.NoError(t, err, "got %d gratuitous ARPs", len(times))
		if string(buffer[:n]) == string(frame) {
			times = append(times, time.Now())
		}
	}
	require.Greater(t, times[2].Sub(times[0]), announcementInterval)
	h.server.background.Wait()
}

func captureARP(t *testing.T, name string) int {
	link, err := netlink.LinkByName(name)
	require.NoError(t, err)
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}))
	const bigEndianARP = unix.ETH_P_ARP>>8 | unix.ETH_P_ARP&0xff<<8
	require.NoError(t, unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: bigEndianARP, Ifindex: link.Attrs().Index}))
	return fd
}

func TestAddWaitsForNetwork(t *testing.T) {
	t.Run("until the time is up", func(t *testing.T) {
		h := newHarness(t)
		h.server.networkReadyTimeout = time.Millisecond
		p := h.newPod("web")
		e := h.addError(p)
		require.Equal(t, cnipb.ErrorCode_TRY_AGAIN_LATER, e.Code)
		h.requireNothing(p)
		h.mustDel(p) // DEL does not wait
	})
	t.Run("until it is ready", func(t *testing.T) {
		h := newHarness(t)
		p := h.newPod("web")
		responses := make(chan *cnipb.CniCmdResponse, 1)
		go func() {
			response, _ := h.server.CmdAdd(t.Context(), h.request(p))
			responses <- response
		}()
		close(h.ready)
		require.Nil(t, (<-responses).Error)
	})
	t.Run("until the runtime gives up", func(t *testing.T) {
		h := newHarness(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		response, err := h.server.CmdAdd(ctx, h.request(h.newPod("web")))
		require.NoError(t, err)
		require.Equal(t, cnipb.ErrorCode_TRY_AGAIN_LATER, response.Error.Code)
	})
}

// policyRecorder is the agent's policy controller.
type policyRecorder struct {
	flows *fakeFlows
	fail  error
	// flowsAtArrival is the number of Pods that had flows when the Pod arrived.
	flowsAtArrival int
	arrived, left  []string
}

func (p *policyRecorder) PodArrives(i *interfacestore.InterfaceConfig) error {
	p.flowsAtArrival = len(p.flows.all())
	p.arrived = append(p.arrived, fmt.Sprintf("%s/%s %s %v %t", i.PodNamespace, i.PodName, i.InterfaceName, i.IPs, i.OFPort > 0))
	return p.fail
}

func (p *policyRecorder) PodLeaves(i *interfacestore.InterfaceConfig) {
	p.left = append(p.left, i.InterfaceName)
}

func TestPoliciesBeforeFlows(t *testing.T) {
	policies := &policyRecorder{}
	h := newHarness(t, func(cfg *Config) { cfg.Policies = policies })
	close(h.ready)
	policies.flows = h.flows
	first, second := h.newPod("web-0"), h.newPod("web-1")

	policies.fail = errors.New("switch says no")
	require.Contains(t, h.addError(first).Message, "switch says no")
	require.Empty(t, h.flows.all(), "a Pod is not connected without its policies")
	h.requireNothing(first)
	require.Equal(t, []string{first.hostInterface()}, policies.left)

	policies.fail = nil
	h.mustAdd(second)
	require.Zero(t, policies.flowsAtArrival)
	require.Equal(t, "test/web-1 "+second.hostInterface()+" [10.10.1.3] true", policies.arrived[1])
	require.Len(t, policies.left, 1)
}

func TestAddAgain(t *testing.T) {
	tests := []struct {
		name string
		// damage changes the result of the first ADD; nil for no change.
		damage func(*harness, *pod)
		// same is set when the second ADD must not change anything.
		same bool
	}{
		{name: "nothing happened", same: true},
		{name: "other network namespace", damage: func(h *harness, p *pod) { p.netns = newNetNS(h.t) }},
		{name: "veth pair gone", damage: func(h *harness, p *pod) { require.NoError(h.t, deleteHostLink(p.hostInterface())) }},
		{name: "OVS port gone", damage: func(h *harness, p *pod) { require.NoError(h.t, h.ports.Fake.DeletePort(p.hostInterface())) }},
		{name: "default route gone", damage: func(h *harness, p *pod) {
			inNetNS(h.t, p.netns, func() {
				require.NoError(h.t, netlink.RouteDel(&netlink.Route{Dst: ipNet(netip.MustParsePrefix("0.0.0.0/0"))}))
			})
		}},
		{name: "agent restarted without the store's entry", damage: func(h *harness, p *pod) {
			h.store.DeleteInterface(&interfacestore.InterfaceConfig{InterfaceName: p.hostInterface()})
			h.mustDel(p) // as the runtime does when the answer to ADD is lost
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newReadyHarness(t)
			p := h.newPod("web")
			first := h.mustAdd(p)
			if tt.damage != nil {
				tt.damage(h, p)
			}
			second := h.mustAdd(p)
			if tt.same {
				require.Empty(t, cmp.Diff(first, second))
			}
			require.Len(t, h.leaseOwners(), 1)
			require.Len(t, h.flows.all(), 1)
			ports, err := h.ports.ListPorts()
			require.NoError(t, err)
			require.Len(t, ports, 1)
			require.Equal(t, 1, h.store.GetContainerInterfaceNum())
			p.conf = map[string]any{"prevResult": second}
			response, err := h.server.CmdCheck(t.Context(), h.request(p))
			require.NoError(t, err)
			require.Nil(t, response.Error)
			h.mustDel(p)
			h.requireNothing(p)
		})
	}
}

func TestConcurrentContainers(t *testing.T) {
	const count = 20
	h := newReadyHarness(t)
	pods := make([]*pod, count)
	for i := range pods {
		pods[i] = h.newPod("web-" + string(rune('a'+i)))
	}
	all := func(cmd func(context.Context, *cnipb.CniCmdRequest) (*cnipb.CniCmdResponse, error), times int) {
		var wg sync.WaitGroup
		for _, p := range pods {
			for range times {
				wg.Go(func() {
					response, err := cmd(t.Context(), h.request(p))
					if err != nil || response.Error != nil {
						t.Errorf("%s: %v %v", p.name, err, response.GetError())
					}
				})
			}
		}
		wg.Wait()
	}
	all(h.server.CmdAdd, 1)
	require.Len(t, h.leaseOwners(), count)
	require.Len(t, h.flows.all(), count)
	require.Equal(t, count, h.store.GetContainerInterfaceNum())
	all(h.server.CmdAdd, 2)
	require.Len(t, h.leaseOwners(), count)
	all(h.server.CmdDel, 2)
	for _, p := range pods {
		h.requireNothing(p)
	}
	require.Empty(t, h.leaseOwners())
	require.Empty(t, h.server.containerLocks.held)
	require.Empty(t, h.server.nameLocks.held)
}

func TestAddRefusesTheNameOfAnotherContainer(t *testing.T) {
	h := newReadyHarness(t)
	first := h.newPod("web")
	second := h.newPod("web")
	first.containerID, second.containerID = collidingContainerIDs(t)
	require.Equal(t, first.hostInterface(), second.hostInterface())
	h.mustAdd(first)
	before := h.flows.all()

	e := h.addError(second)
	require.Equal(t, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, e.Code)
	require.Contains(t, e.Message, "used by another container")
	h.mustDel(second)
	require.Equal(t, before, h.flows.all())
	require.Len(t, h.leaseOwners(), 1)
	_, err := netlink.LinkByName(first.hostInterface())
	require.NoError(t, err)

	// The same after a restart, when only OVSDB knows the first container.
	h.store.DeleteInterface(&interfacestore.InterfaceConfig{InterfaceName: first.hostInterface()})
	e = h.addError(second)
	require.Equal(t, cnipb.ErrorCode_CONFIG_INTERFACE_FAILURE, e.Code)
	h.mustDel(first)
	h.requireNothing(first)
	h.mustAdd(second)
}

// collidingContainerIDs finds two IDs whose names have the same 24 bits of hash.
func collidingContainerIDs(t *testing.T) (string, string) {
	t.Helper()
	seen := map[string]string{}
	for i := range 1 << 20 {
		id := "sandbox-" + netip.AddrFrom4([4]byte{0, byte(i >> 16), byte(i >> 8), byte(i)}).String()
		name := HostInterfaceName("web", id, primaryIFName)
		if other, ok := seen[name]; ok {
			return other, id
		}
		seen[name] = id
	}
	t.Fatal("no two container IDs collide")
	return "", ""
}

func TestAddRefusesNetworkNamespaces(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own := fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid())
	h := newReadyHarness(t)
	for name, tt := range map[string]struct{ path, message string }{
		"absent":          {"/does/not/exist", "is not a network namespace"},
		"a file":          {os.Args[0], "is not a network namespace"},
		"the agent's own": {own, "agent's own"},
	} {
		t.Run(name, func(t *testing.T) {
			p := h.newPod("web")
			p.netns = tt.path
			e := h.addError(p)
			require.Equal(t, cnipb.ErrorCode_INVALID_ENVIRONMENT_VARIABLES, e.Code)
			require.Contains(t, e.Message, tt.message)
			p.netns = ""
			h.requireNothing(p)
		})
	}
}

// An address that a killed agent has leased to the container must not make ADD fail forever.
func TestAddReleasesWhatTheContainerHasLeased(t *testing.T) {
	h := newReadyHarness(t)
	p := h.newPod("web")
	require.NoError(t, os.MkdirAll(h.leases, 0o755))
	h.lease("10.10.1.9", p.containerID)
	h.mustAdd(p)
	require.Len(t, h.leaseOwners(), 1)
	h.mustDel(p)
	h.requireNothing(p)
}
