// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package serviceexternalip

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	coreinformers "k8s.io/client-go/informers/core/v1"
	discoveryinformers "k8s.io/client-go/informers/discovery/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/announce"
	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/dependency/occupied"
	"github.com/antrea-oncache/antrea/pkg/agent/memberlist"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/apis/externalip"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

const (
	controllerName = "external addresses of Services"
	// checkInterval is the time between two decisions without an event.
	checkInterval = time.Minute
)

// Config contains what a Controller needs. The informers run elsewhere.
type Config struct {
	NodeName string
	// Uplink is the device on which addresses are announced and answered for.
	Uplink    string
	Members   memberlist.Members
	Services  coreinformers.ServiceInformer
	Endpoints discoveryinformers.EndpointSliceInformer
	Pools     cache.SharedIndexInformer // of v1beta1.ExternalIPPool
	// Occupied are the addresses for which no Node may answer. They are known once OccupiedSynced says so.
	Occupied       *occupied.Addresses
	OccupiedSynced cache.InformerSynced
}

// Controller answers for the addresses of Services that are this Node's.
type Controller struct {
	Config
	announcer interface {
		Announce(addr netip.Addr)
		Forget(addr netip.Addr)
		Run(ctx context.Context)
		Watch(ctx context.Context)
	}
	// responders are one for each IP version.
	responders []responder
	wake       chan struct{}
	decided    atomic.Pointer[decision]

	// members are from the last decision. It belongs to Run.
	members *memberlist.Snapshot
}

type responder interface {
	Set(addrs sets.Set[netip.Addr])
	Run(ctx context.Context)
}

// New returns a Controller that does nothing before Run.
func New(config Config) (*Controller, error) {
	c := &Controller{
		Config: config, announcer: announce.New(config.Uplink), wake: make(chan struct{}, 1),
		responders: []responder{announce.NewARPResponder(config.Uplink), announce.NewResponder(config.Uplink)},
	}
	c.decided.Store(&decision{mine: sets.New[netip.Addr]()})
	config.Occupied.Subscribe(c.poke)
	config.Members.Subscribe(c.poke)
	for _, follow := range []struct {
		kind     string
		informer cache.SharedIndexInformer
		concerns func(object any) bool
	}{
		{"Service", config.Services.Informer(), ofPool}, {"EndpointSlice", config.Endpoints.Informer(), c.decides},
		{v1beta1.ExternalIPPoolKind, config.Pools, func(any) bool { return true }},
	} {
		poke := func(objects ...any) {
			if slices.ContainsFunc(objects, follow.concerns) {
				c.poke()
			}
		}
		handler := cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { poke(object) }, UpdateFunc: func(former, object any) { poke(former, object) },
			DeleteFunc: func(object any) {
				if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
					object = last.Obj
				}
				poke(object)
			},
		}
		if _, err := follow.informer.AddEventHandler(recovery.Handler(controllerName, follow.kind, handler)); err != nil {
			return nil, fmt.Errorf("watch %s objects: %w", follow.kind, err)
		}
	}
	return c, nil
}

// ofPool reports whether an object is a Service with a pool.
func ofPool(object any) bool {
	s, ok := object.(*corev1.Service)
	return ok && externalip.Pool(s) != ""
}

// decides reports whether an object is a slice of a Service whose Endpoints decide which Node has its address.
func (c *Controller) decides(object any) bool {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return false
	}
	name := serviceOf(slice)
	s, err := c.Services.Lister().Services(name.Namespace).Get(name.Name)
	return err == nil && externalip.Pool(s) != "" && s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

func (c *Controller) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run answers until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.Services.Informer().HasSynced, c.Endpoints.Informer().HasSynced, c.Pools.HasSynced, c.OccupiedSynced) {
		return
	}
	go recovery.Keep(ctx, "announcements of external addresses", c.announcer.Run)
	go recovery.Keep(ctx, "the device of external addresses", c.announcer.Watch)
	for _, r := range c.responders {
		go recovery.Keep(ctx, "answers to who asks for external addresses", r.Run)
	}
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		if err := c.sync(c.Members.Snapshot()); err != nil {
			klog.ErrorS(err, "External addresses of Services stay as they are")
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-ticker.C:
		}
	}
}

// sync makes a new decision and brings it into force.
func (c *Controller) sync(members *memberlist.Snapshot) error {
	services, err := c.Services.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	services = slices.DeleteFunc(services, func(s *corev1.Service) bool { return externalip.Pool(s) == "" })
	var endpoints []*discoveryv1.EndpointSlice
	if len(services) > 0 {
		if endpoints, err = c.Endpoints.Lister().List(labels.Everything()); err != nil {
			return err
		}
		endpoints = slices.DeleteFunc(endpoints, func(s *discoveryv1.EndpointSlice) bool { return !c.decides(s) })
	}
	pools := map[string]externalip.Addresses{}
	for _, pool := range crd.Stored[v1beta1.ExternalIPPool](c.Pools) {
		pools[pool.Name] = externalip.AddressesOf(pool)
	}
	former := c.decided.Load()
	now := decide(input{
		node: c.NodeName, services: services, slices: endpoints, pools: pools, members: members, refuse: c.Occupied.Refuse, present: former.mine,
	})
	c.decided.Store(now)
	c.enforce(now, former, members)
	return nil
}

// enforce brings a decision into force.
func (c *Controller) enforce(now, former *decision, members *memberlist.Snapshot) {
	for addr, err := range now.failures {
		if had := former.failures[addr]; had == nil || had.Error() != err.Error() {
			klog.InfoS("No Node answers for the external address of a Service", "address", addr, "reason", err)
		}
	}
	for addr := range former.mine.Difference(now.mine) {
		klog.InfoS("This Node answers for the external address of a Service no more", "address", addr)
		c.announcer.Forget(addr)
	}
	for _, r := range c.responders {
		r.Set(now.mine)
	}
	gained := members.Gained(c.members)
	for addr := range now.mine {
		if fresh := !former.mine.Has(addr); fresh {
			klog.InfoS("This Node answers for the external address of a Service", "address", addr)
		} else if !gained.Has(now.pools[addr]) {
			continue
		}
		c.announcer.Announce(addr)
	}
	c.members = members
}

// Addresses returns the Services with pools, and which Nodes answer for their addresses, sorted.
func (c *Controller) Addresses() ([]apis.ServiceExternalIP, error) {
	services, err := c.Services.Lister().List(labels.Everything())
	if err != nil {
		return nil, err
	}
	d := c.decided.Load()
	list := []apis.ServiceExternalIP{}
	for _, s := range services {
		if pool := externalip.Pool(s); pool != "" {
			entry := apis.ServiceExternalIP{ServiceName: s.Name, Namespace: s.Namespace, ExternalIPPool: pool}
			if addr := externalip.Address(s); addr.IsValid() {
				entry.ExternalIP, entry.AssignedNode = addr.String(), d.owners[addr]
			}
			list = append(list, entry)
		}
	}
	slices.SortFunc(list, func(a, b apis.ServiceExternalIP) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ServiceName, b.ServiceName))
	})
	return list, nil
}
