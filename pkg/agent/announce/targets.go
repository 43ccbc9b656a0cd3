// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

// targets are the addresses for which a responder answers.
type targets struct {
	counts func(netip.Addr) bool
	wake   chan struct{}

	mu    sync.Mutex
	addrs sets.Set[netip.Addr]
}

func newTargets(counts func(netip.Addr) bool) targets {
	return targets{counts: counts, wake: make(chan struct{}, 1), addrs: sets.New[netip.Addr]()}
}

// Set replaces the addresses, of which only the addresses of the responder's IP version count. It does not block.
func (t *targets) Set(addrs sets.Set[netip.Addr]) {
	now := sets.New[netip.Addr]()
	for addr := range addrs {
		if t.counts(addr) {
			now.Insert(addr)
		}
	}
	t.mu.Lock()
	same := now.Equal(t.addrs)
	t.addrs = now
	t.mu.Unlock()
	if same {
		return
	}
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *targets) has(addr netip.Addr) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addrs.Has(addr)
}

func (t *targets) list() []netip.Addr {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.addrs.UnsortedList()
}

// run calls serve, which returns when there are no addresses, until ctx ends. It logs a failure that follows the same one at once, as while the device
// is down, one time.
func (t *targets) run(ctx context.Context, device, family string, serve func(context.Context) error) {
	logged := ""
	for ctx.Err() == nil {
		if len(t.list()) > 0 {
			began := time.Now()
			err := serve(ctx)
			if err == nil || time.Since(began) > retryDelay {
				logged = ""
			}
			if err != nil && ctx.Err() == nil {
				if err.Error() != logged {
					logged = err.Error()
					klog.ErrorS(err, "Neighbours do not learn where addresses are, retrying", "family", family, "device", device)
				}
				_ = retry.Sleep(ctx, retryDelay)
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-t.wake:
		}
	}
}

// isSame reports whether a device is still the one that it was, with its MAC address. The error says why that is not known.
func isSame(iface *net.Interface) (bool, error) {
	now, err := netlink.LinkByName(iface.Name) // unlike net.InterfaceByName, it does not read all devices
	if err != nil {
		return false, fmt.Errorf("find device %s: %w", iface.Name, err)
	}
	return now.Attrs().Index == iface.Index && slices.Equal(now.Attrs().HardwareAddr, iface.HardwareAddr), nil
}
