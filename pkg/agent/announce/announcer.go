// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// count and interval are the announcements of one call: a lost frame leaves neighbours with the former place.
	count    = 3
	interval = time.Second
)

// Announcer announces addresses in the network namespace of Run, on a device if AnnounceOn has not named another one.
type Announcer struct {
	device string
	send   func(device string, addr netip.Addr) error
	wake   chan struct{}

	mu sync.Mutex
	// left are the announcements that are to come, of all addresses that are not forgotten.
	left map[netip.Addr]announcements
}

// announcements of an address are left more, on a device.
type announcements struct {
	device string
	left   int
}

// New returns an Announcer that sends nothing before Run.
func New(device string) *Announcer {
	return &Announcer{device: device, send: send, wake: make(chan struct{}, 1), left: map[netip.Addr]announcements{}}
}

// Announce announces an address now and two more times, a second apart. It does not block.
func (a *Announcer) Announce(addr netip.Addr) { a.AnnounceOn(addr, a.device) }

// AnnounceOn does the same on another device, also when the Announcer's is replaced.
func (a *Announcer) AnnounceOn(addr netip.Addr, device string) {
	a.mu.Lock()
	a.left[addr] = announcements{device, count}
	a.mu.Unlock()
	a.poke()
}

func (a *Announcer) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// Watch announces all addresses again each time the device comes up or is replaced, until ctx ends: while it was down, another Node may have taken
// them, and switches forget.
func (a *Announcer) Watch(ctx context.Context) {
	var last *rtnl.LinkState
	rtnl.WatchLink(ctx, a.device, func(now rtnl.LinkState) {
		if last != nil && now.Up && now != *last {
			klog.InfoS("Addresses are announced again: the device has come up, or is another one", "device", a.device)
			a.renew()
		}
		last = &now
	})
}

// renew announces all addresses that are not forgotten.
func (a *Announcer) renew() {
	a.mu.Lock()
	for addr, some := range a.left {
		a.left[addr] = announcements{some.device, count}
	}
	a.mu.Unlock()
	a.poke()
}

// Forget ends the announcements of an address.
func (a *Announcer) Forget(addr netip.Addr) {
	a.mu.Lock()
	delete(a.left, addr)
	a.mu.Unlock()
}

// Retain ends the announcements of all other addresses.
func (a *Announcer) Retain(addrs sets.Set[netip.Addr]) {
	a.mu.Lock()
	maps.DeleteFunc(a.left, func(addr netip.Addr, _ announcements) bool { return !addrs.Has(addr) })
	a.mu.Unlock()
}

// Run sends until ctx ends. Turns are at least an interval apart unless a new address has come.
func (a *Announcer) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		for a.turn() {
			if retry.Sleep(ctx, interval) != nil {
				return
			}
		}
	}
}

// turn sends one announcement of each address, and reports whether more are to come.
func (a *Announcer) turn() bool {
	a.mu.Lock()
	due, more := map[netip.Addr]string{}, false
	for addr, some := range a.left {
		if some.left > 0 {
			due[addr] = some.device
			a.left[addr] = announcements{some.device, some.left - 1}
			more = more || some.left > 1
		}
	}
	a.mu.Unlock()
	var errs []error
	for _, addr := range slices.SortedFunc(maps.Keys(due), netip.Addr.Compare) {
		errs = append(errs, a.send(due[addr], addr))
	}
	if err := errors.Join(errs...); err != nil {
		klog.ErrorS(err, "Addresses are not announced; their neighbours learn later where they are")
	}
	return more
}

// send announces an address once.
func send(device string, addr netip.Addr) error {
	iface, err := net.InterfaceByName(device)
	if err != nil {
		return fmt.Errorf("find device %s: %w", device, err)
	}
	if len(iface.HardwareAddr) != 6 {
		return fmt.Errorf("device %s has no Ethernet address: %s cannot be announced", device, addr)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("socket: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, Frame(addr, iface.HardwareAddr), 0, &unix.SockaddrLinklayer{Ifindex: iface.Index}); err != nil {
		return fmt.Errorf("announce %s on %s: %w", addr, device, err)
	}
	return nil
}
