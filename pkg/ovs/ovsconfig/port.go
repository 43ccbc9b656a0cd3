// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/ovn-kubernetes/libovsdb/model"
	"github.com/ovn-kubernetes/libovsdb/ovsdb"
	"k8s.io/klog/v2"
)

// maxPortName is the length of a Linux device name without its final zero byte (IFNAMSIZ - 1).
const maxPortName = 15

// maxOFPort bounds the 16-bit numbers that OVS gives to ports, including the bridge itself (OFPP_LOCAL, 65534).
const maxOFPort = 0xffff

func (b *bridgeClient) CreatePort(name string, externalIDs map[string]string) (string, error) {
	return b.createPort(&interfaceRow{Name: name}, externalIDs)
}

func (b *bridgeClient) CreateInternalPort(name string, ofPortRequest uint32, mac net.HardwareAddr, externalIDs map[string]string) (string, error) {
	iface := &interfaceRow{Name: name, Type: "internal", OFPortRequest: optionalPort(ofPortRequest)}
	if len(mac) > 0 {
		s := mac.String()
		iface.MAC = &s
	}
	return b.createPort(iface, externalIDs)
}

func (b *bridgeClient) CreateTunnelPort(name, tunnelType string, ofPortRequest uint32, options map[string]string, externalIDs map[string]string) (string, error) {
	return b.createPort(&interfaceRow{
		Name: name, Type: tunnelType, OFPortRequest: optionalPort(ofPortRequest), Options: options,
	}, externalIDs)
}

func optionalPort(n uint32) *int {
	if n == 0 {
		return nil
	}
	v := int(n)
	return &v
}

func (b *bridgeClient) createPort(iface *interfaceRow, externalIDs map[string]string) (string, error) {
	var uuid string
	name := iface.Name
	err := b.do(fmt.Sprintf("create port %q (type %q) on bridge %q", name, iface.Type, b.name), func(s *session) error {
		if err := checkPortName(name); err != nil {
			return err
		}
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		exists := &portRow{Name: name}
		if found, err := s.get(exists); err != nil || found {
			if found {
				err = fmt.Errorf("a port of that name exists already (%s)", exists.UUID)
			}
			return err
		}
		iface.UUID = "newinterface"
		ops, err := s.Create(iface, &portRow{
			UUID: "newport", Name: name, Interfaces: []string{"newinterface"}, ExternalIDs: externalIDs,
		})
		if err != nil {
			return err
		}
		link, err := s.Where(br).Mutate(br,
			model.Mutation{Field: &br.Ports, Mutator: ovsdb.MutateOperationInsert, Value: []string{"newport"}})
		if err != nil {
			return err
		}
		results, err := s.transact(append(ops, link...)...)
		if err == nil {
			uuid = results[1].UUID.GoUUID
		}
		return nameTaken(err)
	})
	return uuid, err
}

// nameTaken names the reason why ovsdb-server refuses a new port or interface whose name another client has just taken: this client's copy may
// not contain that port yet. Tables Port and Interface have only one index, their names (ovs-vswitchd.conf.db(5)).
func nameTaken(err error) error {
	var violation *ovsdb.ConstraintViolation
	if errors.As(err, &violation) && strings.Contains(err.Error(), "for index on column \"name\"") {
		return fmt.Errorf("a port of that name exists already: %w", err)
	}
	return err
}

func checkPortName(name string) error {
	if len(name) == 0 || len(name) > maxPortName {
		return fmt.Errorf("port name %q has %d bytes, want 1 to %d", name, len(name), maxPortName)
	}
	return nil
}

func (b *bridgeClient) DeletePort(name string) error {
	return b.do(fmt.Sprintf("delete port %q of bridge %q", name, b.name), func(s *session) error {
		br, found, err := s.bridge(b.name)
		if err != nil || !found {
			return err
		}
		port, found, err := s.portOf(br, name)
		if err != nil || !found {
			return err
		}
		ops, err := s.Where(br).Mutate(br,
			model.Mutation{Field: &br.Ports, Mutator: ovsdb.MutateOperationDelete, Value: []string{port.UUID}})
		if err != nil {
			return err
		}
		_, err = s.transact(ops...)
		return err
	})
}

func (b *bridgeClient) GetOFPort(ctx context.Context, name string) (uint32, error) {
	var ofPort uint32
	operation := fmt.Sprintf("get the OpenFlow port that ovs-vswitchd gave %q on bridge %q", name, b.name)
	err := b.wait(ctx, operation, func(s *session) (bool, error) {
		br, err := s.mustBridge(b.name)
		if err != nil {
			return false, err
		}
		_, iface, found, err := s.port(br, name)
		if err != nil {
			return false, err
		}
		if !found {
			return false, errNoPort(name, b.name)
		}
		if iface.OFPort == nil {
			return false, nil
		}
		if *iface.OFPort < 0 {
			return false, fmt.Errorf("ovs-vswitchd could not add it: %s", describeError(iface.Error))
		}
		ofPort, err = checkOFPort(iface)
		return true, err
	})
	return ofPort, err
}

// checkOFPort returns the OpenFlow port of the interface, which vswitchd must have assigned.
func checkOFPort(iface *interfaceRow) (uint32, error) {
	if *iface.OFPort < 1 || *iface.OFPort > maxOFPort {
		return 0, fmt.Errorf("column ofport of interface %q is %d: want 1 to %d", iface.Name, *iface.OFPort, maxOFPort)
	}
	return uint32(*iface.OFPort), nil
}

func errNoPort(name, bridge string) error {
	return fmt.Errorf("port %q does not exist on bridge %q", name, bridge)
}

func describeError(column *string) string {
	if column == nil || *column == "" {
		return "no reason given (see the log of ovs-vswitchd)"
	}
	return *column
}

func (b *bridgeClient) GetPort(name string) (*Port, bool, error) {
	var result *Port
	err := b.do(fmt.Sprintf("read port %q of bridge %q", name, b.name), func(s *session) error {
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		port, iface, found, err := s.port(br, name)
		if err == nil && found {
			result, err = newPort(port, iface)
		}
		return err
	})
	return result, result != nil, err
}

func (b *bridgeClient) ListPorts() ([]Port, error) {
	var result []Port
	err := b.do(fmt.Sprintf("list the ports of bridge %q", b.name), func(s *session) error {
		result = nil
		br, err := s.mustBridge(b.name)
		if err != nil {
			return err
		}
		for _, uuid := range br.Ports {
			port := &portRow{UUID: uuid}
			if err := s.follow(port, "port "+uuid); err != nil {
				return err
			}
			p, err := s.readPort(port)
			if errors.Is(err, errIncomplete) {
				return err
			}
			if b.foreign.note(uuid, err) {
				continue
			}
			result = append(result, *p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(result, func(a, b Port) int { return cmp.Compare(a.Name, b.Name) })
	return result, nil
}

func (s *session) readPort(port *portRow) (*Port, error) {
	iface, err := s.interfaceOf(port)
	if err != nil {
		return nil, err
	}
	return newPort(port, iface)
}

// newPort leaves out the MAC address if the column does not contain an interface's.
func newPort(port *portRow, iface *interfaceRow) (*Port, error) {
	p := &Port{
		UUID: port.UUID, Name: port.Name, Type: iface.Type,
		Options: maps.Clone(iface.Options), ExternalIDs: maps.Clone(port.ExternalIDs),
	}
	if port.Name == "" || iface.Name == "" {
		return nil, fmt.Errorf("port %s and its interface %s have the names %q and %q: want a name in both tables", port.UUID, iface.UUID, port.Name, iface.Name)
	}
	if iface.OFPort != nil && *iface.OFPort > 0 {
		ofPort, err := checkOFPort(iface)
		if err != nil {
			return nil, err
		}
		p.OFPort = ofPort
	}
	if iface.MAC != nil {
		if mac, err := net.ParseMAC(*iface.MAC); err == nil && isUnicast(mac) {
			p.MAC = mac
		}
	}
	return p, nil
}

// isUnicast reports whether an Ethernet interface can have the address (IEEE 802, section 8).
func isUnicast(mac net.HardwareAddr) bool {
	return len(mac) == 6 && mac[0]&0x01 == 0 && slices.Max(mac) != 0
}

// foreignPorts remembers which ports of others could not be read, so that each is logged once.
type foreignPorts struct {
	mu     sync.Mutex
	logged map[string]string
}

// note reports whether a port must be left out because of the error.
func (f *foreignPorts) note(uuid string, err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		delete(f.logged, uuid)
		return false
	}
	if f.logged == nil || len(f.logged) >= maxOFPort {
		f.logged = map[string]string{}
	}
	if f.logged[uuid] != err.Error() {
		f.logged[uuid] = err.Error()
		klog.ErrorS(err, "Leaving out a port of the bridge that the agent has not made so")
	}
	return true
}
