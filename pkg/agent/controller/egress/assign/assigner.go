// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/announce"
	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency/occupied"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/rtnl"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	controllerName = "egress addresses"
	// LimitAnnotation is the annotation of a Node that limits its addresses, before the configuration.
	LimitAnnotation = "node.antrea.io/max-egress-ips"
	// checkInterval is the time between two decisions without an event.
	checkInterval = time.Minute
)

var backoff = retry.Backoff{Min: time.Second, Max: time.Minute}

// Config contains what an Assigner needs.
type Config struct {
	NodeName string
	// Limit is the number of addresses that a Node without LimitAnnotation may have.
	Limit int
	// Uplink is the device on which addresses are announced. Addresses of VLANs are announced on devices below it.
	Uplink string
	// Separate lets pools have subnets of their own, with MACs of their own for devices of VLANs if OwnMAC is set.
	Separate, OwnMAC bool
	Members          memberlist.Members
	Objects          *crd.EgressObjects
	Nodes            coreinformers.NodeInformer
	// Changed is called when Failures has another answer.
	Changed func()
	// Events tells users of addresses that came and went, Problems of addresses that other machines have too.
	Events   Events
	Problems problem.Reporter
	// Occupied are the addresses that this Node must not take. They are known once OccupiedSynced says so.
	Occupied       *occupied.Addresses
	OccupiedSynced cache.InformerSynced
}

// Assigner gives this Node the addresses of Egresses that it should have.
type Assigner struct {
	Config
	device interface {
		List() (map[netip.Addr]place, error)
		Add(addr netip.Addr, subnet config.EgressSubnet) error
		Remove(addr netip.Addr) error
		Keep() error
	}
	announcer *announce.Announcer
	responder interface {
		Set(addrs sets.Set[netip.Addr])
		Run(ctx context.Context)
	}
	others   *others
	wake     chan struct{}
	failures atomic.Pointer[map[string]error]

	// The rest belongs to Run. former are the members at the last decision. had are the Egresses of each address that this Node has: their objects may show
	// another address by the time it goes.
	waiting map[netip.Addr]time.Time
	former  *memberlist.Snapshot
	// unknownSince is the time since which the members are unknown; zero if they are known.
	unknownSince time.Time
	had          map[netip.Addr][]*v1beta1.Egress
}

// New returns an Assigner that does nothing before Run.
func New(c Config) (*Assigner, error) {
	a := &Assigner{Config: c, device: devices{c.Uplink, c.OwnMAC}, wake: make(chan struct{}, 1)}
	a.announcer, a.responder = announce.New(c.Uplink), announce.NewResponder(c.Uplink)
	a.others = newOthers(c.Problems, a.announcer.AnnounceOn, announce.Others)
	a.failures.Store(&map[string]error{})
	c.Occupied.Subscribe(a.poke)
	c.Members.Subscribe(a.poke)
	poke := func(any) { a.poke() }
	handler := cache.ResourceEventHandlerFuncs{AddFunc: poke, UpdateFunc: func(_, object any) { poke(object) }, DeleteFunc: poke}
	nodeHandler := cache.ResourceEventHandlerFuncs{AddFunc: poke, DeleteFunc: poke, UpdateFunc: func(old, object any) {
		former, _ := old.(*corev1.Node)
		node, _ := object.(*corev1.Node)
		if former == nil || node == nil || former.Annotations[LimitAnnotation] != node.Annotations[LimitAnnotation] {
			a.poke()
		}
	}}
	for _, follow := range []struct {
		kind     string
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{v1beta1.EgressKind, c.Objects.Egresses, handler}, {v1beta1.ExternalIPPoolKind, c.Objects.ExternalIPPools, handler},
		{"Node", c.Nodes.Informer(), nodeHandler},
	} {
		if _, err := follow.informer.AddEventHandler(recovery.Handler(controllerName, follow.kind, follow.handler)); err != nil {
			return nil, fmt.Errorf("watch %s objects: %w", follow.kind, err)
		}
	}
	return a, nil
}

// Failures returns why Egresses have no Node, by name, for those that this Node reports.
func (a *Assigner) Failures() map[string]error { return *a.failures.Load() }

func (a *Assigner) poke() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// limit returns the number of addresses that a Node may have: no more than it can give to packets, for which Antrea has a mark more.
func (a *Assigner) limit(node string) int {
	limit := a.Limit
	if object, err := a.Nodes.Lister().Get(node); err == nil {
		if annotated, err := strconv.Atoi(object.Annotations[LimitAnnotation]); err == nil {
			limit = annotated
		}
	}
	return min(limit, config.ServiceMark-1)
}

// Run works until ctx ends, and then gives up the addresses that another Node takes. The informers run elsewhere.
func (a *Assigner) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), a.Objects.Egresses.HasSynced, a.Objects.ExternalIPPools.HasSynced, a.Nodes.Informer().HasSynced, a.OccupiedSynced) {
		return
	}
	go recovery.Keep(ctx, "announcements of Egress addresses", a.announcer.Run)
	go recovery.Keep(ctx, "the device of Egress addresses", a.announcer.Watch)
	go recovery.Keep(ctx, "answers to who asks for Egress addresses", a.responder.Run)
	go recovery.Keep(ctx, "search for other machines with Egress addresses", a.others.run)
	go recovery.Keep(ctx, "addresses of "+config.EgressDevice, func(ctx context.Context) { rtnl.WatchAddresses(ctx, a.poke) })
	task := retry.NewTask("The assignment of Egress addresses", checkInterval, backoff)
	for {
		again, err := a.sync(a.Members.Snapshot())
		delay := task.Done(err)
		if again > 0 && again < delay {
			delay = again
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			a.leave()
			return
		case <-a.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// sync makes the device have what it should.
func (a *Assigner) sync(members *memberlist.Snapshot) (again time.Duration, err error) {
	places, err := a.device.List()
	if err != nil {
		return 0, err
	}
	egresses := crd.Stored[v1beta1.Egress](a.Objects.Egresses)
	pools := map[string]*v1beta1.ExternalIPPool{}
	for _, pool := range crd.Stored[v1beta1.ExternalIPPool](a.Objects.ExternalIPPools) {
		pools[pool.Name] = pool
	}
	in := input{
		node: a.NodeName, egresses: egresses, pools: pools, separate: a.Separate, members: members, limit: a.limit, refuse: a.Occupied.Refuse,
		places: places, waiting: a.waiting, now: time.Now(),
	}
	if err := a.lookForUnknown(&in); err != nil {
		return 0, err
	}
	d := decide(in)
	a.waiting = d.waiting
	var errs []error
	for _, addr := range d.remove {
		a.announcer.Forget(addr)
		if err := a.device.Remove(addr); err != nil {
			errs = append(errs, err)
			continue
		}
		delete(places, addr)
		tell(a.owners(egresses, addr), addr, a.Events.Unassigned)
	}
	a.renew(members, egresses, places)
	for _, addr := range d.add {
		if err := a.device.Add(addr, d.subnets[addr]); err != nil {
			errs = append(errs, err)
			a.fail(d, egresses, addr, err)
			continue
		}
		places[addr] = placeOf(addr, d.subnets[addr])
		a.announcer.AnnounceOn(addr, places[addr].outside(a.Uplink))
		tell(withAddress(egresses, addr), addr, a.Events.Assigned)
	}
	a.remember(egresses, places)
	a.announcer.Retain(sets.KeySet(places)) // others may have removed addresses from the device
	a.responder.Set(onUplink(places))
	a.others.set(a.NodeName, places, egresses, a.Uplink)
	a.publish(d.failures)
	return d.again, errors.Join(append(errs, a.device.Keep())...)
}

// lookForUnknown fills in what counts while the members are unknown.
func (a *Assigner) lookForUnknown(in *input) error {
	if in.members.Unknown == nil {
		a.unknownSince = time.Time{}
		return nil
	}
	if a.unknownSince.IsZero() {
		a.unknownSince = in.now
	}
	nodes, err := a.Nodes.Lister().List(labels.Everything())
	in.unknownSince, in.ready = a.unknownSince, ReadyNames(nodes)
	return err
}

// renew announces the addresses that were there before, after the start and when another Node that may have had them comes.
func (a *Assigner) renew(members *memberlist.Snapshot, egresses []*v1beta1.Egress, places map[netip.Addr]place) {
	gained := members.Gained(a.former)
	for _, e := range egresses {
		addr := pooled(e)
		if at, present := places[addr]; present && gained.Has(e.Spec.ExternalIPPool) {
			a.announcer.AnnounceOn(addr, at.outside(a.Uplink))
		}
	}
	a.former = members
}

// leave gives up the addresses that another Node takes when this one has left.
func (a *Assigner) leave() {
	members := a.Members.Snapshot()
	if members.Unknown != nil {
		return
	}
	egresses := crd.Stored[v1beta1.Egress](a.Objects.Egresses)
	scheduled := withPools(egresses)
	taken := Schedule(scheduled, members.Without(a.NodeName).Rings, a.limit)
	for _, e := range scheduled {
		if taken[e.Name] == "" {
			continue
		}
		if err := a.device.Remove(e.Addr); err != nil {
			klog.ErrorS(err, "An Egress address stays on a Node that has left", "address", e.Addr)
		}
	}
	if err := a.device.Keep(); err != nil {
		klog.ErrorS(err, "The devices of Egress addresses are not as they should be")
	}
}

func (a *Assigner) fail(d *decision, egresses []*v1beta1.Egress, addr netip.Addr, err error) {
	for _, e := range withAddress(egresses, addr) {
		d.failures[e.Name] = err
	}
}

// withAddress returns the Egresses that have an address of a pool.
func withAddress(egresses []*v1beta1.Egress, addr netip.Addr) (found []*v1beta1.Egress) {
	for _, e := range egresses {
		if pooled(e) == addr {
			found = append(found, e)
		}
	}
	return found
}

// owners returns the Egresses that had an address of this Node, or have it, and still exist.
func (a *Assigner) owners(egresses []*v1beta1.Egress, addr netip.Addr) (found []*v1beta1.Egress) {
	for _, e := range egresses {
		same := func(had *v1beta1.Egress) bool { return had.Name == e.Name && had.UID == e.UID }
		if pooled(e) == addr || slices.ContainsFunc(a.had[addr], same) {
			found = append(found, e)
		}
	}
	return found
}

// remember records the Egresses of the addresses that this Node has. An address that could not be removed keeps its former ones.
func (a *Assigner) remember(egresses []*v1beta1.Egress, places map[netip.Addr]place) {
	had := map[netip.Addr][]*v1beta1.Egress{}
	for _, e := range egresses {
		if _, present := places[pooled(e)]; present {
			had[pooled(e)] = append(had[pooled(e)], e)
		}
	}
	for addr := range places {
		if had[addr] == nil {
			had[addr] = a.had[addr]
		}
	}
	a.had = had
}

func tell(egresses []*v1beta1.Egress, addr netip.Addr, event func(e *v1beta1.Egress, addr netip.Addr)) {
	klog.InfoS("Changed the Egress addresses of this Node", "address", addr)
	for _, e := range egresses {
		event(e, addr)
	}
}

func (a *Assigner) publish(failures map[string]error) {
	same := func(a, b error) bool { return a.Error() == b.Error() }
	if maps.EqualFunc(failures, a.Failures(), same) {
		return
	}
	a.failures.Store(&failures)
	a.Changed()
}
