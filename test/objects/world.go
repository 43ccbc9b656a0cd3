// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package objects

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
	"github.com/antrea-oncache/antrea/test/policy"
)

// agents is the number of Nodes with an agent. Further Nodes are only objects.
const agents = 2

func nodeName(number byte) string { return fmt.Sprintf("node-%d", number) }

func podCIDR(number byte) netip.Prefix {
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 10, number, 0}), 24)
}

func transportIP(number byte) netip.Addr { return netip.AddrFrom4([4]byte{192, 168, 77, number}) }

// World is one cluster in this process.
type World struct {
	runtime *Runtime
	dir     string
	// quiet returns when everything that was started is done.
	quiet func()
	kube  *kube
	plane *plane
	hosts []*host
	// present are the bad objects that exist.
	present map[*bad]bool
	// damaged are the Nodes whose agents have only files that were damaged.
	damaged map[string]bool

	mu sync.Mutex
	// incidents are failures between two observations of the world.
	incidents []string
}

// NewWorld makes a world without objects, in which nothing runs. quiet returns when everything that was started is
// done; it and time belong to a bubble of testing/synctest.
func NewWorld(r *Runtime, seed uint64, quiet func()) (*World, error) {
	dir, err := os.MkdirTemp("", "objects")
	if err != nil {
		return nil, err
	}
	k := newKube(rand.New(rand.NewPCG(seed, 7)))
	w := &World{runtime: r, dir: dir, quiet: quiet, kube: k, plane: newPlane(k), present: map[*bad]bool{}, damaged: map[string]bool{}}
	for number := byte(1); number <= agents; number++ {
		h, err := newHost(number, k, w.plane, dir)
		if err != nil {
			return nil, err
		}
		w.hosts = append(w.hosts, h)
	}
	return w, nil
}

// start starts controller and agents.
func (w *World) start() error {
	err := w.plane.start()
	for _, h := range w.hosts {
		err = errors.Join(err, h.start())
	}
	return err
}

// Close stops everything.
func (w *World) Close() error {
	var err error
	for _, h := range w.hosts {
		h.stop()
		err = errors.Join(err, h.removeDevices())
	}
	if w.plane.storage != nil {
		w.plane.stop()
	}
	w.kube.breakWatches(false)
	w.settle()
	return errors.Join(err, os.RemoveAll(w.dir))
}

// settleTime is longer than any sequence of waits: the next attempt to watch the controller (a minute, because nothing
// tells these agents where it is), the age of a round (10 s). Agents that start wait at most 30 s.
const settleTime = 90 * time.Second

// settle lets time pass until no work is left.
func (w *World) settle() {
	time.Sleep(settleTime)
	w.quiet()
}

func (w *World) host(name string) *host {
	for _, h := range w.hosts {
		if h.name() == name {
			return h
		}
	}
	return nil
}

func (w *World) incident(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.incidents = append(w.incidents, fmt.Sprintf(format, args...))
}

func (w *World) takeIncidents() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	incidents := w.incidents
	w.incidents = nil
	return incidents
}

// delivered is the outcome of a probe that has reached its destination, absent the outcome of one between Pods that are not
// connected.
const (
	delivered = "delivered"
	absent    = "not connected"
)

var protocolNumbers = map[corev1.Protocol]uint8{
	corev1.ProtocolTCP: of.IPProtoTCP, corev1.ProtocolUDP: of.IPProtoUDP, corev1.ProtocolSCTP: of.IPProtoSCTP,
}

var portFields = map[corev1.Protocol]of.Field{
	corev1.ProtocolTCP: of.FieldTCPDst, corev1.ProtocolUDP: of.FieldUDPDst, corev1.ProtocolSCTP: of.FieldSCTPDst,
}

// send sends the first packet of a connection from Pod to Pod through the switches and returns its fate.
func (w *World) send(p *policy.Probe) string {
	source, destination := w.host(p.From.Node), w.host(p.To.Node)
	from, to := source.interfaceConfig(p.From), destination.interfaceConfig(p.To)
	if from == nil || to == nil {
		return absent
	}
	nextHop := to.MAC
	if source != destination {
		nextHop = source.gatewayMAC()
	}
	out := source.flows.send(opening(p, from.OFPort, from.MAC, nextHop))
	if out.reason != "" {
		return out.reason + " on " + source.name()
	}
	if source != destination {
		if out.port != config.TunnelOFPort || out.tunnel != transportIP(destination.number) {
			return fmt.Sprintf("sent by %s through port %d to %v", source.name(), out.port, out.tunnel)
		}
		out = destination.flows.send(opening(p, config.TunnelOFPort, source.gatewayMAC(), config.GlobalVirtualMAC))
		if out.reason != "" {
			return out.reason + " on " + destination.name()
		}
	}
	if out.port != to.OFPort {
		return fmt.Sprintf("sent by %s through port %d", destination.name(), out.port)
	}
	return delivered
}

func opening(p *policy.Probe, inPort uint32, source, destination net.HardwareAddr) packet {
	opening := packet{
		of.FieldEthType: {0x08, 0x00}, of.FieldEthSrc: source, of.FieldEthDst: destination,
		of.FieldIPv4Src: p.From.IPv4.AsSlice(), of.FieldIPv4Dst: p.To.IPv4.AsSlice(),
		of.FieldIPProto:        {protocolNumbers[p.Protocol]},
		portFields[p.Protocol]: {byte(p.Port >> 8), byte(p.Port)},
	}
	opening.put32(of.FieldInPort, inPort)
	return opening
}

// guard checks after each bundle whether one of these closed probes is delivered. That is an incident if the probe is closed again
// when release is called.
func (w *World) guard(closed []*policy.Probe) (release func()) {
	opened := map[*policy.Probe]bool{}
	var mu sync.Mutex
	look := func() {
		mu.Lock()
		defer mu.Unlock()
		for _, p := range closed {
			opened[p] = opened[p] || w.send(p) == delivered
		}
	}
	for _, h := range w.hosts {
		h.flows.onCommit(look)
	}
	return func() {
		for _, h := range w.hosts {
			h.flows.onCommit(nil)
		}
		for _, p := range closed {
			if opened[p] && w.send(p) != delivered {
				w.incident("open for a moment: %s", probeText(p))
			}
		}
	}
}

func probeText(p *policy.Probe) string {
	return fmt.Sprintf("%s/%s (%s) to %s/%s (%s), %s port %d", p.From.Namespace, p.From.Name, p.From.Node, p.To.Namespace, p.To.Name, p.To.Node, p.Protocol, p.Port)
}
