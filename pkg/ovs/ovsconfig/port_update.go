// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"fmt"
	"net"

	"github.com/ovn-kubernetes/libovsdb/model"
)

// SetPortExternalIDs replaces all external_ids of the port.
func (b *bridgeClient) SetPortExternalIDs(name string, externalIDs map[string]string) error {
	return b.updatePort(name, "external_ids", externalIDs, func(port *portRow, _ *interfaceRow) (model.Model, any) {
		port.ExternalIDs = externalIDs
		return port, &port.ExternalIDs
	})
}

func (b *bridgeClient) RequestOFPort(name string, ofPort uint32) error {
	request := int(ofPort)
	return b.updatePort(name, "ofport_request", request, func(_ *portRow, iface *interfaceRow) (model.Model, any) {
		if iface.OFPortRequest != nil && *iface.OFPortRequest == request {
			return nil, nil // an agent asks for all Pods when it starts
		}
		iface.OFPortRequest = &request
		return iface, &iface.OFPortRequest
	})
}

func (b *bridgeClient) SetInterfaceMTU(name string, mtu int) error {
	return b.updatePort(name, "mtu_request", mtu, func(_ *portRow, iface *interfaceRow) (model.Model, any) {
		if iface.MTURequest != nil && *iface.MTURequest == mtu {
			return nil, nil // the agent asks again and again
		}
		iface.MTURequest = &mtu
		return iface, &iface.MTURequest
	})
}

func (b *bridgeClient) SetInterfaceMAC(name string, mac net.HardwareAddr) error {
	return b.updatePort(name, "mac", mac, func(_ *portRow, iface *interfaceRow) (model.Model, any) {
		s := mac.String()
		iface.MAC = &s
		return iface, &iface.MAC
	})
}

// SetInterfaceOptions replaces all options of the interface.
func (b *bridgeClient) SetInterfaceOptions(name string, options map[string]string) error {
	return b.updatePort(name, "options", options, func(_ *portRow, iface *interfaceRow) (model.Model, any) {
		iface.Options = options
		return iface, &iface.Options
	})
}

// updatePort writes one column; change sets it in one of the rows and returns that row and the column's address, or nil
// if the column has the value.
func (b *bridgeClient) updatePort(name, column string, value any, change func(*portRow, *interfaceRow) (model.Model, any)) error {
	return b.do(fmt.Sprintf("set %s=%v on port %q of bridge %q", column, value, name, b.name), func(s *session) error {
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		port, iface, found, err := s.port(br, name)
		if err != nil {
			return err
		}
		if !found {
			return errNoPort(name, b.name)
		}
		row, field := change(port, iface)
		if row == nil {
			return nil
		}
		ops, err := s.Where(row).Update(row, field)
		if err != nil {
			return err
		}
		_, err = s.transact(ops...)
		return err
	})
}
