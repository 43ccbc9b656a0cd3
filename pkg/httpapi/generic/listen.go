// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// Listen listens on a TCP port of all addresses of both IP versions, or of IPv4 alone where the kernel has no IPv6.
func Listen(port int) (net.Listener, error) { return listen(net.Listen, port) }

func listen(on func(network, address string) (net.Listener, error), port int) (net.Listener, error) {
	address := net.JoinHostPort("", strconv.Itoa(port))
	listener, err := on("tcp", address)
	if errors.Is(err, unix.EAFNOSUPPORT) || errors.Is(err, unix.EADDRNOTAVAIL) {
		listener, err = on("tcp4", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listening on apiPort: %w", err)
	}
	return listener, nil
}
