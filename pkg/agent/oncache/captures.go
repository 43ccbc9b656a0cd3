// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"
)

// packetSockets lists the packet sockets of this network namespace (net/packet/af_packet.c, packet_seq_show).
const packetSockets = "/proc/net/packet"

// captures are the interfaces whose packets are being captured.
type captures struct {
	// sniffed contains the indexes of interfaces with a packet socket for all protocols, as capture programs open it.
	sniffed map[int]bool
	// mirrored reports whether a mirror of Open vSwitch copies an interface's packets; nil for no.
	mirrored func(interfaceName string) bool
}

// of returns an error that names what captures the Pod's packets, or nil.
func (c captures) of(p *localPod) error {
	switch {
	case c.sniffed[p.ifIndex]:
		return stays(stayCapture, errors.New("its interface is being captured (a packet socket for all protocols is bound to it)"))
	case c.mirrored != nil && c.mirrored(p.InterfaceName):
		return stays(stayCapture, errors.New("a mirror of Open vSwitch copies its packets"))
	}
	return nil
}

// readCaptures finds the present captures. An unreadable source counts as empty, and is logged.
func readCaptures(config *Config) captures {
	var c captures
	f, err := os.Open(packetSockets)
	if err == nil {
		defer f.Close()
		c.sniffed, err = parsePacketSockets(f)
	}
	if err != nil {
		klog.ErrorS(err, "Could not find out which interfaces are captured")
	}
	if config.Mirrored != nil {
		if c.mirrored, err = config.Mirrored(); err != nil {
			klog.ErrorS(err, "Could not read the mirrors of Open vSwitch")
		}
	}
	return c
}

// parsePacketSockets returns the indexes of interfaces to which a socket for all protocols is bound. Sockets for one
// protocol belong to DHCP, LLDP and the like.
func parsePacketSockets(r io.Reader) (map[int]bool, error) {
	found := map[int]bool{}
	lines := bufio.NewScanner(r)
	for n := 0; lines.Scan(); n++ {
		if n == 0 {
			continue // the columns' names: sk RefCnt Type Proto Iface R Rmem User Inode
		}
		var socket, refs string
		var kind, ifIndex int
		var protocol uint16
		if _, err := fmt.Sscanf(lines.Text(), "%s %s %d %x %d", &socket, &refs, &kind, &protocol, &ifIndex); err != nil {
			return nil, fmt.Errorf("line %q of %s: %w", lines.Text(), packetSockets, err)
		}
		if protocol == unix.ETH_P_ALL && ifIndex != 0 {
			found[ifIndex] = true
		}
	}
	return found, lines.Err()
}
