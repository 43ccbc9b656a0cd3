// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"bytes"
	"encoding/binary"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzStream feeds arbitrary bytes to the reader of a connection on which two calls wait. Nothing may panic, and what is
// kept must stay within the bounds that the code states.
func FuzzStream(f *testing.F) {
	stats := appendHeader(nil, version13, typeMultipartReply, 8+24, 11)
	stats = append(stats, 0, multipartTable, 0, 1, 0, 0, 0, 0)
	stats = append(stats, append([]byte{7, 0, 0, 0, 0, 0, 0, 9}, make([]byte, 16)...)...)
	f.Add(stats)
	f.Add(bytes.Repeat(stats, maxParts+1))
	f.Add(append(appendHello(nil, version13, 1), appendBarrier(nil, version13, 12)...))
	f.Add(append(appendHeader(nil, version13, typeError, 12, 10), 0xff, 0xff, 9, 9, 0x4f, 0x4e, 0x46, 0, 1, 2, 3, 4))
	f.Add(append(appendHeader(nil, version13, typeError, 2, 10), 0, 4))
	f.Add(appendBundleControl(nil, version13, 20, 20, bundleClose+1))
	f.Add(bytes.Repeat(appendHeader(nil, version13, typeEchoRequest, 0, 5), maxBackground+1))
	f.Add([]byte{4, typeBarrierReply, 0, 7, 0, 0, 0, 10})
	f.Add([]byte{4, typeBarrierReply, 0xff, 0xff, 0, 0, 0, 10, 1})
	f.Add([]byte{5, typeBarrierReply, 0, 8, 0, 0, 0, 10})
	for _, m := range recordedMessages(f) {
		f.Add(m)
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		a, b := net.Pipe()
		defer a.Close()
		defer b.Close()
		c := newConn(a, version13, 10)
		request, err := c.begin(2)
		require.NoError(t, err)
		mods := []bundled{&FlowMod{}, &GroupMod{}, &FlowMod{}}
		bundle, err := c.begin(bundleXIDs{mods: len(mods)}.count())
		require.NoError(t, err)

		r := bytes.NewReader(stream)
		for {
			before := r.Len()
			m, err := readMessage(r)
			if err != nil {
				break
			}
			require.Equal(t, before-r.Len(), headerSize+len(m.body))
			checkParsers(m)
			if c.handle(m) != nil {
				break
			}
		}
		kept := 0
		for _, cl := range []*call{request, bundle} {
			require.LessOrEqual(t, len(cl.errors), int(cl.last-cl.first)+1)
			for xid, parts := range cl.replies {
				require.GreaterOrEqual(t, xid, cl.first)
				require.LessOrEqual(t, xid, cl.last)
				require.LessOrEqual(t, len(parts), maxParts)
				for _, m := range parts {
					kept += headerSize + len(m.body)
				}
			}
		}
		require.LessOrEqual(t, kept, len(stream), "no more is kept than was received")
		x := bundleXIDs{first: bundle.first, mods: len(mods)}
		_ = c.bundleError(bundle, x, mods, bundleClose, x.closing())
		c.answered(request, request.first)
	})
}

// FuzzParsers feeds arbitrary bodies to every parser, regardless of the message's type.
func FuzzParsers(f *testing.F) {
	f.Add(uint8(version13), uint8(typeHello), []byte{0, 1, 0, 8, 0, 0, 0, 16})
	f.Add(uint8(6), uint8(typeHello), []byte{0, 2, 0, 4, 0, 0, 0, 0, 0, 1, 0, 4})
	f.Add(uint8(version13), uint8(typeError), []byte{0xff, 0xff, 0, 1, 0})
	f.Add(uint8(version13), uint8(typeMultipartReply), []byte{0, 3, 0, 1, 0, 0, 0, 0, 1})
	f.Add(uint8(version13), uint8(typeExperimenter), appendBundleControl(nil, version13, 1, 2, 3)[headerSize:])
	for _, m := range recordedMessages(f) {
		f.Add(m[0], m[1], m[headerSize:])
		// Flows and groups without the multipart header.
		f.Add(m[0], m[1], m[min(headerSize+multipartHeaderSize, len(m)):])
	}
	f.Fuzz(func(_ *testing.T, v, typ uint8, body []byte) {
		checkParsers(message{version: version(v), typ: typ, body: body})
	})
}

// checkParsers calls every parser, and the encoders with the results: errors are allowed, panics are not.
func checkParsers(m message) {
	_ = checkHello(m, version13)
	_ = parseError(m.body).Error()
	parseBundleReply(m)
	moreParts(m)
	_ = parseTableStats(m, map[uint8]int{})
	_ = understand(m)
	for typ := range uint16(multipartMeterFeatures + 1) {
		if len(m.body) >= multipartHeaderSize {
			body := bytes.Clone(m.body)
			binary.BigEndian.PutUint16(body, typ)
			_ = understandMultipart(message{version: m.version, typ: typeMultipartReply, body: body})
		}
	}
	if actions, err := parseActions(m.body); err == nil {
		_ = actionsText(actions)
		_, _ = appendActions(nil, version13, actions)
		_, _ = appendActions(nil, version15, actions)
	}
	if len(m.body) >= 8 {
		body := bytes.Clone(m.body)
		binary.BigEndian.PutUint32(body, nxExperimenter)
		binary.BigEndian.PutUint32(body[4:], nxtPacketIn2)
		_ = understand(message{version: m.version, typ: typeExperimenter, body: body})
	}
}
