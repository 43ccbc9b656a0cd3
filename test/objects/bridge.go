// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"context"
	"strconv"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/ovs/ovsconfig"
)

// bridge is OVSDB in memory. The OpenFlow port of a Pod is the last number of its container's ID, regardless of the order
// in which Pods are connected, so that flows of two worlds can be compared.
type bridge struct{ *ovsconfig.Fake }

func ofPort(port *ovsconfig.Port) uint32 {
	id := port.ExternalIDs["container-id"]
	number, err := strconv.ParseUint(id[strings.LastIndexByte(id, '-')+1:], 10, 16)
	if err != nil {
		return port.OFPort
	}
	return uint32(number)
}

// GetOFPort implements cniserver.PodPorts.
func (b bridge) GetOFPort(ctx context.Context, name string) (uint32, error) {
	if port, ok, err := b.GetPort(name); err == nil && ok {
		return port.OFPort, nil
	}
	return b.Fake.GetOFPort(ctx, name)
}

// GetPort implements cniserver.PodPorts.
func (b bridge) GetPort(name string) (*ovsconfig.Port, bool, error) {
	port, ok, err := b.Fake.GetPort(name)
	if ok {
		port.OFPort = ofPort(port)
	}
	return port, ok, err
}

// ListPorts implements ovsconfig.BridgeClient.
func (b bridge) ListPorts() ([]ovsconfig.Port, error) {
	ports, err := b.Fake.ListPorts()
	for i := range ports {
		ports[i].OFPort = ofPort(&ports[i])
	}
	return ports, err
}
