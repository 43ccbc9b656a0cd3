// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package servicereject

import (
	"fmt"
	"net/netip"

	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
)

// packet is a packet that may be answered.
type packet struct{ *ippacket.Packet }

func parse(frame []byte) (*packet, error) {
	p, err := ippacket.Parse(frame)
	if err != nil {
		return nil, err
	}
	const group = 1 // the bit of MAC addresses of several receivers
	if (frame[0]|frame[6])&group != 0 {
		return nil, fmt.Errorf("frame from %x to %x has several receivers, so it is not answered", frame[6:12], frame[:6])
	}
	for _, addr := range []netip.Addr{p.Src, p.Dst} {
		if !addr.IsValid() || addr.IsUnspecified() || addr.IsMulticast() || addr.IsLoopback() || addr == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
			return nil, fmt.Errorf("packet from %v to %v: not answered without one sender and one receiver", p.Src, p.Dst)
		}
	}
	return &packet{p}, nil
}
