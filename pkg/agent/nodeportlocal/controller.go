// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/interfacestore"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	controllerName = "nodeportlocal"

	// checkInterval is the time between two plans without an event.
	checkInterval = time.Minute
)

var backoff = retry.Backoff{Min: time.Second, Max: 30 * time.Second}

// Config contains what the controller needs.
type Config struct {
	NodeName string
	// Range is nil without NodePortLocal: the controller only ends the connections of a former agent's rules, and removes its annotations.
	Range      *Range
	Host       Host
	Interfaces interfacestore.InterfaceStore
	// Pods contains the Pods of this Node. Services and Nodes are not used without Range.
	Pods     coreinformers.PodInformer
	Services coreinformers.ServiceInformer
	Nodes    coreinformers.NodeInformer
	Kube     kubernetes.Interface
	Problems problem.Reporter
}

// Controller leads ports of this Node to its Pods.
type Controller struct {
	Config
	synced                []cache.InformerSynced
	rulesWake, writesWake chan struct{}

	// mu protects the addresses of interfaces and what Pods should tell; nil before the first plan is in force.
	mu      sync.Mutex
	holders map[netip.Addr]types.NamespacedName
	entries map[types.NamespacedName][]entry
	count   int

	// realizing is held while rules change. It is taken before mu.
	realizing sync.Mutex
	realizer  *realizer
	reported  reports
}

// New returns a controller that only learns until Run, but for PodArrives. The caller starts the informers afterwards.
func New(config Config) (*Controller, error) {
	c := &Controller{Config: config, rulesWake: make(chan struct{}, 1), writesWake: make(chan struct{}, 1), holders: map[netip.Addr]types.NamespacedName{}}
	c.reported = newReports(config.Problems)
	for _, i := range config.Interfaces.ListInterfaces() {
		c.added(i)
	}
	if config.Range == nil {
		c.realizer = newRealizer(retired{config.Host}, newPorts(Range{}, holdPort), endConnections, maps.Clone(c.holders))
		return c, c.watch(config.Pods.Informer(), "Pod", c.rulesWake)
	}
	c.realizer = newRealizer(config.Host, newPorts(*config.Range, holdPort), endConnections, maps.Clone(c.holders))
	config.Interfaces.Subscribe(func(event interfacestore.Event) {
		c.mu.Lock()
		c.deleted(event.Deleted)
		c.added(event.Added)
		c.mu.Unlock()
		poke(c.rulesWake)
	})
	return c, errors.Join(c.watch(config.Pods.Informer(), "Pod", c.rulesWake), c.watch(config.Services.Informer(), "Service", c.rulesWake),
		c.watch(config.Nodes.Informer(), "Node", c.rulesWake))
}

// watch wakes a loop with each change of an object that may matter.
func (c *Controller) watch(informer cache.SharedIndexInformer, kind string, wake chan struct{}) error {
	consider := func(object any) {
		if c.matters(object) {
			poke(wake)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: consider, UpdateFunc: func(former, object any) { consider(former); consider(object) }, DeleteFunc: consider}
	registration, err := informer.AddEventHandler(recovery.Handler(controllerName, kind, handler))
	if err != nil {
		return fmt.Errorf("watch objects of kind %s: %w", kind, err)
	}
	c.synced = append(c.synced, registration.HasSynced)
	return nil
}

// matters reports whether the object may change the plan.
func (c *Controller) matters(object any) bool {
	switch o := object.(type) {
	case *corev1.Node:
		return o.Name == c.NodeName
	case *corev1.Service:
		return o.Annotations[ServiceAnnotation] != ""
	}
	return true
}

func poke(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// added and deleted follow interfaces, of which there may be none. The caller holds mu.
func (c *Controller) added(i *interfacestore.InterfaceConfig) {
	if name, ok := podOf(i); ok {
		for _, addr := range i.IPs {
			c.holders[addr] = name
		}
	}
}

func (c *Controller) deleted(i *interfacestore.InterfaceConfig) {
	if name, ok := podOf(i); ok {
		for _, addr := range i.IPs {
			if c.holders[addr] == name {
				delete(c.holders, addr)
			}
		}
	}
}

func podOf(i *interfacestore.InterfaceConfig) (name types.NamespacedName, ok bool) {
	if i == nil || i.Type != interfacestore.ContainerInterface || i.ContainerInterfaceConfig == nil {
		return name, false
	}
	return types.NamespacedName{Namespace: i.PodNamespace, Name: i.PodName}, true
}

// PodArrives returns once no port of the Node leads to the addresses of the interface by a rule for another Pod.
func (c *Controller) PodArrives(i *interfacestore.InterfaceConfig) error {
	name, ok := podOf(i)
	if !ok {
		return nil
	}
	c.realizing.Lock()
	defer c.realizing.Unlock()
	c.mu.Lock()
	c.added(i)
	c.mu.Unlock()
	if err := c.realizer.arrives(context.Background(), name, i.IPs); err != nil {
		return fmt.Errorf("ports of the Node still lead to a former Pod with an address of Pod %s, one of %v: %w", name, i.IPs, err)
	}
	return nil
}

// PodLeaves undoes PodArrives.
func (c *Controller) PodLeaves(i *interfacestore.InterfaceConfig) {
	c.mu.Lock()
	c.deleted(i)
	c.mu.Unlock()
	poke(c.rulesWake)
}

// Run works until ctx ends. The informers run elsewhere.
func (c *Controller) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), c.synced...) {
		return
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		recovery.Keep(ctx, "annotations of NodePortLocal", func(ctx context.Context) {
			keep(ctx, "The annotation of Pods with ports of the Node", c.writesWake, c.writeAll)
		})
	})
	keep(ctx, "The lead of ports of the Node to Pods", c.rulesWake, c.realize)
}

// keep works when it is woken, and again after a failure, until ctx ends.
func keep(ctx context.Context, name string, wake <-chan struct{}, work func(context.Context) error) {
	task := retry.NewTask(name, checkInterval, backoff)
	delay := time.Duration(0)
	for {
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-wake:
		case <-timer.C:
		}
		timer.Stop()
		delay = task.Done(work(ctx))
	}
}

// realize brings the plan for what is known into force.
func (c *Controller) realize(ctx context.Context) error {
	c.realizing.Lock()
	defer c.realizing.Unlock()
	w, err := c.snapshot()
	if err != nil {
		return err
	}
	p, err := c.realizer.realize(ctx, w)
	c.reported.report(w, p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.entries, c.count = p.entries, len(p.rules)
	c.mu.Unlock()
	poke(c.writesWake)
	return nil
}

// snapshot returns what is known.
func (c *Controller) snapshot() (*world, error) {
	w := &world{}
	if c.Range == nil {
		return w, nil
	}
	node, err := c.Nodes.Lister().Get(c.NodeName)
	if err != nil {
		return nil, err
	}
	w.nodeIPs = nodeAddresses(node)
	if w.pods, err = c.pods(); err != nil {
		return nil, err
	}
	if w.services, err = c.Services.Lister().List(labels.Everything()); err != nil {
		return nil, err
	}
	w.services = slices.DeleteFunc(w.services, func(s *corev1.Service) bool { return s.Annotations[ServiceAnnotation] == "" })
	slices.SortFunc(w.services, func(a, b *corev1.Service) int { return strings.Compare(klog.KObj(a).String(), klog.KObj(b).String()) })
	c.mu.Lock()
	w.holders = maps.Clone(c.holders)
	c.mu.Unlock()
	return w, nil
}

// pods returns the Pods of this Node in order.
func (c *Controller) pods() ([]*corev1.Pod, error) {
	pods, err := c.Pods.Lister().List(labels.Everything())
	slices.SortFunc(pods, func(a, b *corev1.Pod) int { return strings.Compare(klog.KObj(a).String(), klog.KObj(b).String()) })
	return pods, err
}
