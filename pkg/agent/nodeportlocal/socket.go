// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// holdPort takes a port of all addresses of the Node, of one IP version. Rules lead connections to it to a Pod, before it gets them.
func holdPort(p nodePort) (io.Closer, error) {
	suffix, any := "4", "0.0.0.0"
	if p.family == familyIPv6 {
		suffix, any = "6", "::"
	}
	address := net.JoinHostPort(any, strconv.Itoa(int(p.number)))
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) (err error) {
		// Packets that arrive while there is no rule must not cost memory.
		if controlErr := raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVBUF, 1) }); controlErr != nil {
			return controlErr
		}
		return err
	}}
	switch p.protocol {
	case "tcp":
		return config.Listen(context.Background(), p.protocol+suffix, address)
	case "udp":
		return config.ListenPacket(context.Background(), p.protocol+suffix, address)
	}
	return nil, fmt.Errorf("protocol %q, want tcp or udp", p.protocol)
}
