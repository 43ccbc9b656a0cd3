// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/agent/round"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
	"github.com/antrea-oncache/antrea/pkg/ovs/ovstest"
)

// newNetNS moves the calling test into a new network namespace with an uplink. The goroutine stays locked to its thread,
// which the runtime throws away when the test ends.
func newNetNS(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root for network namespaces")
	}
	runtime.LockOSThread()
	ns, err := netns.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ns.Close()) })
	addDevice(t, "eth0", "192.168.0.1/24")
	addDevice(t, "eth1", "172.16.0.1/16")
}

func addDevice(t *testing.T, name, address string) {
	t.Helper()
	require.NoError(t, netlink.LinkAdd(&netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name}, PeerName: name + "-peer"}))
	link, err := netlink.LinkByName(name)
	require.NoError(t, err)
	addr, err := netlink.ParseAddr(address)
	require.NoError(t, err)
	require.NoError(t, netlink.AddrAdd(link, addr))
	require.NoError(t, netlink.LinkSetUp(link))
}

// pipelineStub stands for the OpenFlow client and records how it was initialized.
type pipelineStub struct {
	openflow.Client
	round   openflow.RoundInfo
	node    *config.NodeConfig
	network *config.NetworkConfig
}

func (p *pipelineStub) Initialize(_ context.Context, round openflow.RoundInfo, node *config.NodeConfig, network *config.NetworkConfig) (<-chan struct{}, error) {
	p.round, p.node, p.network = round, node, network
	return make(chan struct{}), nil
}

func (p *pipelineStub) DeleteStaleFlows() error { return nil }

type routesStub struct {
	route.Interface
	initialize func()
}

func (r routesStub) Initialize() error {
	r.initialize()
	return nil
}

type datapathStub struct{}

func (datapathStub) WaitRevalidation(context.Context) error { return nil }

type bed struct {
	ovs      *ovstest.OVS
	bridge   ovsconfig.BridgeClient
	kube     *fake.Clientset
	store    interfacestore.InterfaceStore
	pipeline *pipelineStub
	options  Options
	// suspended counts how often the former cache was suspended; agrees is its FormerCache.Agrees.
	suspended int
	agrees    func(map[netip.Addr]uint16) (bool, error)
	// steps are the end of the former cache's hits and the start of the host network, in order.
	steps []string
}

// catchUp returns when the agent's copy of the database contains all changes of others.
func (b *bed) catchUp(t *testing.T) {
	t.Helper()
	require.NoError(t, b.bridge.SetExternalID("seen", "1"))
}

func newBed(t *testing.T) *bed {
	t.Helper()
	newNetNS(t)
	o := ovstest.Start(t, ovstest.InNetNS("/proc/thread-self/ns/net"))
	conn, err := ovsconfig.NewOVSDBConnection(t.Context(), "unix:"+o.DBSocket)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return &bed{
		ovs: o, bridge: ovsconfig.NewBridgeClient(conn, "br-int", ovsconfig.WithDatapathType("netdev")),
		kube: fake.NewClientset(testNode([]string{"10.10.1.0/24"}, internalIP("192.168.0.1"))),
		options: Options{
			NodeName: "node1", OVSBridge: "br-int", HostGateway: "antrea-gw0",
			TrafficEncapMode: config.TrafficEncapModeEncap, TunnelType: config.TunnelTypeGeneve, ServiceNAT: true,
		},
	}
}

// initializer is a freshly started agent on the bed.
func (b *bed) initializer() *Initializer {
	b.store, b.pipeline = interfacestore.NewInterfaceStore(), &pipelineStub{}
	i := NewInitializer(b.options, b.kube, b.bridge, datapathStub{}, b.store, b.pipeline,
		func(*config.NetworkConfig, *config.NodeConfig) (route.Interface, error) {
			return routesStub{initialize: func() { b.steps = append(b.steps, "host network") }}, nil
		},
		round.FormerCache{
			Suspend:  func() error { b.suspended++; return nil },
			StopHits: func() error { b.steps = append(b.steps, "no hits"); return nil },
			Agrees:   b.agrees,
		})
	i.nodeInterval, i.bridgeAttempt = time.Millisecond, 100*time.Millisecond
	return i
}

func (b *bed) start(t *testing.T) (*Initializer, *State) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	i := b.initializer()
	state, err := i.Initialize(ctx)
	require.NoError(t, err)
	return i, state
}

func gatewayAddresses(t *testing.T) []string {
	t.Helper()
	link, err := netlink.LinkByName("antrea-gw0")
	require.NoError(t, err)
	list, err := netlink.AddrList(link, netlink.FAMILY_V4)
	require.NoError(t, err)
	var result []string
	for _, a := range list {
		result = append(result, a.IPNet.String())
	}
	return result
}

// A Node that changes from IPv4 to both IP versions, then to IPv6 only; what belongs to no Pod network goes.
func TestInitializeForEachIPVersion(t *testing.T) {
	b := newBed(t)
	link, err := netlink.LinkByName("eth0")
	require.NoError(t, err)
	addr, err := netlink.ParseAddr("fd00:77::1/64")
	require.NoError(t, err)
	addr.Flags = unix.IFA_F_NODAD
	require.NoError(t, netlink.AddrAdd(link, addr))
	gateway6 := func() []string {
		gw, err := netlink.LinkByName("antrea-gw0")
		require.NoError(t, err)
		list, err := netlink.AddrList(gw, netlink.FAMILY_V6)
		require.NoError(t, err)
		var all []string
		for _, a := range list {
			if !a.IP.IsLinkLocalUnicast() {
				require.Zero(t, a.Flags&unix.IFA_F_TENTATIVE, "usable at once")
				all = append(all, a.IPNet.String())
			}
		}
		return all
	}
	for _, tc := range []struct {
		name         string
		cidrs        []string
		ips          []corev1.NodeAddress
		ipv4, ipv6   []string
		uplink       string
		mtu          int
		enabled4and6 [2]bool
	}{
		{"IPv4", []string{"10.10.1.0/24"}, []corev1.NodeAddress{internalIP("192.168.0.1"), internalIP("fd00:77::1")},
			[]string{"10.10.1.1/24"}, nil, "192.168.0.1/24 invalid Prefix", 1450, [2]bool{true, false}},
		{"dual stack over IPv4", []string{"10.10.1.0/24", "fd00:10::/64"}, []corev1.NodeAddress{internalIP("192.168.0.1")},
			[]string{"10.10.1.1/24"}, []string{"fd00:10::1/64"}, "192.168.0.1/24 invalid Prefix", 1450, [2]bool{true, true}},
		{"dual stack over both", []string{"10.10.1.0/24", "fd00:10::/64"}, []corev1.NodeAddress{internalIP("192.168.0.1"), internalIP("fd00:77::1")},
			[]string{"10.10.1.1/24"}, []string{"fd00:10::1/64"}, "192.168.0.1/24 fd00:77::1/64", 1430, [2]bool{true, true}},
		{"IPv6 over IPv6", []string{"fd00:11::/64"}, []corev1.NodeAddress{internalIP("192.168.0.1"), internalIP("fd00:77::1")},
			nil, []string{"fd00:11::1/64"}, "invalid Prefix fd00:77::1/64", 1430, [2]bool{false, true}},
		{"IPv6 over IPv4", []string{"fd00:11::/64"}, []corev1.NodeAddress{internalIP("192.168.0.1")},
			nil, []string{"fd00:11::1/64"}, "192.168.0.1/24 invalid Prefix", 1450, [2]bool{false, true}},
	} { // no subtests: they would run on threads of the root namespace
		b.kube = fake.NewClientset(testNode(tc.cidrs, tc.ips...))
		_, state := b.start(t)
		require.Equal(t, tc.ipv4, gatewayAddresses(t), tc.name)
		require.Equal(t, tc.ipv6, gateway6(), tc.name)
		require.Equal(t, tc.uplink, state.Node.Uplink.IPv4.String()+" "+state.Node.Uplink.IPv6.String(), tc.name)
		require.Equal(t, tc.mtu, state.Node.MTU, tc.name)
		require.Equal(t, tc.enabled4and6, [2]bool{state.Network.IPv4Enabled, state.Network.IPv6Enabled}, tc.name)
		if len(tc.ipv6) > 0 {
			value, err := os.ReadFile("/proc/sys/net/ipv6/conf/antrea-gw0/accept_ra")
			require.NoError(t, err)
			require.Equal(t, "0", strings.TrimSpace(string(value)), tc.name)
		}
	}
}

func TestInitializeOnAFreshNode(t *testing.T) {
	b := newBed(t)
	_, state := b.start(t)

	node := state.Node
	require.Equal(t, "node1", node.Name)
	require.Equal(t, netip.MustParsePrefix("10.10.1.0/24"), node.PodIPv4CIDR)
	require.Equal(t, netip.MustParseAddr("192.168.0.1"), node.NodeIP)
	require.Equal(t, "eth0", node.Uplink.Name)
	require.Equal(t, netip.MustParsePrefix("192.168.0.1/24"), node.Uplink.IPv4)
	require.Equal(t, []netip.Addr{netip.MustParseAddr("192.168.0.1")}, node.Addresses)
	require.Equal(t, 1450, node.MTU)
	require.EqualValues(t, config.TunnelOFPort, node.TunnelOFPort)
	require.EqualValues(t, config.GatewayOFPort, node.Gateway.OFPort)
	require.Equal(t, netip.MustParseAddr("10.10.1.1"), node.Gateway.IPv4)
	require.Equal(t, &config.NetworkConfig{
		TrafficEncapMode: "encap", TunnelType: "geneve", TunnelPort: 6081, IPv4Enabled: true,
	}, state.Network)
	require.Equal(t, openflow.RoundInfo{RoundNum: 1, FormerTables: map[uint8]string{}}, b.pipeline.round)
	require.Same(t, node, b.pipeline.node)

	link, err := netlink.LinkByName("antrea-gw0")
	require.NoError(t, err)
	require.Equal(t, link.Attrs().Index, node.Gateway.LinkIndex)
	require.Equal(t, link.Attrs().HardwareAddr, node.Gateway.MAC)
	require.NotZero(t, link.Attrs().Flags&net.FlagUp)
	require.Equal(t, []string{"10.10.1.1/24"}, gatewayAddresses(t))
	require.EqualValues(t, 2, node.Gateway.MAC[0]&3, "locally administered and unicast")
	announce, err := os.ReadFile("/proc/sys/net/ipv4/conf/antrea-gw0/arp_announce")
	require.NoError(t, err)
	require.Equal(t, "1", strings.TrimSpace(string(announce)))

	require.Equal(t, "1450", b.ovs.Vsctl("get", "interface", "antrea-gw0", "mtu_request"))
	require.Equal(t, `"`+node.Gateway.MAC.String()+`"`, b.ovs.Vsctl("get", "interface", "antrea-gw0", "mac"))
	require.Equal(t, "{antrea-type=gateway}", b.ovs.Vsctl("get", "port", "antrea-gw0", "external_ids"))
	require.Equal(t, "{antrea-type=tunnel}", b.ovs.Vsctl("get", "port", "antrea-tun0", "external_ids"))
	require.Equal(t, "{key=flow, remote_ip=flow}", b.ovs.Vsctl("get", "interface", "antrea-tun0", "options"))
	require.Equal(t, "geneve", b.ovs.Vsctl("get", "interface", "antrea-tun0", "type"))
	found, ok := b.store.GetInterfaceByOFPort(config.GatewayOFPort)
	require.True(t, ok)
	require.Equal(t, node.Gateway.MAC, found.MAC)
}

func TestInitializeAgainKeepsWhatIsThere(t *testing.T) {
	b := newBed(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	i, old := b.initializer(), clocktesting.NewFakeClock(time.Now())
	i.clock = old
	first, err := i.Initialize(ctx)
	require.NoError(t, err)
	b.ovs.Vsctl("set", "Open_vSwitch", ".", "other_config:flow-restore-wait=true")
	old.Step(time.Minute) // the round is old enough to be completed
	require.NoError(t, first.Rounds.Forward(ctx, round.Installed{}))
	require.NoError(t, first.Rounds.Complete(ctx))
	require.Equal(t, "{}", b.ovs.Vsctl("get", "Open_vSwitch", ".", "other_config"))
	require.Equal(t, `"1"`, b.ovs.Vsctl("get", "bridge", "br-int", "external_ids:roundNum"))
	// A Pod's port, as the CNI server makes it.
	_, err = b.bridge.CreatePort("eth1-peer", map[string]string{
		"antrea-type": "container", "attached-mac": "02:00:00:00:00:02", "ip-address": "10.10.1.2",
		"container-id": "c1", "pod-name": "web", "pod-namespace": "default",
	})
	require.NoError(t, err)
	uuids := b.ovs.Vsctl("get", "bridge", "br-int", "ports")
	require.NoError(t, b.bridge.SetTableNames(map[uint8]string{3: "Former"}))

	_, second := b.start(t)
	require.Equal(t, first.Node, second.Node)
	require.Equal(t, uuids, b.ovs.Vsctl("get", "bridge", "br-int", "ports"))
	prev := uint16(1)
	require.Equal(t, openflow.RoundInfo{RoundNum: 2, PrevRoundNum: &prev, FormerTables: map[uint8]string{3: "Former"}}, second.Rounds.Round())
	pod, ok := b.store.GetContainerInterface("c1")
	require.True(t, ok)
	require.NotZero(t, pod.OFPort)
	require.Equal(t, addresses("10.10.1.2"), pod.IPs)
}

// Pods that were made with a larger MTU, in another mode of traffic, keep it, and so does the gateway until the last one is gone.
func TestGatewayFitsThePods(t *testing.T) {
	for mtu, want := range map[int]string{1400: "1450", 1480: "1480", 9000: "1500"} {
		b := newBed(t)
		b.start(t)
		_, err := b.bridge.CreatePort("eth1-peer", map[string]string{
			"antrea-type": "container", "attached-mac": "02:00:00:00:00:02", "ip-address": "10.10.1.2",
			"container-id": "c1", "pod-name": "web", "pod-namespace": "default",
		})
		require.NoError(t, err)
		device, err := netlink.LinkByName("eth1-peer")
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetMTU(device, mtu))
		i, second := b.start(t)
		require.Equal(t, want, b.ovs.Vsctl("get", "interface", "antrea-gw0", "mtu_request"))
		require.Equal(t, 1450, second.Node.MTU)
		require.NoError(t, i.restoreGateway(t.Context()))
		require.Equal(t, want, b.ovs.Vsctl("get", "interface", "antrea-gw0", "mtu_request"))
		require.NoError(t, b.bridge.DeletePort("eth1-peer"))
		b.catchUp(t)
		require.NoError(t, i.restoreGateway(t.Context()))
		require.Equal(t, "1450", b.ovs.Vsctl("get", "interface", "antrea-gw0", "mtu_request"))
	}
}

// With encryption, nothing changes on a Node with IPv6.
func TestInitializeRefusesToEncryptIPv6(t *testing.T) {
	b := newBed(t)
	b.options.WireGuardPort = 51820
	b.kube = fake.NewClientset(testNode([]string{"10.10.1.0/24", "fd00:10::/64"}, internalIP("192.168.0.1")))
	_, err := b.initializer().Initialize(t.Context())
	require.ErrorContains(t, err, "trafficEncryptionMode wireGuard does not encrypt IPv6 in this version")
	_, err = netlink.LinkByName("antrea-gw0")
	require.Error(t, err)
}

// Hits of an agent without encryption would send packets in clear.
func TestEncryptionEndsFormerHits(t *testing.T) {
	b := newBed(t)
	b.start(t)
	require.Equal(t, []string{"host network"}, b.steps)
	b.options.WireGuardPort, b.steps = 51820, nil
	b.start(t)
	require.Equal(t, []string{"no hits", "host network"}, b.steps)
}

// While ovs-vswitchd waits for flows, the former cache answers as the kernel's flows do, unless its headers are wrong.
func TestInitializeSuspendsTheFormerCache(t *testing.T) {
	b := newBed(t)
	start := func() (suspended int, forwards bool) {
		b.suspended = 0
		_, state := b.start(t)
		select {
		case <-state.Rounds.Forwards():
			forwards = true
		default:
		}
		return b.suspended, forwards
	}
	b.start(t)
	suspended, forwards := start()
	require.Equal(t, 1, suspended)
	require.True(t, forwards)
	require.Nil(t, b.pipeline.round.Hits)

	b.agrees = func(map[netip.Addr]uint16) (bool, error) { return true, nil }
	suspended, forwards = start()
	require.Zero(t, suspended, "the pipeline decides")
	require.False(t, forwards)
	require.True(t, b.pipeline.round.Hits.Agree(nil))
	require.NoError(t, b.pipeline.round.Hits.End())
	require.Equal(t, 1, b.suspended)

	b.ovs.Vsctl("set", "Open_vSwitch", ".", "other_config:flow-restore-wait=true")
	suspended, forwards = start()
	require.Zero(t, suspended)
	require.False(t, forwards)

	b.options.TunnelCsum = true
	suspended, _ = start()
	require.Equal(t, 1, suspended, "another tunnel")
	suspended, _ = start()
	require.Zero(t, suspended)
}

func TestInitializeAdjustsPortsToTheConfiguration(t *testing.T) {
	b := newBed(t)
	b.start(t)
	uuid := b.ovs.Vsctl("get", "port", "antrea-tun0", "_uuid")

	b.options.TunnelPort, b.options.TunnelCsum = 7000, true
	_, state := b.start(t)
	require.EqualValues(t, 7000, state.Network.TunnelPort)
	require.Equal(t, `{csum="true", dst_port="7000", key=flow, remote_ip=flow}`, b.ovs.Vsctl("get", "interface", "antrea-tun0", "options"))
	require.Equal(t, uuid, b.ovs.Vsctl("get", "port", "antrea-tun0", "_uuid"), "new options do not need a new port")

	b.options.TunnelType, b.options.TunnelPort, b.options.TunnelCsum = config.TunnelTypeVXLAN, 0, false
	_, state = b.start(t)
	require.EqualValues(t, config.TunnelOFPort, state.Node.TunnelOFPort)
	require.Equal(t, "vxlan", b.ovs.Vsctl("get", "interface", "antrea-tun0", "type"))
	require.Equal(t, "{key=flow, remote_ip=flow}", b.ovs.Vsctl("get", "interface", "antrea-tun0", "options"))

	node, err := b.kube.CoreV1().Nodes().Get(t.Context(), "node1", metav1.GetOptions{})
	require.NoError(t, err)
	node.Spec.PodCIDRs = []string{"10.10.9.0/24"}
	_, err = b.kube.CoreV1().Nodes().Update(t.Context(), node, metav1.UpdateOptions{})
	require.NoError(t, err)
	b.start(t)
	require.Equal(t, []string{"10.10.9.1/24"}, gatewayAddresses(t), "the address of the former Pod network is gone")
}

func TestTransportInterfaceIsAnnounced(t *testing.T) {
	b := newBed(t)
	annotation := func() string {
		node, err := b.kube.CoreV1().Nodes().Get(t.Context(), "node1", metav1.GetOptions{})
		require.NoError(t, err)
		return node.Annotations[transportAddressesAnnotation]
	}
	b.options.TransportInterfaceCIDRs = prefixes("10.10.0.0/16", "172.16.0.0/16")
	b.start(t)
	_, state := b.start(t)
	require.Equal(t, "eth1", state.Node.Uplink.Name, "the gateway's own address must not be chosen")
	require.Equal(t, "172.16.0.1", annotation())
	b.options.TransportInterfaceCIDRs = nil
	b.start(t)
	require.Empty(t, annotation())
}

func TestInitializeWaitsForVswitchd(t *testing.T) {
	b := newBed(t)
	b.ovs.KillVswitchd()
	// As start_ovs does: it must not keep the bridge from being made.
	b.ovs.Vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:flow-restore-wait=true")
	i := b.initializer()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if err := netns.Set(netns.NsHandle(b.ovs.NetNS.Fd())); err != nil {
			done <- err
			return
		}
		_, err := i.Initialize(ctx)
		done <- err
	}()
	// Each attempt to create the bridge is one more configuration that vswitchd has to reach.
	require.Eventually(t, func() bool {
		n, err := strconv.Atoi(b.ovs.Vsctl("get", "Open_vSwitch", ".", "next_cfg"))
		return err == nil && n >= 4
	}, 10*time.Second, 20*time.Millisecond)
	b.ovs.StartVswitchd()
	require.NoError(t, <-done)
}

func TestGatewayIsRestored(t *testing.T) {
	b := newBed(t)
	i, state := b.start(t)
	for _, tc := range []struct {
		name  string
		spoil func()
	}{
		{"device is down and without address", func() {
			link, err := netlink.LinkByName("antrea-gw0")
			require.NoError(t, err)
			list, err := netlink.AddrList(link, netlink.FAMILY_V4)
			require.NoError(t, err)
			require.NoError(t, netlink.AddrDel(link, &list[0]))
			require.NoError(t, netlink.LinkSetDown(link))
		}},
		{"port was deleted", func() {
			b.ovs.Vsctl("del-port", "br-int", "antrea-gw0")
			b.catchUp(t)
		}},
		{"vswitchd restarted", func() { b.ovs.KillVswitchd(); b.ovs.StartVswitchd() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			// Subtests run on goroutines of their own.
			runtime.LockOSThread()
			require.NoError(t, netns.Set(netns.NsHandle(b.ovs.NetNS.Fd())))
			tc.spoil()
			require.NoError(t, i.restoreGateway(t.Context()))
			require.Equal(t, []string{"10.10.1.1/24"}, gatewayAddresses(t))
			link, err := netlink.LinkByName("antrea-gw0")
			require.NoError(t, err)
			require.Equal(t, state.Node.Gateway.MAC, link.Attrs().HardwareAddr)
			require.NotZero(t, link.Attrs().Flags&net.FlagUp)
			require.Equal(t, "32769", b.ovs.Vsctl("get", "interface", "antrea-gw0", "ofport"))
		})
	}
}

// addForeign makes a foreign device, unless this kernel does not know the kind.
func addForeign(t *testing.T, link netlink.Link) {
	t.Helper()
	err := netlink.LinkAdd(link)
	if errors.Is(err, unix.EOPNOTSUPP) {
		t.Skipf("the kernel has no devices of kind %s", link.Type())
	}
	require.NoError(t, err)
}

func TestInitializeErrorsNameWhatIsWrong(t *testing.T) {
	for _, tc := range []struct {
		name    string
		change  func(*testing.T, *Options, *ovsconfig.Fake)
		wantErr string
	}{
		{"transport interface", func(_ *testing.T, o *Options, _ *ovsconfig.Fake) { o.TransportInterface = "eth9" }, `transportInterface "eth9" does not exist`},
		{"capabilities", func(_ *testing.T, _ *Options, f *ovsconfig.Fake) { f.DatapathCapabilities["ct_label"] = "false" }, "does not support ct_label"},
		{"tunnel port", func(_ *testing.T, _ *Options, f *ovsconfig.Fake) {
			f.PortErrors = map[string]string{"antrea-tun0": "Operation not supported"}
		},
			"Operation not supported"},
		{"another's bridge", func(t *testing.T, _ *Options, _ *ovsconfig.Fake) {
			addForeign(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "br-int"}})
		}, "the Node has a device br-int of kind bridge, which Open vSwitch has not made, but bridge is to have this name"},
		{"another's gateway", func(t *testing.T, _ *Options, _ *ovsconfig.Fake) {
			addForeign(t, &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: "antrea-gw0"}})
		}, "choose another name with hostGateway"},
		{"another's tunnel", func(t *testing.T, _ *Options, _ *ovsconfig.Fake) {
			addForeign(t, &netlink.Geneve{LinkAttrs: netlink.LinkAttrs{Name: "other_geneve"}, FlowBased: true, Dport: 6081})
		}, "device other_geneve already receives geneve packets on UDP port 6081 of this Node"},
		{"another's VXLAN", func(t *testing.T, o *Options, _ *ovsconfig.Fake) {
			o.TunnelType = config.TunnelTypeVXLAN
			addForeign(t, &netlink.Vxlan{LinkAttrs: netlink.LinkAttrs{Name: "other.1"}, VxlanId: 1, Port: 4789})
		}, "device other.1 already receives vxlan packets on UDP port 4789 of this Node"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			newNetNS(t)
			f := ovsconfig.NewFake("br-int")
			b := &bed{
				bridge: f, kube: fake.NewClientset(testNode([]string{"10.10.1.0/24"}, internalIP("192.168.0.1"))),
				options: Options{NodeName: "node1", OVSBridge: "br-int", HostGateway: "antrea-gw0", TrafficEncapMode: "encap", TunnelType: "geneve"},
			}
			tc.change(t, &b.options, f)
			_, err := b.initializer().Initialize(t.Context())
			require.ErrorContains(t, err, tc.wantErr)
			ports, _ := f.ListPorts()
			require.Empty(t, ports, "nothing half-made is left")
		})
	}
}
