// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/oracle"
	"github.com/antrea-oncache/antrea/test/sandbox"
)

// TestMain runs the tests in the sandbox, with another build of the programs if ONCACHE_OBJECT names one.
func TestMain(m *testing.M) {
	if path := os.Getenv("ONCACHE_OBJECT"); path != "" {
		var err error
		if _BpfBytes, err = os.ReadFile(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	sandbox.Main(m)
}

// The world of the tests: local Pod 10.10.1.2 on Node 192.168.77.11, remote Pod 10.10.2.2 on Node 192.168.77.12.
var (
	podMAC     = net.HardwareAddr{0x0a, 0, 0, 0, 0, 1}
	gatewayMAC = net.HardwareAddr{0x0a, 0, 0, 0, 1, 1}
	peerGWMAC  = net.HardwareAddr{0x0a, 0, 0, 0, 1, 2}
	virtualMAC = net.HardwareAddr{0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff}
	uplinkMAC  = net.HardwareAddr{0x02, 0, 0, 0, 2, 1}
	peerMAC    = net.HardwareAddr{0x02, 0, 0, 0, 2, 2}
	podIP      = netip.MustParseAddr("10.10.1.2")
	peerPodIP  = netip.MustParseAddr("10.10.2.2")
	nodeIP     = netip.MustParseAddr("192.168.77.11")
	peerIP     = netip.MustParseAddr("192.168.77.12")
	peerCIDR   = netip.MustParsePrefix("10.10.2.0/24")
)

const (
	podSlot  = 3
	peerSlot = 5
	epoch    = 7
	next     = -1 // TC_ACT_UNSPEC
	redirect = 7  // TC_ACT_REDIRECT
	// ticketBits of the mark hold a ticket's number, epochBits an epoch or a stamp.
	ticketBits = 0x000f3f00
	epochBits  = 0x3ff00000
	stampBit   = 0x20000000
	ownBits    = ticketBits | epochBits
)

// world is a loaded datapath that knows the Pod and the Node.
type world struct {
	*Datapath
	t           testing.TB
	podIf, upIf int
	family      family
	// strangers: packets are of flows that the programs have not seen yet. Otherwise of those that they have: a miss gets a ticket.
	strangers bool
}

// family says which IP versions a world uses.
type family struct{ inner6, outer6 bool }

var families = map[string]family{
	"IPv4 in IPv4": {false, false},
	"IPv4 in IPv6": {false, true},
	"IPv6 in IPv4": {true, false},
	"IPv6 in IPv6": {true, true},
}

// The same world by IPv6.
var (
	podIP6     = netip.MustParseAddr("fd00:10:1::2")
	peerPodIP6 = netip.MustParseAddr("fd00:10:2::2")
	nodeIP6    = netip.MustParseAddr("fd00:77::11")
	peerIP6    = netip.MustParseAddr("fd00:77::12")
	peerCIDR6  = netip.MustParsePrefix("fd00:10:2::/64")
)

func (w *world) fromPod() packet {
	p := fromPod()
	if w.family.inner6 {
		p.src, p.dst = podIP6, peerPodIP6
	}
	return p
}

func (w *world) toPod() packet {
	p := toPod()
	if w.family.inner6 {
		p.src, p.dst = peerPodIP6, podIP6
	}
	return p
}

func (w *world) toPeer() outer {
	o := toPeer()
	if w.family.outer6 {
		o.src, o.dst = nodeIP6, peerIP6
	}
	return o
}

func (w *world) fromPeer() outer {
	o := fromPeer()
	if w.family.outer6 {
		o.src, o.dst = peerIP6, nodeIP6
	}
	return o
}

// newWorld is for programs that run by BPF_PROG_TEST_RUN, newWorldWith for those that are attached.
func newWorld(t testing.TB) *world { return newWorldOf(t, family{}) }

func newWorldOf(t testing.TB, f family) *world {
	sandbox.RequireRoot(t)
	return populate(t, borrow(t), f)
}

// newWorldWith loads programs and maps of its own, flow maps of both IP versions with MaxFlows entries.
func newWorldWith(t testing.TB, f family, opts Options) *world {
	sandbox.RequireRoot(t)
	opts.PinPath = filepath.Join(sandbox.BPFFS, strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()), "oncache")
	opts.MaxFlows6 = opts.MaxFlows
	d, err := Load(opts)
	requireVerified(t, err)
	t.Cleanup(func() {
		require.NoError(t, RemoveAll(d.opts.PinPath))
		require.NoError(t, d.Close())
	})
	return populate(t, d, f)
}

// populate tells new maps of the Pod and the Node.
func populate(t testing.TB, d *Datapath, f family) *world {
	w := &world{Datapath: d, t: t, podIf: device(t, "pod0", podMAC), upIf: device(t, "up0", uplinkMAC), family: f}
	d.SetUplink(Uplink{
		IfIndex: w.upIf, MAC: uplinkMAC, IPv4: nodeIP, IPv6: nodeIP6, TunnelPort: 6081, PortMin: 1, PortMax: 65535,
		TunnelHeader: [8]byte{0, 0, 0x65, 0x58}, VirtualMAC: virtualMAC,
	}, uint64(5*time.Second))
	require.NoError(t, d.Attend(time.Hour))
	generation, _ := d.EndpointState(podSlot)
	d.PublishEndpoint(podSlot, generation+1, 0)
	require.NoError(t, d.SetEndpoint(podSlot, Endpoint{IfIndex: w.podIf, IPv4: podIP, IPv6: podIP6, MAC: podMAC, GatewayMAC: gatewayMAC}))
	d.PublishEndpoint(podSlot, generation+1, epoch)
	peer := peerIP
	if f.outer6 {
		peer = peerIP6
	}
	d.SetNode(peerSlot, peer)
	d.SetNodeMTU(peerSlot, 1500)
	require.NoError(t, d.AddPodNetwork(peerCIDR, peerSlot))
	require.NoError(t, d.AddPodNetwork(peerCIDR6, peerSlot))
	d.SetMode(ModeEnforce)
	return w
}

// decapsulated is the reason under which Ingress counts a good packet: another one where the kernel (before Linux 6.3) cannot
// decapsulate one IP version from the other.
func (w *world) decapsulated() string { return decapsulated(w.t, w.family) }

func decapsulated(t testing.TB, f family) string {
	if f.inner6 != f.outer6 && minor(t, kernelRelease(t)) < 6003 {
		return "offload"
	}
	return "hit"
}

// requireVerified fails with the verifier's whole log when a program was refused.
func requireVerified(t testing.TB, err error) {
	t.Helper()
	var refused *ebpf.VerifierError
	if errors.As(err, &refused) {
		t.Fatalf("%+v", refused)
	}
	require.NoError(t, err)
}

// noIPv6 keeps the kernel from sending anything by itself on devices that are made in this thread's namespace from now on:
// router solicitations and group reports would be counted among the test's packets.
func noIPv6() error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0)
}

func device(t testing.TB, name string, mac net.HardwareAddr) int {
	require.NoError(t, noIPv6())
	d := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: name, HardwareAddr: mac}, PeerName: name + "p"}
	require.NoError(t, netlink.LinkAdd(d))
	t.Cleanup(func() {
		// It may have gone with its peer's namespace.
		if err := netlink.LinkDel(d); !errors.Is(err, unix.ENODEV) {
			require.NoError(t, err)
		}
	})
	l, err := netlink.LinkByName(name)
	require.NoError(t, err)
	require.NoError(t, netlink.LinkSetUp(l))
	return l.Attrs().Index
}

// skb is struct __sk_buff of include/uapi/linux/bpf.h as far as BPF_PROG_TEST_RUN takes and returns it.
type skb struct {
	Len, PktType, Mark, QueueMapping, Protocol, VlanPresent, VlanTCI, VlanProto, Priority, IngressIfindex, Ifindex uint32
	TCIndex                                                                                                        uint32
	CB                                                                                                             [5]uint32
	Hash, TCClassid, Data, DataEnd, NapiID, Family, RemoteIP4, LocalIP4                                            uint32
	RemoteIP6, LocalIP6                                                                                            [4]uint32
	RemotePort, LocalPort, DataMeta                                                                                uint32
	FlowKeys, Tstamp                                                                                               uint64
	WireLen, GSOSegs                                                                                               uint32
	SK                                                                                                             uint64
	GSOSize                                                                                                        uint32
	TstampType, _                                                                                                  uint8
	_                                                                                                              uint16
	HWTstamp                                                                                                       uint64
}

type result struct {
	verdict int
	mark    uint32 // without the stamp
	stamp   uint32 // 0: none
	packet  []byte
	// reason is what the program counted.
	reason string
}

// run passes one packet through a program, as a device with ifindex would.
func (w *world) run(prog *ebpf.Program, ifindex int, mark uint32, packet []byte, tweak ...func(*skb)) result {
	w.t.Helper()
	in := skb{Ifindex: uint32(ifindex), Mark: mark}
	for _, f := range tweak {
		f(&in)
	}
	var out skb
	opts := &ebpf.RunOptions{Data: packet, DataOut: make([]byte, len(packet)+256), Context: in, ContextOut: &out}
	var verdict uint32
	reason := w.counted(w.t, func() {
		var err error
		verdict, err = prog.Run(opts)
		require.NoError(w.t, err)
	})
	return result{verdict: int(int32(verdict)), mark: unstamped(out.Mark), stamp: out.Mark ^ unstamped(out.Mark), packet: opts.DataOut, reason: reason}
}

// unstamped is the mark as Open vSwitch leaves it at first.
func unstamped(mark uint32) uint32 {
	if mark&stampBit != 0 {
		mark &^= epochBits
	}
	return mark
}

// counted returns the reason under which the one packet was counted that f passes through a program.
func (w *world) counted(t testing.TB, f func()) (reason string) {
	t.Helper()
	before, err := w.Counters()
	require.NoError(t, err)
	f()
	after, err := w.Counters()
	require.NoError(t, err)
	for program, reasons := range after {
		for name, n := range reasons {
			if n != before[program][name] {
				require.Empty(t, reason, "one packet counts once")
				reason = name
			}
		}
	}
	return reason
}

func (w *world) egress(mark uint32, packet []byte, tweak ...func(*skb)) result {
	w.note(w.t, packet, 14)
	return w.run(w.objects.OncacheEgress, w.podIf, mark, packet, tweak...)
}
func (w *world) egressInit(mark uint32, packet []byte, tweak ...func(*skb)) result {
	return w.run(w.objects.OncacheEgressInit, w.upIf, mark, packet, tweak...)
}
func (w *world) ingress(mark uint32, packet []byte, tweak ...func(*skb)) result {
	w.note(w.t, packet, w.inner())
	return w.run(w.objects.OncacheIngress, w.upIf, mark, packet, tweak...)
}
func (w *world) ingressInit(mark uint32, packet []byte, tweak ...func(*skb)) result {
	return w.run(w.objects.OncacheIngressInit, w.podIf, mark, packet, tweak...)
}

// inner is the offset of the IP header in the tunnel.
func (w *world) inner() int {
	if w.family.outer6 {
		return 14 + 40 + 8 + 8 + 14
	}
	return 14 + 20 + 8 + 8 + 14
}

// note makes the flow of the IP packet at this offset one that the programs have seen.
func (w *world) note(t testing.TB, frame []byte, at int) {
	flow, ok := flowIn(frame, at)
	if !ok || w.strangers {
		return
	}
	hash := hashOf(flow)
	require.NoError(t, w.objects.Candidates.Put(w.cellOf(hash), hash))
}

// cellOf is the index that cell_of of the programs looks up, hashOf is flow_hash.
func (w *world) cellOf(hash uint32) uint32 {
	return uint32(uint64(hash) * uint64(w.objects.Candidates.MaxEntries()) >> 32)
}

func hashOf(f oracle.Flow) uint32 {
	k4, k6, six := keys(f)
	if six {
		return tag6(k6)
	}
	return tag4(k4)
}

// packet describes a TCP or UDP packet; with defaults for the flow between the two Pods.
type packet struct {
	srcMAC, dstMAC   net.HardwareAddr
	src, dst         netip.Addr
	sport, dport     uint16
	udp              bool
	flags            string // of S, F, R, P
	ttl, tos         uint8
	id               uint16
	frag             uint16
	mf               bool
	options          bool
	protocol         layers.IPProtocol // other than TCP, UDP
	payload          int
	vlan             bool
	seq, ack         uint32
	closedWindow     bool // of 0 instead of 500
	corruptIPLength  int
	corruptUDPLength int
	flowLabel        uint32
	extended         bool
	extension        layers.IPProtocol // IPv6 extension header, followed by the rest, when extended
}

// fromPod is a packet as the local Pod sends it; toPod one as the remote Pod sends it, seen in the tunnel.
func fromPod() packet {
	return packet{srcMAC: podMAC, dstMAC: gatewayMAC, src: podIP, dst: peerPodIP, sport: 40000, dport: 80, ttl: 64, payload: 100, id: 4711, seq: 1000, flags: "P"}
}

func toPod() packet {
	return packet{srcMAC: peerGWMAC, dstMAC: virtualMAC, src: peerPodIP, dst: podIP, sport: 80, dport: 40000, ttl: 63, payload: 200, id: 815, seq: 5000, flags: "P"}
}

// behindOVS is the packet as Open vSwitch passes it on: TTL decremented, other MACs.
func (p packet) behindOVS(src, dst net.HardwareAddr) packet {
	p.ttl--
	p.srcMAC, p.dstMAC = src, dst
	return p
}

func (p packet) bytes(t testing.TB) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: p.srcMAC, DstMAC: p.dstMAC, EthernetType: layers.EthernetTypeIPv4}
	if p.src.Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
	}
	stack := []gopacket.SerializableLayer{eth}
	if p.vlan {
		stack = append(stack, &layers.Dot1Q{VLANIdentifier: 5, Type: eth.EthernetType})
		eth.EthernetType = layers.EthernetTypeDot1Q
	}
	proto := layers.IPProtocolTCP
	switch {
	case p.protocol != 0:
		proto = p.protocol
	case p.udp:
		proto = layers.IPProtocolUDP
	}
	network := p.network(proto)
	stack = append(stack, network)
	if p.extended {
		stack = append(stack, gopacket.Payload(append([]byte{byte(proto), 0}, make([]byte, 6)...)))
	}
	switch proto {
	case layers.IPProtocolUDP:
		udp := &layers.UDP{SrcPort: layers.UDPPort(p.sport), DstPort: layers.UDPPort(p.dport)}
		require.NoError(t, udp.SetNetworkLayerForChecksum(network.(gopacket.NetworkLayer)))
		stack = append(stack, udp)
	case layers.IPProtocolTCP:
		tcp := &layers.TCP{SrcPort: layers.TCPPort(p.sport), DstPort: layers.TCPPort(p.dport), Seq: p.seq, Ack: p.ack, ACK: !strings.Contains(p.flags, "-"), Window: 500,
			SYN: strings.Contains(p.flags, "S"), FIN: strings.Contains(p.flags, "F"), RST: strings.Contains(p.flags, "R"), PSH: strings.Contains(p.flags, "P")}
		if p.closedWindow {
			tcp.Window = 0
		}
		require.NoError(t, tcp.SetNetworkLayerForChecksum(network.(gopacket.NetworkLayer)))
		stack = append(stack, tcp)
	}
	payload := make(gopacket.Payload, p.payload)
	for i := range payload {
		payload[i] = byte(i)
	}
	b := serialize(t, append(stack, payload)...)
	ipAt := 14
	if p.vlan {
		ipAt = 18
	}
	// gopacket fills short frames up to 60 bytes, veth devices do not.
	if p.src.Is4() {
		b = b[:ipAt+int(binary.BigEndian.Uint16(b[ipAt+2:]))]
	}
	if p.corruptIPLength != 0 {
		binary.BigEndian.PutUint16(b[ipAt+2:], uint16(int(binary.BigEndian.Uint16(b[ipAt+2:]))+p.corruptIPLength))
	}
	if p.corruptUDPLength != 0 {
		binary.BigEndian.PutUint16(b[ipAt+24:], uint16(int(binary.BigEndian.Uint16(b[ipAt+24:]))+p.corruptUDPLength))
	}
	return b
}

// network is the IP header.
func (p packet) network(proto layers.IPProtocol) gopacket.SerializableLayer {
	if p.src.Is6() {
		ip := &layers.IPv6{Version: 6, TrafficClass: p.tos, FlowLabel: p.flowLabel, HopLimit: p.ttl, NextHeader: proto,
			SrcIP: p.src.AsSlice(), DstIP: p.dst.AsSlice()}
		if p.extended {
			ip.NextHeader = p.extension
		}
		return ip
	}
	ip := &layers.IPv4{Version: 4, IHL: 5, TOS: p.tos, Id: p.id, TTL: p.ttl, FragOffset: p.frag, SrcIP: p.src.AsSlice(), DstIP: p.dst.AsSlice(), Protocol: proto, Flags: layers.IPv4DontFragment}
	if p.mf || p.frag > 0 {
		ip.Flags = 0
	}
	if p.mf {
		ip.Flags = layers.IPv4MoreFragments
	}
	if p.options {
		ip.Options = []layers.IPv4Option{{OptionType: 7, OptionLength: 7, OptionData: make([]byte, 5)}}
	}
	return ip
}

func serialize(t testing.TB, stack ...gopacket.SerializableLayer) []byte {
	t.Helper()
	buf := gopacket.NewSerializeBuffer()
	require.NoError(t, gopacket.SerializeLayers(buf, gopacket.SerializeOptions{FixLengths: true, ComputeChecksums: true}, stack...))
	return buf.Bytes()
}

// outer is the tunnel around an inner packet.
type outer struct {
	srcMAC, dstMAC net.HardwareAddr
	src, dst       netip.Addr
	sport, dport   uint16
	tos            uint8
	id             uint16
	tunnel         [8]byte
	csum           bool
	options        bool
	frag           bool
}

func toPeer() outer {
	return outer{srcMAC: uplinkMAC, dstMAC: peerMAC, src: nodeIP, dst: peerIP, sport: 12345, dport: 6081, tunnel: [8]byte{0, 0, 0x65, 0x58}}
}

func fromPeer() outer {
	return outer{srcMAC: peerMAC, dstMAC: uplinkMAC, src: peerIP, dst: nodeIP, sport: 12345, dport: 6081, tunnel: [8]byte{0, 0, 0x65, 0x58}}
}

func (o outer) wrap(t testing.TB, inner []byte) []byte {
	t.Helper()
	eth := &layers.Ethernet{SrcMAC: o.srcMAC, DstMAC: o.dstMAC, EthernetType: layers.EthernetTypeIPv4}
	udp := &layers.UDP{SrcPort: layers.UDPPort(o.sport), DstPort: layers.UDPPort(o.dport)}
	var network gopacket.SerializableLayer
	checksumAt := 14 + 20 + 6
	if o.src.Is6() {
		eth.EthernetType = layers.EthernetTypeIPv6
		network = &layers.IPv6{Version: 6, TrafficClass: o.tos, HopLimit: 64, NextHeader: layers.IPProtocolUDP, SrcIP: o.src.AsSlice(), DstIP: o.dst.AsSlice()}
		checksumAt = 14 + 40 + 6
	} else {
		ip := &layers.IPv4{Version: 4, IHL: 5, TOS: o.tos, Id: o.id, TTL: 64, Flags: layers.IPv4DontFragment, SrcIP: o.src.AsSlice(), DstIP: o.dst.AsSlice(), Protocol: layers.IPProtocolUDP}
		if o.options {
			ip.Options = []layers.IPv4Option{{OptionType: 7, OptionLength: 7, OptionData: make([]byte, 5)}}
			checksumAt += 8
		}
		if o.frag {
			ip.Flags = layers.IPv4MoreFragments
		}
		network = ip
	}
	require.NoError(t, udp.SetNetworkLayerForChecksum(network.(gopacket.NetworkLayer)))
	b := serialize(t, eth, network, udp, gopacket.Payload(append(o.tunnel[:], inner...)))
	if !o.csum {
		b[checksumAt], b[checksumAt+1] = 0, 0
	}
	return b
}

// learn teaches the cache both directions of the flow by passing one packet each through all four programs.
func (w *world) learn(egress, ingress packet) {
	w.t.Helper()
	w.learnEgress(egress)
	w.learnIngress(ingress)
}

func (w *world) learnEgress(p packet) result {
	w.t.Helper()
	r := w.egress(0, p.bytes(w.t))
	require.Equal(w.t, next, r.verdict, r.reason)
	return w.egressInit(r.mark|epoch<<20, w.toPeer().wrap(w.t, p.behindOVS(gatewayMAC, virtualMAC).bytes(w.t)))
}

func (w *world) learnIngress(p packet) result {
	w.t.Helper()
	r := w.ingress(0, w.fromPeer().wrap(w.t, p.bytes(w.t)))
	require.Equal(w.t, next, r.verdict, r.reason)
	return w.ingressInit(r.mark|epoch<<20, p.behindOVS(gatewayMAC, podMAC).bytes(w.t))
}

// only is the key of the map's only entry.
func only[K any](t *testing.T, m *ebpf.Map) (key K) {
	require.NoError(t, m.NextKey(nil, &key))
	return key
}
