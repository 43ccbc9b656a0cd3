// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"path/filepath"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/internal/object"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// hooks runs a test with both kinds of hook.
func hooks(t *testing.T, test func(t *testing.T, hook datapath.Hook)) {
	t.Helper()
	for _, hook := range []datapath.Hook{datapath.HookTCX, datapath.HookClsact} {
		t.Run(string(hook), func(t *testing.T) {
			if hook == datapath.HookTCX {
				requireTCX(t)
			}
			test(t, hook)
		})
	}
}

// TestForeignProgramFirst: a packet that a foreign program before ours drops or redirects stays dropped or redirected.
func TestForeignProgramFirst(t *testing.T) {
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		w := harness.NewWorldWith(t, harness.Family{}, datapath.Options{MaxFlows: 4096, Hook: hook})
		out := harness.FromPod()
		w.Learn(out, harness.ToPod())
		elsewhere := harness.NewDevice(t, "else0", harness.PeerGatewayMAC)
		peerOf(t, "else0p")
		peerOf(t, "up0p")
		require.NoError(t, w.Attach(w.PodIf, datapath.RolePod))
		pod := peerOf(t, "pod0p")
		place := func(p *ebpf.Program) (remove func()) {
			if hook == datapath.HookTCX {
				l := attachTCX(t, w.PodIf, p, ebpf.AttachTCXIngress)
				// Our programs are attached later.
				require.NoError(t, w.Attach(w.PodIf, datapath.RolePod))
				return func() { require.NoError(t, l.Close()) }
			}
			f := addFilter(t, w.PodIf, p, ebpf.AttachTCXIngress, 1)
			return func() { require.NoError(t, netlink.FilterDel(f)) }
		}
		wire := newReceiver(t, w.UplinkIf, true)
		other := newReceiver(t, elsewhere, true)
		hits := func() uint64 { return egressCount(w, "hit") }

		require.Zero(t, hits()) // the packets that taught the cache were not hits
		transmit(t, pod, out.Bytes(t))
		wire.next(isTo(harness.PeerMAC))
		require.EqualValues(t, 1, hits(), "without the other program")

		remove := place(foreignRedirect(t, elsewhere))
		transmit(t, pod, out.Bytes(t))
		other.next(isFrom(harness.PodMAC))
		require.EqualValues(t, 1, hits(), "taken elsewhere")
		remove()

		remove = place(foreignVerdict(t, drop))
		transmit(t, pod, out.Bytes(t))
		remove()
		transmit(t, pod, out.Bytes(t))
		wire.next(isTo(harness.PeerMAC))
		require.EqualValues(t, 2, hits(), "the packet that was dropped is not among them")
	})
}

// TestForeignThingsStay: nothing that we do affects foreign programs and qdiscs.
func TestForeignThingsStay(t *testing.T) {
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		pins := filepath.Join(sandbox.BPFFS, "stay-"+string(hook))
		pod := harness.NewDevice(t, "pod0", harness.PodMAC)
		for _, at := range []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress} {
			addFilter(t, pod, foreign(t), at, 1)
			addFilter(t, pod, foreign(t), at, 0x7000)
			if hook == datapath.HookTCX {
				attachTCX(t, pod, foreign(t), at)
			}
		}
		before := attached(t, pod)
		d := load(t, pins, hook)
		require.NoError(t, d.Attach(pod, datapath.RolePod))
		require.NoError(t, d.Attach(pod, datapath.RolePod), "twice")
		require.NoError(t, d.Detach(pod))
		require.NoError(t, d.Attach(pod, datapath.RolePod))
		require.NoError(t, datapath.RemoveAll(pins))
		require.Equal(t, before, attached(t, pod))
		dev, err := netlink.LinkByIndex(pod)
		require.NoError(t, err)
		qdiscs, err := netlink.QdiscList(dev)
		require.NoError(t, err)
		clsact := 0
		for _, q := range qdiscs {
			if q.Type() == "clsact" {
				clsact++
			}
		}
		require.Equal(t, 1, clsact)
	})
}

// TestBypassed: Bypassed names every foreign program or filter that accelerated packets bypass, and nothing else.
func TestBypassed(t *testing.T) {
	type place struct {
		name string
		// on attaches something to an interface.
		on func(t *testing.T, ifindex int)
		// Expected result of Bypassed, by hook and role; "" for nothing.
		tcxPod, tcxUplink, clsactPod, clsactUplink string
		// tcx is set if the case needs a kernel with TCX.
		tcx bool
	}
	filter := func(at ebpf.AttachType, priority uint16) func(*testing.T, int) {
		return func(t *testing.T, ifindex int) { addFilter(t, ifindex, foreign(t), at, priority) }
	}
	places := []place{
		{name: "nothing", on: func(*testing.T, int) {}},
		{name: "early ingress filter", on: filter(ebpf.AttachTCXIngress, 1), tcxPod: "TC filter bpf, priority 1 on ingress", tcxUplink: "TC filter bpf, priority 1 on ingress"},
		{name: "late ingress filter", on: filter(ebpf.AttachTCXIngress, 0x7000),
			tcxPod: "priority 28672 on ingress", tcxUplink: "priority 28672 on ingress", clsactPod: "priority 28672 on ingress", clsactUplink: "priority 28672 on ingress"},
		{name: "egress filter", on: filter(ebpf.AttachTCXEgress, 1), tcxPod: "TC filter bpf, priority 1 on egress", clsactPod: "TC filter bpf, priority 1 on egress"},
		{name: "mirred filter", on: mirrorTo(ebpf.AttachTCXEgress), tcxPod: "TC filter matchall, priority 5 on egress", clsactPod: "TC filter matchall, priority 5 on egress"},
		{name: "shaper", on: addShaper, tcxPod: "qdisc tbf", clsactPod: "qdisc tbf"},
		{name: "ordinary qdisc", on: func(t *testing.T, ifindex int) {
			addQdisc(t, &netlink.GenericQdisc{QdiscType: "pfifo", QdiscAttrs: netlink.QdiscAttrs{LinkIndex: ifindex, Handle: netlink.MakeHandle(1, 0), Parent: netlink.HANDLE_ROOT}})
		}},
		{name: "TCX program on egress", tcx: true, on: func(t *testing.T, ifindex int) { attachTCX(t, ifindex, foreign(t), ebpf.AttachTCXEgress) }, tcxPod: "TCX program foreign"},
	}
	hooks(t, func(t *testing.T, hook datapath.Hook) {
		pins := filepath.Join(sandbox.BPFFS, "passed")
		d := load(t, pins, hook)
		t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
		for _, tc := range places {
			t.Run(tc.name, func(t *testing.T) {
				if tc.tcx && hook != datapath.HookTCX {
					t.Skip("a kernel on which clsact is used has no TCX")
				}
				pod, up := harness.NewDevice(t, "pod0", harness.PodMAC), harness.NewDevice(t, "up0", harness.UplinkMAC)
				require.NoError(t, d.Attach(pod, datapath.RolePod))
				require.NoError(t, d.Attach(up, datapath.RoleUplink))
				tc.on(t, pod)
				tc.on(t, up)
				onPod, onUplink := tc.tcxPod, tc.tcxUplink
				if hook == datapath.HookClsact {
					onPod, onUplink = tc.clsactPod, tc.clsactUplink
				}
				requireBypassed(t, d, pod, datapath.RolePod, onPod)
				requireBypassed(t, d, up, datapath.RoleUplink, onUplink)
			})
		}
	})
}

// TestBypassedOnNetkit: Egress runs before the host side sees a packet at all.
func TestBypassedOnNetkit(t *testing.T) {
	p := newNetkitPod(t, "nk0")
	pins := filepath.Join(sandbox.BPFFS, "passed")
	d := load(t, pins, datapath.HookAuto)
	t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
	require.NoError(t, d.Attach(p.primary, datapath.RoleNetkitPod))
	requireBypassed(t, d, p.primary, datapath.RoleNetkitPod, "")
	l := attachTCX(t, p.primary, foreign(t), ebpf.AttachTCXIngress)
	requireBypassed(t, d, p.primary, datapath.RoleNetkitPod, "TCX program foreign")
	require.NoError(t, l.Close())
	f := addFilter(t, p.primary, foreign(t), ebpf.AttachTCXIngress, 1)
	requireBypassed(t, d, p.primary, datapath.RoleNetkitPod, "TC filter bpf, priority 1 on ingress")
	require.NoError(t, netlink.FilterDel(f))

	other, err := link.AttachNetkit(link.NetkitOptions{Interface: p.primary, Program: foreign(t), Attach: ebpf.AttachNetkitPeer})
	require.NoError(t, err)
	defer other.Close()
	requireTakesTheLastPlace(t, d, p.primary, datapath.RoleNetkitPod, ebpf.AttachNetkitPeer)
}

// TestLastPlace: a foreign program that is attached after ours sees hits again after the next review.
func TestLastPlace(t *testing.T) {
	pins := filepath.Join(sandbox.BPFFS, "last")
	d := load(t, pins, datapath.HookTCX)
	t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
	for name, role := range map[string]datapath.Role{"pod0": datapath.RolePod, "up0": datapath.RoleUplink} {
		index := harness.NewDevice(t, name, harness.PodMAC)
		ok, err := d.InPlace(index, role)
		require.NoError(t, err)
		require.False(t, ok, "nothing is attached")
		require.NoError(t, d.Attach(index, role))
		ok, err = d.InPlace(index, role)
		require.NoError(t, err)
		require.True(t, ok)
		attachTCX(t, index, foreign(t), ebpf.AttachTCXIngress)
		attachTCX(t, index, foreign(t), ebpf.AttachTCXEgress)
		requireTakesTheLastPlace(t, d, index, role, ebpf.AttachTCXIngress)
	}
}

func requireTakesTheLastPlace(t *testing.T, d *datapath.Datapath, ifindex int, role datapath.Role, attach ebpf.AttachType) {
	t.Helper()
	ok, err := d.InPlace(ifindex, role)
	require.NoError(t, err)
	require.False(t, ok, "a foreign program is after ours")
	require.NoError(t, d.Attach(ifindex, role))
	ok, err = d.InPlace(ifindex, role)
	require.NoError(t, err)
	require.True(t, ok)
	ours := object.BpfProgOncacheEgress
	if role == datapath.RoleUplink {
		ours = object.BpfProgOncacheIngress
	}
	names := programsAt(t, ifindex, attach)
	require.Equal(t, ours, names[len(names)-1])
	require.Equal(t, 1, attached(t, ifindex)[ours], "once")
}

func requireBypassed(t *testing.T, d *datapath.Datapath, ifindex int, role datapath.Role, want string) {
	t.Helper()
	found, err := d.Bypassed(ifindex, role)
	require.NoError(t, err)
	if want == "" {
		require.Empty(t, found)
		return
	}
	require.Len(t, found, 1)
	require.Contains(t, found[0], want)
}
