// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/conntrack"
	"github.com/antrea-oncache/antrea/pkg/agent/route"
)

// hostZone is the zone of the host's own connections.
const hostZone uint16 = 0

// endConnections forgets the connections that rules have led to Pods: the kernel translates their packets without a rule, whoever has the
// address of the Pod.
func endConnections(gone map[route.PodPort]bool) error {
	var errs []error
	err := conntrack.List([]uint16{hostZone}, func(c *conntrack.Connection) bool {
		if _, dialed, server := c.Ends(); dialed != server && gone[route.PodPort{Protocol: protocolName(c.Original.Protocol), NodePort: dialed.Port(), Pod: server}] {
			errs = append(errs, c.Delete())
		}
		return true
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.EOPNOTSUPP) || errors.Is(err, unix.EPROTONOSUPPORT) {
		return nil // the kernel has no ctnetlink
	}
	if err = errors.Join(append(errs, err)...); err != nil {
		return fmt.Errorf("end connections to Pods through ports of the Node: %w", err)
	}
	return nil
}

func protocolName(number uint8) string {
	switch number {
	case unix.IPPROTO_TCP:
		return "tcp"
	case unix.IPPROTO_UDP:
		return "udp"
	}
	return ""
}
