// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package conntrack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Entry describes a TCP connection that conntrack has not seen, without translation of addresses.
type Entry struct {
	Zone uint16
	// Original is the direction of the opener.
	Original Tuple
	// State is StateEstablished or later: the entry counts as answered and assured.
	State State
	// Timeout is the life of the entry if no packet comes, in whole seconds, at least one.
	Timeout time.Duration
	Mark    uint32
	// Labels are the low and the high 64 bits of the label. The kernel drops a label silently in a network namespace in which
	// no rule or datapath uses labels (nf_ct_labels_ext_add); Open vSwitch's does.
	Labels [2]uint64
	// Flags are flags of the original and of the reply direction.
	Flags [2]Flags
}

// Create makes the entry. The error is fs.ErrExist if packets of either direction belong to another one.
func (t *Table) Create(e Entry) error {
	request := t.requestWith(nl.IPCTNL_MSG_CT_NEW, unix.NLM_F_CREATE|unix.NLM_F_EXCL, e.Zone, e.Original)
	label := make([]byte, 16)
	binary.NativeEndian.PutUint64(label, e.Labels[0])
	binary.NativeEndian.PutUint64(label[8:], e.Labels[1])
	for _, a := range []*nl.RtAttr{
		e.Original.Reversed().attribute(nl.CTA_TUPLE_REPLY),
		nl.NewRtAttr(nl.CTA_STATUS, nl.BEUint32Attr(statusSeenReply|statusAssured|statusConfirmed)),
		nl.NewRtAttr(nl.CTA_TIMEOUT, nl.BEUint32Attr(uint32(e.Timeout/time.Second))),
		nl.NewRtAttr(nl.CTA_MARK, nl.BEUint32Attr(e.Mark)),
		nl.NewRtAttr(nl.CTA_LABELS, label),
		// struct nf_ct_tcp_flags: the flags and a mask of those that count.
		nested(nl.CTA_PROTOINFO, nested(protoInfoTCP,
			nl.NewRtAttr(protoInfoState, []byte{uint8(e.State)}),
			nl.NewRtAttr(protoInfoFlagsOriginal, []byte{uint8(e.Flags[0]), 0xff}),
			nl.NewRtAttr(protoInfoFlagsReply, []byte{uint8(e.Flags[1]), 0xff}))),
	} {
		request.AddData(a)
	}
	if _, err := request.Execute(unix.NETLINK_NETFILTER, 0); err != nil {
		return fmt.Errorf("enter connection %+v into zone %d of conntrack: %w", e.Original, e.Zone, err)
	}
	return nil
}

// Remove deletes the entry that packets with these addresses belong to, as either direction has them, and reports whether there was one.
func (t *Table) Remove(zone uint16, tuple Tuple) (found bool, err error) {
	_, err = t.request(nl.IPCTNL_MSG_CT_DELETE, zone, tuple).Execute(unix.NETLINK_NETFILTER, 0)
	if errors.Is(err, unix.ENOENT) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("remove connection %+v from zone %d of conntrack: %w", tuple, zone, err)
	}
	return true, nil
}
