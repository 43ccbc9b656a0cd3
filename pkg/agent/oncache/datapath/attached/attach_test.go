// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package attached

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath/harness"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func load(t *testing.T, pinPath string, hook datapath.Hook) *datapath.Datapath {
	sandbox.RequireRoot(t)
	if hook == datapath.HookTCX {
		requireTCX(t)
	}
	d, err := datapath.Load(datapath.Options{PinPath: pinPath, MaxFlows: 4096, Hook: hook})
	harness.RequireVerified(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

// requireTCX skips a test on kernels without TCX (before Linux 6.6).
func requireTCX(t *testing.T) {
	t.Helper()
	p := foreign(t)
	l, err := link.AttachTCX(link.TCXOptions{Interface: 1, Program: p, Attach: ebpf.AttachTCXEgress})
	if errors.Is(err, ebpf.ErrNotSupported) {
		t.Skip("this kernel has no TCX")
	}
	require.NoError(t, err)
	require.NoError(t, l.Close())
}

// attached counts the programs on a device by name, through both kinds of hook.
func attached(t *testing.T, ifindex int) map[string]int {
	out := map[string]int{}
	device, err := netlink.LinkByIndex(ifindex)
	require.NoError(t, err)
	hooks := []ebpf.AttachType{ebpf.AttachTCXIngress, ebpf.AttachTCXEgress}
	if device.Type() == "netkit" {
		hooks = append(hooks, ebpf.AttachNetkitPrimary, ebpf.AttachNetkitPeer)
	}
	for _, at := range hooks {
		for _, name := range programsAt(t, ifindex, at) {
			out[name]++
		}
	}
	for _, parent := range []uint32{netlink.HANDLE_MIN_INGRESS, netlink.HANDLE_MIN_EGRESS} {
		filters, err := netlink.FilterList(device, parent)
		require.NoError(t, err)
		for _, f := range filters {
			if b, ok := f.(*netlink.BpfFilter); ok {
				out[b.Name]++
			}
		}
	}
	return out
}

// programsAt returns the names of the programs at a TCX or netkit hook, in the order in which they run.
func programsAt(t *testing.T, ifindex int, attach ebpf.AttachType) (names []string) {
	t.Helper()
	r, err := link.QueryPrograms(link.QueryOptions{Target: ifindex, Attach: attach})
	if errors.Is(err, unix.EINVAL) {
		return nil // a kernel without TCX does not know the hook
	}
	require.NoError(t, err)
	for _, p := range r.Programs {
		prog, err := ebpf.NewProgramFromID(p.ID)
		require.NoError(t, err)
		info, err := prog.Info()
		require.NoError(t, err)
		names = append(names, info.Name)
		require.NoError(t, prog.Close())
	}
	return names
}

// requireDescribed finds the programs of both devices, and the foreign one before ours, in what a support bundle says about them.
func requireDescribed(t *testing.T, d *datapath.Datapath, pod, up int) {
	t.Helper()
	var text bytes.Buffer
	require.NoError(t, d.DescribePrograms(&text))
	require.Regexp(t, `(?m)^program name=oncache_egress id=\d+ tag=[0-9a-f]{16} type=SchedCLS `, text.String())
	ingress, egress := "tcx/ingress", "tcx/egress"
	if d.Hook() == datapath.HookClsact {
		ingress, egress = `filter/ingress type=bpf priority=\d+`, `filter/egress type=bpf priority=\d+`
	}
	for _, want := range []struct {
		index     int
		at, named string
	}{
		{pod, ingress, "foreign"}, {pod, ingress, "oncache_egress"}, {pod, egress, "oncache_ingress_init"},
		{up, ingress, "oncache_ingress"}, {up, egress, "oncache_egress_init"},
	} {
		line := fmt.Sprintf(`(?m)^device name=\S+ index=%d at=%s id=\d+ name=%s$`, want.index, want.at, want.named)
		found := regexp.MustCompile(line).FindStringIndex(text.String())
		require.NotNil(t, found, "%s in\n%s", line, &text)
		if want.named == "oncache_egress" {
			require.Less(t, strings.Index(text.String(), "name=foreign"), found[0], "the order in which they run")
		}
	}
}

func TestAttachReplaceDetach(t *testing.T) {
	for _, hook := range []datapath.Hook{datapath.HookTCX, datapath.HookClsact} {
		t.Run(string(hook), func(t *testing.T) {
			pins := filepath.Join(sandbox.BPFFS, "attach-"+string(hook))
			d := load(t, pins, hook)
			require.False(t, d.Adopted)
			pod, up := harness.NewDevice(t, "pod0", harness.PodMAC), harness.NewDevice(t, "up0", harness.UplinkMAC)

			// A foreign program is already attached.
			other := foreign(t)
			if hook == datapath.HookTCX {
				l, err := link.AttachTCX(link.TCXOptions{Interface: pod, Program: other, Attach: ebpf.AttachTCXIngress})
				require.NoError(t, err)
				defer l.Close()
			} else {
				dev, err := netlink.LinkByIndex(pod)
				require.NoError(t, err)
				addClsact(t, dev)
				require.NoError(t, netlink.FilterAdd(&netlink.BpfFilter{Fd: other.FD(), Name: "foreign", DirectAction: true,
					FilterAttrs: netlink.FilterAttrs{LinkIndex: pod, Parent: netlink.HANDLE_MIN_INGRESS, Handle: 1, Protocol: unix.ETH_P_ALL, Priority: 1}}))
			}
			onPod := map[string]int{"foreign": 1, "oncache_egress": 1, "oncache_ingress_init": 1}
			onUplink := map[string]int{"oncache_ingress": 1, "oncache_egress_init": 1}
			require.NoError(t, d.Attach(pod, datapath.RolePod))
			require.NoError(t, d.Attach(up, datapath.RoleUplink))
			require.Equal(t, onPod, attached(t, pod))
			require.Equal(t, onUplink, attached(t, up))
			requireDescribed(t, d, pod, up)

			// A restarted agent adopts the maps and replaces the programs.
			d.SetNode(harness.PeerSlot, harness.PeerIP)
			again := load(t, pins, hook)
			require.True(t, again.Adopted)
			require.Equal(t, []datapath.NodeState{{Slot: harness.PeerSlot, IP: harness.PeerIP}}, again.Nodes())
			require.NoError(t, again.Attach(pod, datapath.RolePod))
			require.NoError(t, again.Attach(up, datapath.RoleUplink))
			require.Equal(t, onPod, attached(t, pod))
			require.Equal(t, onUplink, attached(t, up))

			require.NoError(t, again.Detach(up))
			require.Empty(t, attached(t, up))
			require.NoError(t, again.Detach(up), "twice")

			require.NoError(t, datapath.RemoveAll(pins))
			require.Equal(t, map[string]int{"foreign": 1}, attached(t, pod))
			_, err := os.Stat(pins)
			require.ErrorIs(t, err, os.ErrNotExist)
			require.NoError(t, datapath.RemoveAll(pins), "with nothing there")
		})
	}
}

// TestInterfaceGone: programs vanish with their device, and another device with the same index is not mistaken for it.
func TestInterfaceGone(t *testing.T) {
	pins := filepath.Join(sandbox.BPFFS, "gone")
	d := load(t, pins, datapath.HookAuto)
	t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "pod0", Index: 7777}, PeerName: "pod0p"}
	require.NoError(t, netlink.LinkAdd(veth))
	require.NoError(t, d.Attach(7777, datapath.RolePod))
	require.NoError(t, netlink.LinkDel(veth))
	require.NoError(t, netlink.LinkAdd(veth))
	require.Empty(t, attached(t, 7777))
	require.NoError(t, d.Attach(7777, datapath.RolePod))
	require.Len(t, attached(t, 7777), 2)
	require.NoError(t, netlink.LinkDel(veth))
	require.NoError(t, d.Detach(7777))
	indexes, err := datapath.Attached(pins)
	require.NoError(t, err)
	require.Empty(t, indexes)
}

// TestAttachFailsWhole: nothing remains of an attachment that could not be completed.
func TestAttachFailsWhole(t *testing.T) {
	pins := filepath.Join(sandbox.BPFFS, "fails")
	d := load(t, pins, datapath.HookClsact)
	t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
	require.ErrorContains(t, d.Attach(99999, datapath.RolePod), "interface index 99999")
	pod := harness.NewDevice(t, "pod0", harness.PodMAC)
	dev, err := netlink.LinkByIndex(pod)
	require.NoError(t, err)
	require.NoError(t, netlink.QdiscAdd(&netlink.Ingress{QdiscAttrs: netlink.QdiscAttrs{LinkIndex: pod, Handle: netlink.MakeHandle(0xffff, 0), Parent: netlink.HANDLE_INGRESS}}))
	require.ErrorContains(t, d.Attach(pod, datapath.RolePod), "ingress qdisc")
	qdiscs, err := netlink.QdiscList(dev)
	require.NoError(t, err)
	found := false
	for _, q := range qdiscs {
		found = found || q.Type() == "ingress"
	}
	require.True(t, found, "a foreign qdisc stays")
}

// TestOtherLayout: maps of another layout are not read, and are removed once the new programs run.
func TestOtherLayout(t *testing.T) {
	pins := filepath.Join(sandbox.BPFFS, "layout")
	old := load(t, pins, datapath.HookAuto)
	pod := harness.NewDevice(t, "pod0", harness.PodMAC)
	require.NoError(t, old.Attach(pod, datapath.RolePod))
	d, err := datapath.Load(datapath.Options{PinPath: pins, MaxFlows: 8192})
	require.NoError(t, err)
	defer d.Close()
	t.Cleanup(func() { require.NoError(t, datapath.RemoveAll(pins)) })
	require.False(t, d.Adopted)
	require.NoError(t, d.Attach(pod, datapath.RolePod))
	require.Len(t, attached(t, pod), 2)
	want := 2 // links and one layout
	if d.Hook() == datapath.HookClsact {
		want = 1
	}
	entries, err := os.ReadDir(pins)
	require.NoError(t, err)
	require.Len(t, entries, want+1, "both layouts")
	require.NoError(t, d.Commit())
	entries, err = os.ReadDir(pins)
	require.NoError(t, err)
	require.Len(t, entries, want)
}

// TestLoadRefused: the error names a directory that cannot hold pins.
func TestLoadRefused(t *testing.T) {
	sandbox.RequireRoot(t)
	_, err := datapath.Load(datapath.Options{PinPath: filepath.Join(t.TempDir(), "not-a-bpffs"), MaxFlows: 4096})
	require.ErrorContains(t, err, "not-a-bpffs")
}
