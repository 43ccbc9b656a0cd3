// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package freeport finds TCP ports for programs that cannot choose one themselves.
package freeport

import (
	"fmt"
	"net"
)

// Loopback returns n different ports of 127.0.0.1 that were free a moment ago. Another process may take one before it is
// used; the program that gets the port must report that.
func Loopback(n int) ([]int, error) {
	ports := make([]int, n)
	for i := range ports {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		defer l.Close() // only at the end, so that no port is returned twice
		ports[i] = l.Addr().(*net.TCPAddr).Port
	}
	return ports, nil
}
