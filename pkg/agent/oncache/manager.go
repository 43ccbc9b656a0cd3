// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/tracking"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/sysctl"
)

// DefaultPinPath is the directory of all pins.
const DefaultPinPath = "/sys/fs/bpf/antrea/oncache"

// ReasonUnavailable is the problem of a Node that has no fast path until its agent is restarted.
const ReasonUnavailable problem.Reason = "ONCacheUnavailable"

// PacketMark is the mask of the packet mark that the programs and the pipeline share: MARK_OURS of bpf/oncache/consts.h.
const PacketMark uint32 = 0x3fff3f00

// ReasonPacketMarkShared is the problem of foreign rules that change some of these bits.
const ReasonPacketMarkShared problem.Reason = "PacketMarkShared"

// ReasonSuspended is the problem of a Node whose transport interface cannot carry the fast path at the moment, or whose cache does not trust itself.
const ReasonSuspended problem.Reason = "ONCacheSuspended"

// ReasonNotRewriting is the problem of a Node to which the others cannot rewrite packets although oncache.tunnel demands it.
const ReasonNotRewriting problem.Reason = "ONCacheNotRewriting"

// errNotStarted is the reason before Start.
var errNotStarted = errors.New("the agent has not started ONCache yet")

// retryInterval is the wait after Open vSwitch has refused mark flows, or while no epoch is free.
const retryInterval = time.Second

// Config is fixed when the cache starts.
type Config struct {
	PinPath string
	// MaxFlows is the number of entries per direction and address family that Pods can use.
	MaxFlows uint32
	IPv6     bool
	Lease    time.Duration
	// Mode is the mode at start; SetMode changes it.
	Mode datapath.Mode
	Hook datapath.Hook
	// Uplink is the name of the transport interface.
	Uplink string
	// UplinkIPv4 and UplinkIPv6 are this Node's transport addresses; the zero Addr where it has none of the family.
	UplinkIPv4, UplinkIPv6 netip.Addr
	// TunnelType is "geneve" or "vxlan"; TunnelPort its UDP destination port.
	TunnelType string
	TunnelPort uint16
	TunnelCsum bool
	// Rewrite: hits are rewritten instead of encapsulated where the other Node understands keys. RewritePort is the destination port of
	// rewritten packets, of TCP and UDP.
	Rewrite     bool
	RewritePort uint16
	// Openings: the programs learn openings.
	Openings bool
	// Direct: the cache also has flows to Nodes that are reached without the tunnel. Open vSwitch must have their mark flows.
	Direct bool
	// TunnelDevice is the name of the kernel's device for the tunnel.
	TunnelDevice string
	// Mirrored returns a function that reports whether a mirror of Open vSwitch copies an interface's packets; nil for
	// none.
	Mirrored func() (func(interfaceName string) bool, error)
	// DatapathExists reports whether the kernel has Open vSwitch's datapath.
	DatapathExists func() (bool, error)
	// ConntrackZoneIPv4 and ConntrackZoneIPv6 are the zones in which Open vSwitch tracks Pods' connections.
	ConntrackZoneIPv4, ConntrackZoneIPv6 uint16
	// GatewayMAC is the destination MAC of packets that Pods send to other networks; VirtualMAC is the inner destination
	// MAC of all tunnel packets.
	GatewayMAC, VirtualMAC net.HardwareAddr
	Gateway                Gateway
}

// Manager is the cache of one Node. A Manager whose Start failed is valid: it answers queries with the reason.
type Manager struct {
	config  Config
	store   InterfaceStore
	flows   FlowClient
	sysctls *sysctl.Record

	dp       *datapath.Datapath
	balancer *datapath.Balancer
	ledger   *ledger
	// tracking keeps conntrack up to date.
	tracking *tracking.Runner
	wake     chan struct{}
	pods     *podAnnouncer
	uplink   *uplinkKeeper
	failures *failures
	// beforeTakeover is called while entries contain the final counts of the former agent's programs.
	beforeTakeover func()
	// started is closed when Start has ended.
	started   chan struct{}
	absence   *absence
	rewriters *rewriters
	retired   retiredFeed
	// mu protects unavailable, the reason why the cache is not in use; nil when it is. Before Start has ended, the fields above belong to
	// Start. Entries can be read once readable is set.
	mu          sync.Mutex
	unavailable error
	readable    bool
	// former gives access to the entries of an earlier agent, whose hits may continue until Start.
	former *datapath.Former
}

func New(config Config, store InterfaceStore, flows FlowClient, sysctls *sysctl.Record) *Manager {
	m := &Manager{
		config: config, store: store, flows: flows, sysctls: sysctls, wake: make(chan struct{}, 1), unavailable: errNotStarted,
		beforeTakeover: func() {}, started: make(chan struct{}), retired: retiredFeed{ended: make(chan struct{})}, former: datapath.NewFormer(config.options()),
	}
	m.pods, m.uplink = newPodAnnouncer(&m.config), newUplinkKeeper(&m.config)
	m.uplink.gatewayChanged = m.pods.gatewayChanged
	m.failures, m.rewriters = m.uplink.failures, newRewriters()
	m.absence = &absence{observer: noObserver{}, failures: m.failures}
	return m
}

// Prepare runs the slow, non-disruptive part of Start: the hits of an earlier agent may continue. Start retries whatever fails here.
func (m *Manager) Prepare() {
	if m.config.TunnelCsum {
		return
	}
	err := m.load()
	if err == nil {
		_, err = readUplink(&m.config)
	}
	if err != nil {
		klog.ErrorS(err, "Could not prepare ONCache, will try again when it starts")
	}
}

// Observe sets the observer of changes. Call it before Start.
func (m *Manager) Observe(o Observer) { m.uplink.mode.observer, m.absence.observer = o, o }

// Start loads or adopts the datapath, attaches it, takes over coherency of the OpenFlow client and announces the present Pods. Call it
// once, when Open vSwitch forwards by flows of this agent, and no hits of an earlier one are possible. Controllers may run: flow
// changes before Start can be ignored, because Start evicts everything, and the client announces the Nodes of existing flows. When the
// kernel or a device cannot carry the fast path, Start undoes its work and logs the reason, and the Node runs on Open vSwitch alone.
// When ctx ends while packets with keys of an earlier agent may arrive, it leaves that agent's programs in place, switched off: the
// next agent finds them as if this one had been killed.
func (m *Manager) Start(ctx context.Context) {
	defer close(m.started)
	err := m.start(ctx)
	if err != nil && ctx.Err() != nil {
		// Entries of the earlier agent may be there, for the next one.
		m.setUnavailable(fmt.Errorf("%w: %w", errNotStarted, err))
		klog.InfoS("Left the start of ONCache to the next agent", "reason", err)
		return
	}
	m.setUnavailable(err)
	if err != nil {
		klog.ErrorS(err, "ONCache is not available on this Node: all traffic takes the slow path")
		m.abandon(ctx)
		return
	}
	klog.InfoS("ONCache started", "hook", m.dp.Hook(), "uplink", m.config.Uplink, "tunnel", m.config.TunnelType,
		"lease", m.config.Lease, "maxFlows", m.config.MaxFlows, "adopted", m.dp.Adopted)
}

func (m *Manager) start(ctx context.Context) error {
	if m.config.TunnelCsum {
		return errors.New("tunnelCsum is true: the fast path sends and accepts tunnel packets without an outer UDP checksum only")
	}
	uplink, err := readUplink(&m.config)
	if err != nil {
		return err
	}
	if err := m.load(); err != nil {
		return err
	}
	if err := m.dp.LetFormerKeysEnd(ctx, m.config.RewritePort); err != nil {
		return err
	}
	if err := setLiberal(m.sysctls); err != nil {
		return err
	}
	if err := reservePort(m.sysctls, m.reservedPort()); err != nil {
		return err
	}
	m.setReadable()
	m.beforeTakeover()
	// The state that an earlier agent knew may have changed while none was running. Everything is announced again below.
	former := m.dp.FormerEpochs()
	if err := m.dp.Reset(); err != nil {
		return err
	}
	m.dp.SetUplink(uplink, uint64(m.config.Lease))
	m.absence.leases = m.dp
	if err := m.startTracking(); err != nil {
		return err
	}
	if err := m.uplink.begin(m.dp, uplink); err != nil {
		return err
	}
	m.ledger = newLedger(m.dp, time.Now, m.wakeMarks, former, rand.Uint32N(datapath.MaxEpoch))
	m.ledger.failures = m.failures
	m.ledger.rewrites, m.ledger.openings = m.rewriters.has, m.config.Openings
	m.ledger.direct, m.ledger.directNetworks = m.config.Direct, &m.uplink.direct
	m.rewriters.follow(m.ledger.setRewrites)
	m.store.Subscribe(m.pods.changed)
	// The gateway comes first, so that it has a slot however many Pods there are.
	wanted := m.pods.begin(m.dp, m.ledger, append(m.config.gateway(), m.store.Pods()...))
	if err := m.detachExcept(append(wanted, uplink.IfIndex, m.uplink.tunnel.ifIndex)); err != nil {
		return err
	}
	if err := m.dp.Commit(); err != nil {
		return err
	}
	// Nothing can fail from here on.
	m.flows.SetInterceptor(m.ledger)
	m.ledger.renewStamps()
	m.pods.follow()
	m.uplink.mode.begin(m.config.Mode, m.uplink.bypassed(uplink.IfIndex))
	return nil
}

// reservedPort is the port that belongs to the programs alone, 0 for none.
func (m *Manager) reservedPort() uint16 {
	if !m.config.Rewrite {
		return 0
	}
	return m.config.RewritePort
}

func (c *Config) options() datapath.Options {
	o := datapath.Options{PinPath: c.PinPath, MaxFlows: c.MaxFlows, Hook: c.Hook, Rewrite: c.Rewrite, Openings: c.Openings, Direct: c.Direct}
	if c.IPv6 {
		o.MaxFlows6 = c.MaxFlows
	}
	return o
}

// load loads or adopts the programs and their maps, once: in Prepare, or else in Start.
func (m *Manager) load() (err error) {
	if m.balancer != nil {
		return nil
	}
	if m.dp, err = datapath.Load(m.config.options()); err != nil {
		return err
	}
	m.balancer, err = datapath.NewBalancer(m.dp)
	return err
}

// Unavailable returns the reason why the cache is not in use on this Node; nil when it is. It does not change after Start.
func (m *Manager) Unavailable() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.unavailable
}

func (m *Manager) setUnavailable(reason error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.unavailable = reason
}

// detachExcept removes programs from interfaces that are no longer ours (Pods deleted while no agent ran, a former uplink).
func (m *Manager) detachExcept(wanted []int) error {
	attached, err := datapath.Attached(m.config.PinPath)
	if err != nil {
		return err
	}
	for _, i := range attached {
		if !slices.Contains(wanted, i) {
			if err := m.dp.Detach(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// abandon removes the work of a failed start, and the programs of an earlier agent.
func (m *Manager) abandon(ctx context.Context) {
	m.pods.abandon()
	if m.dp != nil {
		m.dp.SetMode(datapath.ModeOff)
	}
	if m.tracking != nil {
		m.tracking.Close()
	}
	if err := Cleanup(ctx, m.config.PinPath, m.sysctls); err != nil {
		klog.ErrorS(err, "Could not remove all of ONCache")
	}
}

// Suspend stops the programs of an earlier agent until Start.
func Suspend(pinPath string) error { return datapath.Suspend(pinPath) }

// StopHits stops the hits of an earlier agent's programs. They still stamp packets, so that these match the kernel flows that Open
// vSwitch has made for them.
func StopHits(pinPath string) error { return datapath.StopHits(pinPath) }

// Cleanup removes programs, maps and pins, and restores the former values of sysctls. It leaves clsact qdiscs in place,
// because others may use them. An agent with the gate off calls it at start; when there is nothing to remove it does
// nothing. When ctx ends while packets with keys may arrive, all stays, switched off.
func Cleanup(ctx context.Context, pinPath string, sysctls *sysctl.Record) error {
	_, err := datapath.LetKeysEnd(ctx, pinPath, "")
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return err
	}
	return errors.Join(err, datapath.RemoveAll(pinPath), sysctls.Restore(liberalSysctl), sysctls.Restore(reservedSysctl))
}

// Run writes mark flows and watches the uplink until stopCh closes. Programs stay attached and keep working after that.
func (m *Manager) Run(stopCh <-chan struct{}) {
	if m.Unavailable() != nil {
		return
	}
	go m.uplink.watch(stopCh)
	go m.pods.watch(stopCh)
	go m.tracking.Run(stopCh)
	go m.watchShares(stopCh)
	go m.watchOpenVSwitch(stopCh)
	go m.protect(stopCh)
	m.keepMarks(stopCh)
}

// SetMode changes the mode at once. Packets in flight are not affected: one hit more or less takes the other path.
func (m *Manager) SetMode(mode datapath.Mode) error {
	if reason := m.Unavailable(); reason != nil {
		return fmt.Errorf("%w: %w", ErrUnavailable, reason)
	}
	former := m.uplink.mode.want(mode)
	klog.InfoS("Changed the ONCache mode", "from", former, "to", mode)
	return nil
}

// Mode returns the wanted mode, whether or not the cache can work at the moment.
func (m *Manager) Mode() datapath.Mode {
	if errors.Is(m.Unavailable(), errNotStarted) {
		return m.config.Mode
	}
	wanted, _ := m.uplink.mode.state()
	return wanted
}

// EvictConnection makes the cache forget the connection that client has opened to the address dialed, and that leads to server, which
// differs from dialed for a Service. Its packets take the slow path, and the cache learns only from Open vSwitch's treatment of them.
// Before Start, this concerns the cache of an earlier agent whose hits continue. It never waits for Start or Prepare.
func (m *Manager) EvictConnection(protocol uint8, client, dialed, server netip.AddrPort) error {
	switch reason := m.Unavailable(); {
	case reason == nil:
		return m.dp.DeleteFlow(protocol, client, dialed, server)
	case errors.Is(reason, errNotStarted):
		return m.former.DeleteFlow(protocol, client, dialed, server)
	}
	return nil
}
