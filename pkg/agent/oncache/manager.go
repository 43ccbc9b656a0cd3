// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/tracking"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// DefaultPinPath is the directory of all pins.
const DefaultPinPath = "/sys/fs/bpf/antrea/oncache"

// retryInterval is how long the manager waits after Open vSwitch could not take mark flows, or an epoch is not free.
const retryInterval = time.Second

// Config is all that is fixed when the cache starts.
type Config struct {
	PinPath string
	// MaxFlows is the capacity of the cache per direction and address family that Pods use.
	MaxFlows uint32
	// IPv6 says that Pods have IPv6 addresses.
	IPv6  bool
	Lease time.Duration
	// Mode is what the cache does from the start; SetMode changes it.
	Mode datapath.Mode
	Hook datapath.Hook
	// Uplink is the name of the transport interface.
	Uplink string
	// UplinkIPv4 and UplinkIPv6 are this Node's transport addresses, the zero Addr for none of the family.
	UplinkIPv4, UplinkIPv6 netip.Addr
	// TunnelType is "geneve" or "vxlan"; TunnelPort its UDP destination port.
	TunnelType string
	TunnelPort uint16
	TunnelCsum bool
	// Mirrored returns a function that says which interfaces' packets a mirror of Open vSwitch copies; nil for none.
	Mirrored func() (func(interfaceName string) bool, error)
	// ConntrackZoneIPv4 and ConntrackZoneIPv6 are the zones that Open vSwitch tracks Pods' connections in.
	ConntrackZoneIPv4, ConntrackZoneIPv6 uint16
	// GatewayMAC is where Pods send to; VirtualMAC the inner destination MAC of everything in the tunnel.
	GatewayMAC, VirtualMAC net.HardwareAddr
}

// Manager is the cache of one Node. A Manager whose Start failed is valid: it answers queries with the reason.
type Manager struct {
	config Config
	store  InterfaceStore
	flows  FlowClient
	state  StateStore

	dp       *datapath.Datapath
	balancer *datapath.Balancer
	table    *table
	// tracking keeps conntrack up to date.
	tracking *tracking.Runner
	wake     chan struct{}
	// nodesChanged tells the uplink's watcher that there may be other Nodes.
	nodesChanged chan struct{}
	// unavailable is why the cache is not in use; nil when it is.
	unavailable error

	// uplinkEvictions counts the evictions of everything that the uplink has caused.
	uplinkEvictions atomic.Uint64

	podsMu sync.Mutex           // taken before the table's lock
	pods   map[string]*localPod // by interface name

	mu     sync.Mutex
	uplink datapath.Uplink
	mode   datapath.Mode // wanted
	// suspended is why the uplink cannot carry the fast path at the moment; nil when it can.
	suspended error
}

// New makes a Manager that does nothing yet.
func New(config Config, store InterfaceStore, flows FlowClient, state StateStore) *Manager {
	return &Manager{config: config, store: store, flows: flows, state: state, wake: make(chan struct{}, 1),
		nodesChanged: make(chan struct{}, 1), pods: map[string]*localPod{}}
}

// Start loads or adopts the datapath, attaches it, takes over coherency of the OpenFlow client and announces the present
// Pods. It is called once, after the base flows are installed and before controllers run. When the kernel or a device
// cannot carry the fast path it removes whatever it had begun, logs why, and the Node runs on Open vSwitch alone.
func (m *Manager) Start() {
	if err := m.start(); err != nil {
		m.unavailable = err
		klog.ErrorS(err, "ONCache is not available on this Node: all traffic takes the slow path (Open vSwitch)")
		m.abandon()
		return
	}
	klog.InfoS("ONCache started", "hook", m.dp.Hook(), "uplink", m.config.Uplink, "tunnel", m.config.TunnelType,
		"lease", m.config.Lease, "maxFlows", m.config.MaxFlows, "adopted", m.dp.Adopted)
}

func (m *Manager) start() error {
	if m.config.TunnelCsum {
		return errors.New("tunnelCsum is true: the fast path sends and accepts tunnel packets without an outer UDP checksum only")
	}
	uplink, err := readUplink(m.config)
	if err != nil {
		return err
	}
	opts := datapath.Options{PinPath: m.config.PinPath, MaxFlows: m.config.MaxFlows, Hook: m.config.Hook}
	if m.config.IPv6 {
		opts.MaxFlows6 = m.config.MaxFlows
	}
	if m.dp, err = datapath.Load(opts); err != nil {
		return err
	}
	if m.balancer, err = datapath.NewBalancer(m.dp); err != nil {
		return err
	}
	if err := setLiberal(m.state, liberalSysctl); err != nil {
		return err
	}
	// What an earlier agent knew may have changed while none was there. Everything is announced again below.
	former := m.dp.FormerEpochs()
	if err := m.dp.Reset(); err != nil {
		return err
	}
	m.dp.SetUplink(uplink, uint64(m.config.Lease))
	if err := m.startTracking(); err != nil {
		return err
	}
	if err := m.dp.Attach(uplink.IfIndex, datapath.RoleUplink); err != nil {
		return err
	}
	m.uplink = uplink
	m.table = newTable(m.dp, time.Now, func() {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}, former, rand.Uint32N(datapath.MaxEpoch))
	wanted := map[int]bool{uplink.IfIndex: true}
	seen := m.readCaptures()
	for _, pod := range m.store.Pods() {
		if p := m.addPod(pod, seen); p.onOVS == "" {
			wanted[p.ifIndex] = true
		}
	}
	if err := m.detachExcept(wanted); err != nil {
		return err
	}
	if err := m.dp.Commit(); err != nil {
		return err
	}
	// Nothing can fail from here on.
	m.flows.SetInterceptor(m.table)
	m.store.Subscribe(m.podChanged)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mode = m.config.Mode
	m.suspended = m.uplinkPassedBy(uplink.IfIndex)
	m.applyMode()
	return nil
}

// detachExcept removes programs from interfaces that are not ours any more (Pods deleted while no agent ran, an uplink
// that is not used now).
func (m *Manager) detachExcept(wanted map[int]bool) error {
	attached, err := datapath.Attached(m.config.PinPath)
	if err != nil {
		return err
	}
	for _, i := range attached {
		if !wanted[i] {
			if err := m.dp.Detach(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// abandon removes what a failed start has begun, and what an earlier agent had running.
func (m *Manager) abandon() {
	if m.dp != nil {
		m.dp.SetMode(datapath.ModeOff)
	}
	if m.tracking != nil {
		m.tracking.Close()
	}
	if err := Cleanup(m.config.PinPath, m.state); err != nil {
		klog.ErrorS(err, "Could not remove all of ONCache")
	}
}

// Suspend stops the fast path of an earlier agent until Start: it is called before the base flows are installed anew.
func Suspend(pinPath string) error { return datapath.Suspend(pinPath) }

// Cleanup removes programs, maps and pins, and puts the sysctl's old value back; clsact qdiscs stay, because others may use
// them. It is what an agent with the
// gate off calls at start; with nothing there it does nothing.
func Cleanup(pinPath string, state StateStore) error {
	return errors.Join(datapath.RemoveAll(pinPath), restoreLiberal(state, liberalSysctl))
}

// Run writes mark flows and watches the uplink until stopCh closes. Programs stay attached and go on working then.
func (m *Manager) Run(stopCh <-chan struct{}) {
	if m.unavailable != nil {
		return
	}
	go m.watchUplink(stopCh)
	go m.watchPods(stopCh)
	go m.tracking.Run(stopCh)
	go m.watchShares(stopCh)
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		select {
		case <-stopCh:
			return
		case <-m.wake:
		case <-retry.C:
		}
		select {
		case m.nodesChanged <- struct{}{}:
		default:
		}
		again := true
		_ = recovery.Call(boundaryName, recovery.Part("ONCache marks"), func() error { again = m.writeMarks(); return nil })
		if again {
			retry.Reset(retryInterval)
		}
	}
}

// writeMarks installs the mark flows of all endpoints that need them and reports whether some still do.
func (m *Manager) writeMarks() (again bool) {
	marks, serials := m.table.pendingMarks()
	if len(marks) > 0 {
		if err := m.flows.InstallMarkFlows(marks); err != nil {
			klog.ErrorS(err, "Open vSwitch did not take ONCache mark flows, trying again", "endpoints", len(marks))
			return true
		}
		if gone := m.table.marksWritten(marks, serials); len(gone) > 0 {
			if err := m.flows.UninstallMarkFlows(gone); err != nil {
				klog.ErrorS(err, "Mark flows of removed Pods stay until Open vSwitch is set up anew; they have no effect", "interfaces", gone)
			}
		}
	}
	return m.table.unmarked() > 0
}

// SetMode changes what the cache does, live. Packets on their way are not touched: a hit more or less takes the other path.
func (m *Manager) SetMode(mode datapath.Mode) error {
	if m.unavailable != nil {
		return fmt.Errorf("ONCache is not available on this Node: %w", m.unavailable)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mode == datapath.ModeOff && mode != datapath.ModeOff {
		// Connections may have closed and others opened while nobody looked.
		m.dp.BumpUplink()
		m.uplinkEvictions.Add(1)
	}
	klog.InfoS("Changed the ONCache mode", "from", m.mode, "to", mode)
	m.mode = mode
	m.applyMode()
	return nil
}

// Mode is the wanted mode, whether or not the cache can work at the moment.
func (m *Manager) Mode() datapath.Mode {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.mode
}

// applyMode tells the programs; the caller holds mu.
func (m *Manager) applyMode() {
	if m.suspended == nil {
		m.dp.SetMode(m.mode)
	} else {
		m.dp.SetMode(datapath.ModeOff)
	}
}

// readUplink looks up the transport device and refuses those that the programs do not understand.
func readUplink(c Config) (datapath.Uplink, error) {
	u := datapath.Uplink{IPv4: c.UplinkIPv4, IPv6: c.UplinkIPv6, TunnelPort: c.TunnelPort, VirtualMAC: c.VirtualMAC}
	device, err := netlink.LinkByName(c.Uplink)
	if err != nil {
		return u, fmt.Errorf("transport interface %s: %w", c.Uplink, err)
	}
	attrs := device.Attrs()
	if attrs.EncapType != "ether" || len(attrs.HardwareAddr) != 6 {
		return u, fmt.Errorf("transport interface %s is of type %q; the fast path needs Ethernet", c.Uplink, attrs.EncapType)
	}
	u.IfIndex, u.MAC = attrs.Index, attrs.HardwareAddr
	switch c.TunnelType {
	case "geneve":
		// Version 0, no options, protocol Ethernet (RFC 8926), VNI 0. The kernel's device uses ports from 1.
		u.TunnelHeader = [8]byte{0, 0, 0x65, 0x58}
		u.PortMin, u.PortMax = 1, 65535
	case "vxlan":
		// Flag I, VNI 0 (RFC 7348). The kernel's device uses the local port range.
		u.TunnelHeader = [8]byte{0x08}
		if u.PortMin, u.PortMax, err = localPortRange(); err != nil {
			return u, err
		}
	default:
		return u, fmt.Errorf("tunnelType %q: the fast path knows geneve and vxlan", c.TunnelType)
	}
	return u, nil
}

// EvictConnection makes the cache forget the connection between two addresses. Its packets take Open vSwitch, and teach the
// cache only what that does with them.
func (m *Manager) EvictConnection(protocol uint8, a, b netip.AddrPort) error {
	if m.unavailable != nil {
		return nil
	}
	return m.dp.DeleteFlow(protocol, a, b)
}

// EachFlow calls yield for every entry of the cache until it returns false.
func (m *Manager) EachFlow(yield func(datapath.Flow) bool) error {
	if m.unavailable != nil {
		return nil
	}
	return m.dp.Flows(yield)
}
