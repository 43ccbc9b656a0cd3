// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
)

// Fake is a BridgeClient in memory for tests of other packages. It behaves like one with a vswitchd that answers at once.
// Its fields may be changed before use. Bridge and ports are lost with it.
type Fake struct {
	// OVSVersion and DatapathCapabilities are the results of Version and Capabilities.
	OVSVersion           string
	DatapathCapabilities map[string]string
	// PortErrors maps port names to the reason why vswitchd cannot add them: their ofport is -1.
	PortErrors map[string]string
	// Mirrored is the result of MirroredPorts.
	Mirrored []string

	mu          sync.Mutex
	name        string
	created     bool
	externalIDs map[string]string
	otherConfig map[string]string
	tables      map[uint8]string
	ports       map[string]*Port
	mtus        map[string]int
	requests    map[string]uint32
	nextOFPort  uint32
	nextUUID    int
}

var _ BridgeClient = &Fake{}

// NewFake returns a client of a bridge that does not exist yet.
func NewFake(bridgeName string) *Fake {
	f := &Fake{
		OVSVersion: "3.1.0",
		DatapathCapabilities: map[string]string{
			"ct_state": "true", "ct_zone": "true", "ct_mark": "true", "ct_label": "true", "ct_state_nat": "true",
		},
		name: bridgeName, otherConfig: map[string]string{},
	}
	f.reset()
	return f
}

func (f *Fake) reset() {
	f.created, f.externalIDs, f.tables = false, map[string]string{}, map[uint8]string{}
	f.ports, f.mtus, f.requests, f.nextOFPort = map[string]*Port{}, map[string]int{}, map[string]uint32{}, 1
}

// InterfaceMTU returns the last argument of SetInterfaceMTU; 0 for none.
func (f *Fake) InterfaceMTU(name string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.mtus[name]
}

func (f *Fake) Create(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.created = true
	return ctx.Err()
}

func (f *Fake) Delete() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reset()
	return nil
}

func (f *Fake) GetExternalIDs() (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.externalIDs), f.checkBridge()
}

func (f *Fake) SetExternalID(key, value string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.checkBridge(); err != nil {
		return err
	}
	f.externalIDs[key] = value
	return nil
}

func (f *Fake) DeleteExternalID(key string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.checkBridge(); err != nil {
		return err
	}
	delete(f.externalIDs, key)
	return nil
}

func (f *Fake) checkBridge() error {
	if !f.created {
		return fmt.Errorf("bridge %q does not exist in OVSDB", f.name)
	}
	return nil
}

func (f *Fake) GetOVSOtherConfig() (map[string]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.otherConfig), nil
}

func (f *Fake) SetOVSOtherConfig(kv map[string]string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.Copy(f.otherConfig, kv)
	return nil
}

func (f *Fake) DeleteOVSOtherConfig(keys ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		delete(f.otherConfig, key)
	}
	return nil
}

func (f *Fake) CreatePort(name string, externalIDs map[string]string) (string, error) {
	return f.createPort(Port{Name: name, ExternalIDs: externalIDs})
}

func (f *Fake) CreateInternalPort(name string, ofPortRequest uint32, mac net.HardwareAddr, externalIDs map[string]string) (string, error) {
	return f.createPort(Port{Name: name, Type: "internal", OFPort: ofPortRequest, MAC: slices.Clone(mac), ExternalIDs: externalIDs})
}

func (f *Fake) CreateTunnelPort(name, tunnelType string, ofPortRequest uint32, options map[string]string, externalIDs map[string]string) (string, error) {
	return f.createPort(Port{Name: name, Type: tunnelType, OFPort: ofPortRequest, Options: maps.Clone(options), ExternalIDs: externalIDs})
}

func (f *Fake) createPort(p Port) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.checkBridge(); err != nil {
		return "", err
	}
	if err := checkPortName(p.Name); err != nil {
		return "", err
	}
	if old, ok := f.ports[p.Name]; ok {
		return "", fmt.Errorf("create port %q on bridge %q: a port of that name exists already (%s)", p.Name, f.name, old.UUID)
	}
	if p.OFPort == 0 {
		p.OFPort = f.nextOFPort
		f.nextOFPort++
	}
	if _, fails := f.PortErrors[p.Name]; fails {
		p.OFPort = 0
	}
	f.nextUUID++
	p.UUID = fmt.Sprintf("00000000-0000-0000-0000-%012d", f.nextUUID)
	p.ExternalIDs = maps.Clone(p.ExternalIDs)
	f.ports[p.Name] = &p
	return p.UUID, nil
}

func (f *Fake) DeletePort(name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.ports, name)
	delete(f.requests, name)
	return nil
}

func (f *Fake) GetOFPort(_ context.Context, name string) (uint32, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.ports[name]
	if !ok {
		return 0, errNoPort(name, f.name)
	}
	if reason, fails := f.PortErrors[name]; fails {
		return 0, fmt.Errorf("get the OpenFlow port of %q: ovs-vswitchd could not add it: %s", name, reason)
	}
	return p.OFPort, nil
}

func (f *Fake) GetPort(name string) (*Port, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.ports[name]
	if !ok {
		return nil, false, f.checkBridge()
	}
	c := copyPort(p)
	return &c, true, nil
}

func (f *Fake) ListPorts() ([]Port, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []Port
	for _, p := range f.ports {
		all = append(all, copyPort(p))
	}
	slices.SortFunc(all, func(a, b Port) int { return cmp.Compare(a.Name, b.Name) })
	return all, f.checkBridge()
}

func copyPort(p *Port) Port {
	c := *p
	c.MAC, c.Options, c.ExternalIDs = slices.Clone(p.MAC), maps.Clone(p.Options), maps.Clone(p.ExternalIDs)
	return c
}

func (f *Fake) MirroredPorts() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.Mirrored), f.checkBridge()
}

func (f *Fake) updatePort(name string, change func(*Port)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	p, ok := f.ports[name]
	if !ok {
		return errNoPort(name, f.name)
	}
	change(p)
	return nil
}

func (f *Fake) SetPortExternalIDs(name string, externalIDs map[string]string) error {
	return f.updatePort(name, func(p *Port) { p.ExternalIDs = maps.Clone(externalIDs) })
}

func (f *Fake) RequestOFPort(name string, ofPort uint32) error {
	return f.updatePort(name, func(*Port) { f.requests[name] = ofPort })
}

// OFPortRequest returns the last argument of RequestOFPort; 0 for none.
func (f *Fake) OFPortRequest(name string) uint32 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[name]
}

func (f *Fake) SetInterfaceMTU(name string, mtu int) error {
	return f.updatePort(name, func(p *Port) { f.mtus[name] = mtu })
}

func (f *Fake) SetInterfaceMAC(name string, mac net.HardwareAddr) error {
	return f.updatePort(name, func(p *Port) { p.MAC = slices.Clone(mac) })
}

func (f *Fake) SetInterfaceOptions(name string, options map[string]string) error {
	return f.updatePort(name, func(p *Port) { p.Options = maps.Clone(options) })
}

func (f *Fake) TableNames() (map[uint8]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.tables), f.checkBridge()
}

func (f *Fake) SetTableNames(names map[uint8]string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tables = maps.Clone(names)
	return f.checkBridge()
}

func (f *Fake) Version() (string, error) { return f.OVSVersion, nil }

func (f *Fake) Capabilities() (map[string]string, error) {
	return maps.Clone(f.DatapathCapabilities), nil
}

func (f *Fake) Close() {}
