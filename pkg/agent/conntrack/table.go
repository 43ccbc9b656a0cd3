// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink/nl"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// Table looks up and changes single connections of one network namespace. It has a socket of its own and is for one
// goroutine at a time.
type Table struct {
	sockets map[int]*nl.SocketHandle
}

// OpenTable opens the table of the calling thread's network namespace.
func OpenTable() (*Table, error) {
	socket, err := nl.GetNetlinkSocketAt(netns.None(), netns.None(), unix.NETLINK_NETFILTER)
	if err != nil {
		return nil, fmt.Errorf("open a netfilter netlink socket: %w", err)
	}
	return &Table{sockets: map[int]*nl.SocketHandle{unix.NETLINK_NETFILTER: {Socket: socket}}}, nil
}

// Close frees the socket.
func (t *Table) Close() { t.sockets[unix.NETLINK_NETFILTER].Close() }

func (t *Table) request(message int, zone uint16, tuple Tuple) *nl.NetlinkRequest {
	return t.requestWith(message, 0, zone, tuple)
}

func (t *Table) requestWith(message, flags int, zone uint16, tuple Tuple) *nl.NetlinkRequest {
	request := newRequest(message, tuple.family(), unix.NLM_F_ACK|flags)
	request.Sockets = t.sockets
	// The kernel finds a connection by the addresses of either direction.
	request.AddData(tuple.attribute(nl.CTA_TUPLE_ORIG))
	request.AddData(nl.NewRtAttr(nl.CTA_ZONE, nl.BEUint16Attr(zone)))
	return request
}

// Get returns the connection that packets with these addresses belong to, as either direction has them, or nil if there is none.
func (t *Table) Get(zone uint16, tuple Tuple) (*Connection, error) {
	answers, err := t.request(nl.IPCTNL_MSG_CT_GET, zone, tuple).Execute(unix.NETLINK_NETFILTER, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil, nil
	}
	if err == nil && len(answers) == 0 {
		err = errors.New("the kernel has not answered")
	}
	var c *Connection
	if err == nil {
		c, err = parse(answers[0], map[uint16]bool{zone: true})
	}
	if err != nil {
		return nil, fmt.Errorf("look up connection %+v in zone %d: %w", tuple, zone, err)
	}
	return c, nil
}

// Change lists the changes to a connection; the zero Change changes nothing.
type Change struct {
	// Timeout is the rest of the entry's life, in whole seconds; 0 leaves it as it is.
	Timeout time.Duration
	// Set and Clear are flags of the original and of the reply direction.
	Set, Clear [2]Flags
}

// Change changes the connection that Get finds, and reports whether there is one.
func (t *Table) Change(zone uint16, tuple Tuple, change Change) (found bool, err error) {
	request := t.request(nl.IPCTNL_MSG_CT_NEW, zone, tuple)
	if change.Timeout > 0 {
		request.AddData(nl.NewRtAttr(nl.CTA_TIMEOUT, nl.BEUint32Attr(uint32(change.Timeout/time.Second))))
	}
	tcp := nested(protoInfoTCP)
	for direction, attribute := range []int{protoInfoFlagsOriginal, protoInfoFlagsReply} {
		// struct nf_ct_tcp_flags: the flags and a mask of those that count.
		set, clear := change.Set[direction], change.Clear[direction]
		if set|clear != 0 {
			tcp.AddRtAttr(attribute, []byte{uint8(set), uint8(set | clear)})
		}
	}
	if change.Set != [2]Flags{} || change.Clear != [2]Flags{} {
		request.AddData(nested(nl.CTA_PROTOINFO, tcp))
	}
	_, err = request.Execute(unix.NETLINK_NETFILTER, 0)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("change connection %+v of zone %d: %w", tuple, zone, err)
	}
	return true, nil
}
