// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

func tcpInfo(conn *net.TCPConn) (info *unix.TCPInfo, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	controlErr := raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	if controlErr != nil {
		err = controlErr
	}
	if err != nil {
		return nil, fmt.Errorf("reading the state of a connection: %w", err)
	}
	return info, nil
}

// lostSegments returns about how many segments with data were sent again because the first one was lost. A segment that was only slow is one of
// them until the other end has said that it came twice (DSACK). After a long standstill some of those that were slow remain.
func lostSegments(conn *net.TCPConn) (int, error) {
	info, err := tcpInfo(conn)
	if err != nil {
		return 0, err
	}
	return lostOf(info), nil
}

func lostOf(info *unix.TCPInfo) int { return max(0, int(info.Total_retrans)-int(info.Dsack_dups)) }

// deliveredSegments returns how many segments with data have been acknowledged, of how many different ones.
func deliveredSegments(info *unix.TCPInfo) (delivered, sent int) {
	const syn = 1
	return int(info.Delivered) - syn, int(info.Data_segs_out) - int(info.Total_retrans)
}
