// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

// World is a loaded datapath in the network namespace of the test, with the Pod and the Node announced. It ends with the test.
type World struct {
	*datapath.Datapath
	*Inside
	T testing.TB
	// PinPath is the directory below which maps and links are pinned.
	PinPath string
	// PodIf and UplinkIf are interface indexes.
	PodIf, UplinkIf int
	Family          Family
	// The programs have not seen the packets' flows yet. In other worlds they have, so a miss gets a ticket.
	strangers bool
}

// Family says which IP versions a world uses.
type Family struct{ Inner6, Outer6 bool }

// Families are all combinations of inner and outer IP version.
var Families = map[string]Family{
	"IPv4 in IPv4": {false, false},
	"IPv4 in IPv6": {false, true},
	"IPv6 in IPv4": {true, false},
	"IPv6 in IPv6": {true, true},
}

// NewWorld is for programs that run by BPF_PROG_TEST_RUN, NewWorldWith for those that are attached.
func NewWorld(t testing.TB) *World { return NewWorldOf(t, Family{}) }

// NewWorldOf is NewWorld with other IP versions.
func NewWorldOf(t testing.TB, f Family) *World {
	sandbox.RequireRoot(t)
	d, in := encapsulating.borrow(t)
	return populate(t, d, in, encapsulating.pins, f)
}

// NewRewritingWorld is NewWorldOf with programs that rewrite packets, and a peer that understands keys.
func NewRewritingWorld(t testing.TB, f Family) *World { return rewriting.rewritingWorld(t, f) }

// NewHelpersWorld is NewRewritingWorld with programs as they are on kernels that do not tell what a checksum field contains.
func NewHelpersWorld(t testing.TB, f Family) *World { return byHelpers.rewritingWorld(t, f) }

func (shared *shared) rewritingWorld(t testing.TB, f Family) *World {
	sandbox.RequireRoot(t)
	d, in := shared.borrow(t)
	w := populate(t, d, in, shared.pins, f)
	w.SetNodeRewrites(PeerSlot, true)
	return w
}

// NewStrangersWorld makes a world in which the programs have not seen the packets' flows yet.
func NewStrangersWorld(t *testing.T, f Family) *World {
	w := NewWorldOf(t, f)
	w.strangers = true
	return w
}

// NewOpeningsWorld is NewStrangersWorld with programs that learn openings.
func NewOpeningsWorld(t *testing.T, f Family) *World {
	sandbox.RequireRoot(t)
	d, in := opening.borrow(t)
	w := populate(t, d, in, opening.pins, f)
	w.strangers = true
	return w
}

// NewWorldWith loads programs and maps of its own, flow maps of both IP versions with MaxFlows entries.
func NewWorldWith(t testing.TB, f Family, opts datapath.Options) *World {
	sandbox.RequireRoot(t)
	opts.PinPath = filepath.Join(sandbox.BPFFS, strings.NewReplacer("/", "-", " ", "-").Replace(t.Name()), "oncache")
	opts.MaxFlows6 = opts.MaxFlows
	d, err := datapath.Load(opts)
	RequireVerified(t, err)
	in := look(t, opts.PinPath, programs{rewrite: opts.Rewrite, openings: opts.Openings, direct: opts.Direct})
	t.Cleanup(func() {
		require.NoError(t, datapath.RemoveAll(opts.PinPath))
		require.NoError(t, in.Close())
		require.NoError(t, d.Close())
	})
	return populate(t, d, in, opts.PinPath, f)
}

// secrets are the same in every world, and with them which flows share places.
var secrets = [10]uint64{
	0x5eed0fac0ffee123, 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb, 0xff51afd7ed558ccd,
	0xc4ceb9fe1a85ec53, 0xc2b2ae3d27d4eb4f, 0xd6e8feb86659fd93, 0xa0761d6478bd642f, 0xe7037ed1a0b428db,
}

// populate writes the Pod and the Node into new maps.
func populate(t testing.TB, d *datapath.Datapath, in *Inside, pinPath string, f Family) *World {
	w := &World{Datapath: d, Inside: in, T: t, PinPath: pinPath, PodIf: NewDevice(t, "pod0", PodMAC), UplinkIf: NewDevice(t, "up0", UplinkMAC), Family: f}
	d.SetUplink(datapath.Uplink{
		IfIndex: w.UplinkIf, MAC: UplinkMAC, IPv4: NodeIP, IPv6: NodeIP6, TunnelPort: 6081, RewritePort: RewritePort, PortFirst: 1, PortCount: 65534,
		TunnelHeader: [8]byte{0, 0, 0x65, 0x58}, VirtualMAC: VirtualMAC,
	}, uint64(5*time.Second))
	in.Control().KeysFrom, in.Control().Secrets = 0, secrets
	require.NoError(t, d.Attend(time.Hour))
	generation, _ := d.EndpointState(PodSlot)
	d.PublishEndpoint(PodSlot, generation+1, 0)
	require.NoError(t, d.SetEndpoint(PodSlot, datapath.Endpoint{IfIndex: w.PodIf, IPv4: PodIP, IPv6: PodIP6, MAC: PodMAC, GatewayMAC: GatewayMAC}))
	d.PublishEndpoint(PodSlot, generation+1, Epoch)
	peer := PeerIP
	if f.Outer6 {
		peer = PeerIP6
	}
	d.SetNode(PeerSlot, peer)
	d.SetNodeMTU(PeerSlot, 1500)
	require.NoError(t, d.AddPodNetwork(PeerCIDR, PeerSlot))
	require.NoError(t, d.AddPodNetwork(PeerCIDR6, PeerSlot))
	d.SetMode(datapath.ModeEnforce)
	return w
}

// Decapsulated returns the reason under which Ingress counts a good packet. It is not "hit" where the kernel (before Linux 6.3)
// cannot decapsulate one IP version from the other.
func (w *World) Decapsulated() string { return Decapsulated(w.T, w.Family) }

// Decapsulated is World.Decapsulated for a world with these IP versions.
func Decapsulated(t testing.TB, f Family) string {
	if f.Inner6 != f.Outer6 && Minor(t, KernelRelease(t)) < 6003 {
		return "offload"
	}
	return "hit"
}
