// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package afpacket

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }

// vethPair returns sockets on the two ends of a veth pair.
func vethPair(t *testing.T, offloads bool) (near, far *Socket) {
	t.Helper()
	sandbox.RequireRoot(t)
	veth := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: "near"}, PeerName: "far"}
	require.NoError(t, netlink.LinkAdd(veth))
	t.Cleanup(func() { require.NoError(t, netlink.LinkDel(veth)) })
	var sockets []*Socket
	for _, name := range []string{"near", "far"} {
		link, err := netlink.LinkByName(name)
		require.NoError(t, err)
		require.NoError(t, netlink.LinkSetUp(link))
		s, err := Open(link.Attrs().Index, offloads)
		require.NoError(t, err)
		t.Cleanup(s.Close)
		sockets = append(sockets, s)
	}
	// A device drops frames until the kernel has noticed its carrier.
	for _, name := range []string{"near", "far"} {
		require.Eventually(t, func() bool {
			link, err := netlink.LinkByName(name)
			return err == nil && link.Attrs().OperState == netlink.OperUp
		}, 10*time.Second, time.Millisecond, "carrier of %s", name)
	}
	return sockets[0], sockets[1]
}

// frame returns a frame with an otherwise unused EtherType.
func frame(length int) []byte {
	f := bytes.Repeat([]byte{2}, length)
	f[12], f[13] = 0x88, 0xb5 // local experimental (IEEE 802)
	return f
}

// receive waits for the next experimental frame.
func receive(t *testing.T, s *Socket) Frame {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); {
		f, ok, err := s.Receive(100 * time.Millisecond)
		require.NoError(t, err)
		if ok && bytes.Equal(f.Data[12:14], []byte{0x88, 0xb5}) {
			return f
		}
	}
	require.Fail(t, "no frame has arrived")
	return Frame{}
}

func TestFramesArriveAsTheyWereSent(t *testing.T) {
	for name, offloads := range map[string]bool{"plain": false, "with offloads": true} {
		t.Run(name, func(t *testing.T) {
			near, far := vethPair(t, offloads)
			require.NoError(t, near.Send(Frame{Data: frame(100)}))
			got := receive(t, far)
			require.Equal(t, frame(100), got.Data)
			require.Equal(t, OtherHost, got.Type)
			require.Equal(t, 14, got.HeaderLength)
			require.Zero(t, got.Mark)
			require.NoError(t, far.Send(Frame{Data: frame(100)}))
			require.Equal(t, OtherHost, receive(t, near).Type, "a socket gets no frame of its own")
		})
	}
}

func TestOffloadsArrive(t *testing.T) {
	near, far := vethPair(t, true)
	// An IPv4 TCP packet of 20 + 20 + 3000 bytes, to be segmented.
	data := frame(14 + 20 + 20 + 3000)
	data[12], data[13] = 0x08, 0x00
	data[14], data[23] = 0x45, 6
	data[46] = 0x50
	want := Offload{
		Flags: NeedsChecksum, Segmentation: SegmentTCP4, HeaderLength: 54, SegmentSize: 1000, ChecksumStart: 34, ChecksumOffset: 16,
	}
	require.NoError(t, near.Send(Frame{Data: data, Offload: want}))
	for deadline := time.Now().Add(10 * time.Second); ; {
		got, ok, err := far.Receive(100 * time.Millisecond)
		require.NoError(t, err)
		require.True(t, time.Now().Before(deadline), "no super-packet has arrived")
		if !ok || !bytes.Equal(got.Data, data) {
			continue
		}
		got.Offload.HeaderLength = want.HeaderLength // it depends on the size of the first buffer
		require.Equal(t, want, got.Offload)
		require.True(t, got.ChecksumMissing)
		require.False(t, got.ChecksumProved)
		return
	}
}

func TestNothingToReceive(t *testing.T) {
	near, far := vethPair(t, false)
	for {
		_, ok, err := far.Receive(0)
		require.NoError(t, err)
		if !ok {
			break
		}
	}
	waiting, err := Wait(time.Millisecond, far)
	require.NoError(t, err)
	if !waiting { // IPv6 may have something to say
		require.NoError(t, near.Send(Frame{Data: frame(60)}))
		waiting, err = Wait(10*time.Second, far)
		require.NoError(t, err)
		require.True(t, waiting)
	}
}
