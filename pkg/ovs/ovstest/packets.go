// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovstest

import (
	"encoding/binary"
	"encoding/hex"
	"os"
	"path/filepath"
	"time"
)

// Sizes of headers in files of pcap.
const fileHeader, frameHeader = 24, 16

// Inject lets a port of type dummy receive frames, from their Ethernet headers on, up to 100 at once. It returns before they have been
// processed; frames of one port are processed in order.
func (o *OVS) Inject(port string, frames ...[]byte) {
	o.t.Helper()
	args := []string{"netdev-dummy/receive", port}
	for _, frame := range frames {
		args = append(args, hex.EncodeToString(frame))
	}
	o.Appctl(args...)
}

// Capture holds the packets that a port of type dummy has sent since the Capture was made.
type Capture struct {
	o    *OVS
	port string
	file string
	// read is the offset behind the frames that Next has returned.
	read int
}

// Capture begins to record what a port of type dummy sends.
func (o *OVS) Capture(port string) *Capture {
	o.t.Helper()
	c := &Capture{o: o, port: port, file: filepath.Join(o.LogDir, port+".pcap")}
	o.Vsctl("set", "interface", port, "options:tx_pcap="+c.file)
	return c
}

// Next waits for the next frame.
func (c *Capture) Next() []byte {
	c.o.t.Helper()
	for deadline := time.Now().Add(readyTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if frame := c.unread(); frame != nil {
			c.read += frameHeader + len(frame)
			return frame
		}
	}
	c.o.t.Fatalf("ovstest: port %s has sent no frame within %v", c.port, readyTimeout)
	return nil
}

// Pending reports whether Next would return at once.
func (c *Capture) Pending() bool { return c.unread() != nil }

// unread returns the next frame, nil if there is none yet. The file is in the format of pcap (pcap-savefile(5)), in the byte order of
// this machine.
func (c *Capture) unread() []byte {
	if c.read == 0 {
		c.read = fileHeader
	}
	b, err := os.ReadFile(c.file)
	if err != nil || len(b) < c.read+frameHeader {
		return nil
	}
	b = b[c.read:]
	size := int(binary.NativeEndian.Uint32(b[8:]))
	if len(b) < frameHeader+size {
		return nil
	}
	return b[frameHeader : frameHeader+size]
}
