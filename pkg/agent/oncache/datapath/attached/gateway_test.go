// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// newGateway is a gateway with the programs attached, on a host that sends to the remote Pod through it, and a socket at the far end of the uplink.
func newGateway(t *testing.T, hook datapath.Hook) (g *harness.Gateway, uplink *receiver, uplinkPeer int) {
	w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Hook: hook})
	w.Control().Lease = 1 << 32
	g = w.AddGateway()
	uplinkPeer = peerOf(t, "up0p")
	peerOf(t, "gw0p")
	require.NoError(t, w.Attach(w.UplinkIf, datapath.RoleUplink))
	require.NoError(t, w.Attach(g.If, datapath.RoleGateway))
	command(t, "ip addr add 10.10.1.1/24 dev gw0")
	command(t, "ip route add 10.10.2.0/24 via 10.10.1.250 dev gw0 onlink")
	command(t, "ip neigh replace 10.10.1.250 lladdr aa:bb:cc:dd:ee:ff dev gw0 nud permanent")
	return g, newReceiver(t, uplinkPeer, false), uplinkPeer
}

func command(t *testing.T, words string) {
	t.Helper()
	fields := strings.Fields(words)
	out, err := exec.Command(fields[0], fields[1:]...).CombinedOutput()
	require.NoError(t, err, "%s: %s", words, out)
}

// addRule adds a rule of netfilter until the test ends. Other tests run in the same namespace.
func addRule(t *testing.T, table, rule string) {
	t.Helper()
	command(t, "iptables -t "+table+" -A "+rule)
	t.Cleanup(func() { command(t, "iptables -t "+table+" -D "+rule) })
}

// TestGatewayOnDevices: packets of a socket leave by the uplink, encapsulated; answers come to the socket through the gateway's
// interface, where netfilter sees them. Forwarded packets are not learned, although they have the gateway's address.
func TestGatewayOnDevices(t *testing.T) {
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		g, uplink, uplinkPeer := newGateway(t, hook)
		out, in := g.FromHost(), g.ToHost()
		out.UDP, in.UDP, in.Payload = true, true, 33
		conn, err := net.DialUDP("udp4", &net.UDPAddr{IP: out.Src.AsSlice(), Port: int(out.SrcPort)}, &net.UDPAddr{IP: out.Dst.AsSlice(), Port: int(out.DstPort)})
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(30*time.Second)))
		t.Run("learned", func(t *testing.T) {
			requireCounted(g, "no_entry", func() {
				_, err := conn.Write([]byte("first"))
				require.NoError(t, err)
			})
			g.Learn(out, in)
			g.KeepLeases()
		})
		t.Run("sent", func(t *testing.T) {
			_, err := conn.Write([]byte("from a socket"))
			require.NoError(t, err)
			frame := uplink.next(func(b []byte) bool { return strings.Contains(string(b), "from a socket") })
			inner := frame[50:]
			require.Len(t, inner, 14+20+8+len("from a socket"))
			require.Equal(t, append(append([]byte{}, harness.VirtualMAC...), harness.GatewayMAC...), inner[:12])
			require.EqualValues(t, 64, inner[14+8], "TTL")
		})
		t.Run("received", func(t *testing.T) {
			// Netfilter is the only one that can count here what the interface has received.
			addRule(t, "raw", "PREROUTING -i gw0 -p udp --sport 80")
			transmit(t, uplinkPeer, g.FromPeer().Wrap(t, in.Bytes(t)))
			b := make([]byte, 100)
			n, err := conn.Read(b)
			require.NoError(t, err)
			require.Equal(t, in.Payload, n)
			rules, err := exec.Command("iptables", "-t", "raw", "-L", "PREROUTING", "-vnx").CombinedOutput()
			require.NoError(t, err)
			require.Regexp(t, `(?m)^\s*1 .* gw0 `, string(rules))
			counters, err := g.Counters()
			require.NoError(t, err)
			require.EqualValues(t, 1, counters["ingress"]["hit"])
		})
		t.Run("forwarded", func(t *testing.T) {
			harness.NewDevice(t, "fw0", harness.PodMAC)
			peer := peerOf(t, "fw0p")
			for path, value := range map[string]string{"ip_forward": "1", "conf/all/rp_filter": "0", "conf/fw0/rp_filter": "0"} {
				require.NoError(t, os.WriteFile("/proc/sys/net/ipv4/"+path, []byte(value), 0))
			}
			addRule(t, "nat", "POSTROUTING -o gw0 -j MASQUERADE")
			foreign := g.FromPod()
			foreign.DstMAC, foreign.UDP, foreign.SrcPort = harness.PodMAC, true, 555
			for range 3 { // the third would have had a ticket
				requireCounted(g, "no_endpoint", func() { transmit(t, peer, foreign.Bytes(t)) })
			}
		})
	})
}

// requireCounted sends a packet and waits until Egress has counted it under the reason.
func requireCounted(g *harness.Gateway, reason string, send func()) {
	g.T.Helper()
	before := egressCount(&g.World, reason)
	send()
	waitCounted(&g.World, reason, before)
}

// TestGatewayBypassed: what hits of the gateway would bypass is behind Egress at the egress hook. Everything at the ingress hook sees hits.
func TestGatewayBypassed(t *testing.T) {
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		pins := filepath.Join(sandbox.BPFFS, "gateway-passed")
		d := load(t, pins, hook)
		t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
		gw := harness.NewDevice(t, "gw0", harness.GatewayMAC)
		require.NoError(t, d.Attach(gw, datapath.RoleGateway))
		requireBypassed(t, d, gw, datapath.RoleGateway, "")
		for _, priority := range []uint16{1, 0xffff} {
			f := addFilter(t, gw, foreign(t), ebpf.AttachTCXIngress, priority)
			requireBypassed(t, d, gw, datapath.RoleGateway, "")
			require.NoError(t, netlink.FilterDel(f))
			f = addFilter(t, gw, foreign(t), ebpf.AttachTCXEgress, priority)
			want := "on egress"
			if hook == datapath.HookClsact && priority == 1 {
				want = "" // in front of Egress
			}
			requireBypassed(t, d, gw, datapath.RoleGateway, want)
			require.NoError(t, netlink.FilterDel(f))
		}
		addShaper(t, gw)
		requireBypassed(t, d, gw, datapath.RoleGateway, "qdisc tbf")
		require.NoError(t, d.Detach(gw))
		require.Empty(t, attached(t, gw))
	})
}

// TestGatewayIsPassedBy: with Direct, hits between Pods and the uplink bypass all that is on the gateway's interface, on either side and at any place.
func TestGatewayIsPassedBy(t *testing.T) {
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		d := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Hook: hook, Direct: true}).Datapath
		gw := harness.NewDevice(t, "gw0", harness.GatewayMAC)
		require.NoError(t, d.Attach(gw, datapath.RoleGateway))
		for _, side := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
			for _, priority := range []uint16{1, 0xffff} {
				requireBypassed(t, d, gw, datapath.RoleGateway, "")
				f := addFilter(t, gw, foreign(t), side, priority)
				requireBypassed(t, d, gw, datapath.RoleGateway, fmt.Sprintf("priority %d", priority))
				require.NoError(t, netlink.FilterDel(f))
			}
			if hook == datapath.HookTCX {
				l := attachTCX(t, gw, foreign(t), side)
				requireBypassed(t, d, gw, datapath.RoleGateway, "TCX program")
				require.NoError(t, l.Close())
			}
		}
		requireBypassed(t, d, gw, datapath.RoleGateway, "")
		addShaper(t, gw)
		requireBypassed(t, d, gw, datapath.RoleGateway, "qdisc tbf")
	})
}

// TestGatewayTakesTheLastPlace: Egress runs behind all others at the egress hook.
func TestGatewayTakesTheLastPlace(t *testing.T) {
	pins := filepath.Join(sandbox.BPFFS, "gateway-last")
	d := load(t, pins, datapath.HookTCX)
	t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
	gw := harness.NewDevice(t, "gw0", harness.GatewayMAC)
	require.NoError(t, d.Attach(gw, datapath.RoleGateway))
	attachTCX(t, gw, foreign(t), ebpf.AttachTCXIngress)
	ok, err := d.InPlace(gw, datapath.RoleGateway)
	require.NoError(t, err)
	require.True(t, ok, "hits pass the ingress hook")
	attachTCX(t, gw, foreign(t), ebpf.AttachTCXEgress)
	ok, err = d.InPlace(gw, datapath.RoleGateway)
	require.NoError(t, err)
	require.False(t, ok)
	require.NoError(t, d.Attach(gw, datapath.RoleGateway))
	names := programsAt(t, gw, ebpf.AttachTCXEgress)
	require.Equal(t, object.BpfProgOncacheGatewayEgress, names[len(names)-1])
}
