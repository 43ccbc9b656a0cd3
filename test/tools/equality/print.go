// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package equality

import (
	"fmt"
	"strings"

	"github.com/gopacket/gopacket"
	"github.com/gopacket/gopacket/layers"

	"github.com/antrea-oncache/antrea/test/tools/afpacket"
)

// shownBytes of a payload are enough to recognize it.
const shownBytes = 64

func describeAll(name string, frames []afpacket.Frame) string {
	var text strings.Builder
	for i, f := range frames {
		fmt.Fprintf(&text, "%s, frame %d:\n%s", name, i+1, describe(f))
	}
	return text.String()
}

// describe decodes a frame, one line per layer.
func describe(f afpacket.Frame) string {
	var text strings.Builder
	fmt.Fprintf(&text, "  type %d, VLAN %#x/%#x, checksum missing %t proved %t, mark %#x, offload %+v, %d bytes\n",
		f.Type, f.VLANType, f.VLAN, f.ChecksumMissing, f.ChecksumProved, f.Mark, f.Offload, len(f.Data))
	for _, layer := range gopacket.NewPacket(f.Data, layers.LayerTypeEthernet, gopacket.Default).Layers() {
		line := gopacket.LayerString(layer)
		if layer.LayerType() == gopacket.LayerTypePayload {
			content := layer.LayerContents()
			line = fmt.Sprintf("Payload %d bytes: %x", len(content), content[:min(len(content), shownBytes)])
		}
		fmt.Fprintf(&text, "  %s\n", line)
	}
	return text.String()
}

// HexDiff shows the lines of 16 bytes in which a and b differ, with "-" before a's and "+" before b's.
func HexDiff(a, b []byte) string {
	const width = 16
	var text strings.Builder
	line := func(sign string, data []byte, at int) {
		if at < len(data) {
			fmt.Fprintf(&text, "  %s %04x  % x\n", sign, at, data[at:min(at+width, len(data))])
		}
	}
	for at := 0; at < max(len(a), len(b)); at += width {
		if string(part(a, at, width)) != string(part(b, at, width)) {
			line("-", a, at)
			line("+", b, at)
		}
	}
	return text.String()
}

func part(data []byte, at, n int) []byte {
	return data[min(at, len(data)):min(at+n, len(data))]
}
