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

	"k8s.io/apimachinery/pkg/util/sets"
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

// others tells of other machines in the network that have Egress addresses of this Node. The Node keeps the addresses: packets of connections may go to either. When
// the other machine does not have it any more, alone is called: neighbours may still send there. So it is when other Nodes have declared this one dead for a moment.
type others struct {
	find     func(ctx context.Context, device string, addrs []netip.Addr) (map[netip.Addr]net.HardwareAddr, error)
	problems problem.Reporter
	alone    func(addr netip.Addr, device string)
	settle   time.Duration
	wake     chan struct{}

	mu sync.Mutex
	// held are the addresses of this Node. doubted has those that another machine had at the last look, or that an Egress says another Node has.
	held    map[netip.Addr]held
	doubted sets.Set[netip.Addr]
	// named are the addresses of this Node that Egresses say another Node has.
	named sets.Set[netip.Addr]

	// The rest belongs to run. reported has the Egresses that have the problem, failed the last error.
	reported map[string]bool
	failed   string
}

// held is an address: the device by which neighbours reach it, and its Egresses.
type held struct {
	device   string
	egresses []string
}

func newOthers(problems problem.Reporter, alone func(netip.Addr, string), find func(context.Context, string, []netip.Addr) (map[netip.Addr]net.HardwareAddr, error)) *others {
	return &others{
		find: find, problems: problems, alone: alone, settle: settleTime, wake: make(chan struct{}, 1), doubted: sets.New[netip.Addr](), reported: map[string]bool{},
	}
}

// set replaces the addresses of a Node.
func (o *others) set(node string, places map[netip.Addr]place, egresses []*v1beta1.Egress, uplink string) {
	now, named := map[netip.Addr]held{}, sets.New[netip.Addr]()
	for _, e := range egresses {
		if at, ok := places[pooled(e)]; ok {
			now[pooled(e)] = held{at.outside(uplink), append(now[pooled(e)].egresses, e.Name)}
			if e.Status.EgressNode != "" && e.Status.EgressNode != node && sameAddr(e.Status.EgressIP, pooled(e)) {
				named.Insert(pooled(e))
			}
		}
	}
	for _, h := range now {
		slices.Sort(h.egresses)
	}
	same := func(a, b held) bool { return a.device == b.device && slices.Equal(a.egresses, b.egresses) }
	o.mu.Lock()
	news := named.Difference(o.named)
	changed := !maps.EqualFunc(o.held, now, same) || len(news) > 0
	o.held, o.named, o.doubted = now, named, o.doubted.Union(news).Intersection(sets.KeySet(now))
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
			timer.Reset(o.pause())
		}
	}
}

// pause is short while another machine has an address, which may end.
func (o *others) pause() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.doubted) > 0 {
		return o.settle
	}
	return lookInterval
}

// settled returns the addresses that other machines do not have any more, and notes those that they have.
func (o *others) settled(asked []netip.Addr, found map[netip.Addr]net.HardwareAddr) (alone []netip.Addr) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, addr := range asked {
		if _, taken := found[addr]; taken {
			o.doubted.Insert(addr)
		} else if o.doubted.Has(addr) {
			o.doubted.Delete(addr)
			alone = append(alone, addr)
		}
	}
	return alone
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
		} else {
			for _, addr := range o.settled(addrs, found) {
				o.alone(addr, device)
			}
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
