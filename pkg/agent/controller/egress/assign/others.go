// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

const (
	// ReasonAddressTaken is the problem of an Egress with an address that another machine answers for.
	ReasonAddressTaken problem.Reason = "EgressAddressTaken"
	// settleTime is the time that another Node has to give up an address that this one has taken, lookInterval the one between two looks.
	settleTime, lookInterval = 5 * time.Second, time.Minute
)

// others tells of other machines in the network that have Egress addresses of this Node. It changes nothing: packets of connections may go to either.
type others struct {
	find     func(ctx context.Context, device string, addrs []netip.Addr) (map[netip.Addr]net.HardwareAddr, error)
	problems problem.Reporter
	settle   time.Duration
	wake     chan struct{}

	mu sync.Mutex
	// held are the addresses of this Node.
	held map[netip.Addr]held

	// The rest belongs to run. reported has the Egresses that have the problem, failed the last error.
	reported map[string]bool
	failed   string
}

// held is an address: the device by which neighbours reach it, and its Egresses.
type held struct {
	device   string
	egresses []string
}

func newOthers(problems problem.Reporter, find func(context.Context, string, []netip.Addr) (map[netip.Addr]net.HardwareAddr, error)) *others {
	return &others{find: find, problems: problems, settle: settleTime, wake: make(chan struct{}, 1), reported: map[string]bool{}}
}

// set replaces the addresses.
func (o *others) set(places map[netip.Addr]place, egresses []*v1beta1.Egress, uplink string) {
	now := map[netip.Addr]held{}
	for _, e := range egresses {
		if at, ok := places[pooled(e)]; ok {
			now[pooled(e)] = held{at.outside(uplink), append(now[pooled(e)].egresses, e.Name)}
		}
	}
	for _, h := range now {
		slices.Sort(h.egresses)
	}
	same := func(a, b held) bool { return a.device == b.device && slices.Equal(a.egresses, b.egresses) }
	o.mu.Lock()
	changed := !maps.EqualFunc(o.held, now, same)
	o.held = now
	o.mu.Unlock()
	if !changed {
		return
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// run looks until ctx ends: some time after each change, and now and then.
func (o *others) run(ctx context.Context) {
	timer, last := time.NewTimer(lookInterval), time.Now()
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.wake:
			timer.Reset(min(o.settle, time.Until(last.Add(2*lookInterval)))) // however often addresses change
		case <-timer.C:
			o.look(ctx)
			last = time.Now()
			timer.Reset(lookInterval)
		}
	}
}

// look asks the network once.
func (o *others) look(ctx context.Context) {
	o.mu.Lock()
	now := maps.Clone(o.held)
	o.mu.Unlock()
	byDevice := map[string][]netip.Addr{}
	for addr, h := range now {
		byDevice[h.device] = append(byDevice[h.device], addr)
	}
	taken, unknown, failed := map[string]string{}, map[string]bool{}, ""
	for _, device := range slices.Sorted(maps.Keys(byDevice)) {
		addrs := byDevice[device]
		slices.SortFunc(addrs, netip.Addr.Compare)
		found, err := o.find(ctx, device, addrs)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			failed = err.Error()
		}
		for _, addr := range addrs {
			mac, isTaken := found[addr]
			for _, name := range now[addr].egresses {
				unknown[name] = err != nil
				if isTaken {
					taken[name] = fmt.Sprintf("the machine with the MAC address %s has the address %s of Egress %s too (seen on %s): some answers to its Pods go there. Take the address from it, or out of the ExternalIPPool", mac, addr, name, device)
				}
			}
		}
	}
	if failed != "" && failed != o.failed {
		klog.InfoS("Cannot look for other machines with Egress addresses", "err", failed)
	}
	o.failed = failed
	o.report(taken, unknown)
}

// report makes problems, and ends others; unknown are Egresses about whose address nothing new is known.
func (o *others) report(taken map[string]string, unknown map[string]bool) {
	about := func(name string) problem.Subject { return problem.Subject{Kind: v1beta1.EgressKind, Name: name} }
	for name, message := range taken {
		o.problems.Report(ReasonAddressTaken, about(name), message)
		o.reported[name] = true
	}
	for name := range o.reported {
		if taken[name] == "" && !unknown[name] {
			o.problems.Resolve(ReasonAddressTaken, about(name))
			delete(o.reported, name)
		}
	}
}
