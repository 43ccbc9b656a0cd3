// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package memberlist

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	gossipkey "github.com/antrea-oncache/antrea/pkg/apis/gossip"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	controllerName = "memberlist"
	// ReasonMembersUnknown is the problem of a Node that cannot have addresses of pools, because it has no key or cannot listen, or that does not hear others,
	// because they have other keys.
	ReasonMembersUnknown problem.Reason = "ClusterMembersUnknown"
	// rejoinInterval is the time between two attempts to join Nodes that are not alive: the protocol forgets them.
	rejoinInterval = 15 * time.Second
	// loneliness is the time after which a Node without any answer counts itself as the only one that is alive.
	loneliness = 5 * time.Second
)

var backoff = retry.Backoff{Min: time.Second, Max: 30 * time.Second}

// Config contains what a Cluster needs.
type Config struct {
	NodeName string
	// Addr is the address that this Node announces, Port the TCP and UDP port of all Nodes.
	Addr netip.Addr
	Port int
	// VerifyIncoming refuses what is not encrypted, VerifyOutgoing encrypts.
	VerifyIncoming, VerifyOutgoing bool

	Kube     kubernetes.Interface
	Nodes    coreinformers.NodeInformer
	Pools    cache.SharedIndexInformer // of v1beta1.ExternalIPPool
	Problems problem.Reporter
}

// Cluster is the membership of this Node. It implements Members.
type Cluster struct {
	Config
	secrets     cache.SharedIndexInformer
	start       func(gossipConfig) (gossip, error)
	wake        chan struct{}
	subscribers []func()
	snapshot    atomic.Pointer[Snapshot]

	// mu protects what follows, which the informers show.
	mu    sync.Mutex
	nodes map[string]labels.Set
	addrs map[string]netip.Addr
	pools map[string]labels.Selector
}

var _ Members = (*Cluster)(nil)

// New returns a Cluster that only learns until Run.
func New(config Config) (*Cluster, error) {
	c := &Cluster{
		Config: config, start: newSWIM, wake: make(chan struct{}, 1),
		nodes: map[string]labels.Set{}, addrs: map[string]netip.Addr{}, pools: map[string]labels.Selector{},
		secrets: coreinformers.NewFilteredSecretInformer(config.Kube, apis.DefaultNamespace, 0, nil, func(o *metav1.ListOptions) {
			o.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, gossipkey.Secret).String()
		}),
	}
	c.snapshot.Store(&Snapshot{Unknown: errors.New("the agent has not read the Nodes yet")})
	for _, follow := range []struct {
		kind     string
		informer cache.SharedIndexInformer
		set      func(object any)
		remove   func(name string)
	}{
		{"Node", config.Nodes.Informer(), c.setNode, c.removeNode},
		{v1beta1.ExternalIPPoolKind, config.Pools, c.setPool, c.removePool},
		{"Secret", c.secrets, func(any) { c.poke() }, func(string) { c.poke() }},
	} {
		handler := cache.ResourceEventHandlerFuncs{
			AddFunc: follow.set, UpdateFunc: func(_, object any) { follow.set(object) },
			DeleteFunc: func(object any) {
				if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
					follow.remove(name.Name)
				}
			},
		}
		if _, err := follow.informer.AddEventHandler(recovery.Handler(controllerName, follow.kind, handler)); err != nil {
			return nil, fmt.Errorf("watch %s objects: %w", follow.kind, err)
		}
	}
	return c, nil
}

// Snapshot implements Members.
func (c *Cluster) Snapshot() *Snapshot { return c.snapshot.Load() }

// Subscribe implements Members.
func (c *Cluster) Subscribe(changed func()) { c.subscribers = append(c.subscribers, changed) }

func (c *Cluster) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// setNode takes what counts of a Node: most changes of its object do not.
func (c *Cluster) setNode(object any) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return
	}
	addr := addrOf(node)
	c.mu.Lock()
	had, known := c.nodes[node.Name]
	same := known && maps.Equal(had, labels.Set(node.Labels)) && c.addrs[node.Name] == addr
	c.nodes[node.Name], c.addrs[node.Name] = node.Labels, addr
	c.mu.Unlock()
	if !same {
		c.poke()
	}
}

func (c *Cluster) removeNode(name string) {
	c.mu.Lock()
	delete(c.nodes, name)
	delete(c.addrs, name)
	c.mu.Unlock()
	c.poke()
}

func (c *Cluster) setPool(object any) {
	pool, ok := object.(*v1beta1.ExternalIPPool)
	if !ok {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(&pool.Spec.NodeSelector)
	if err != nil {
		klog.ErrorS(err, "No Node can have addresses of an ExternalIPPool: its nodeSelector is invalid", "pool", pool.Name)
		selector = labels.Nothing()
	}
	c.mu.Lock()
	had := c.pools[pool.Name]
	c.pools[pool.Name] = selector
	c.mu.Unlock()
	if had == nil || had.String() != selector.String() {
		c.poke()
	}
}

func (c *Cluster) removePool(name string) {
	c.mu.Lock()
	delete(c.pools, name)
	c.mu.Unlock()
	c.poke()
}

// addrOf returns the address at which a Node's agent is joined, IPv4 before IPv6; invalid if it does not take part.
func addrOf(node *corev1.Node) (found netip.Addr) {
	if os, ok := node.Labels[corev1.LabelOSStable]; ok && os != string(corev1.Linux) {
		return netip.Addr{}
	}
	for _, kind := range []corev1.NodeAddressType{corev1.NodeInternalIP, corev1.NodeExternalIP} {
		for _, address := range node.Status.Addresses {
			addr, err := netip.ParseAddr(address.Address)
			if address.Type != kind || err != nil || addr.Zone() != "" {
				continue
			}
			if addr = addr.Unmap(); addr.Is4() {
				return addr
			} else if !found.IsValid() {
				found = addr
			}
		}
	}
	return found
}

// publish makes a new snapshot. The subscribers hear of it if it differs.
func (c *Cluster) publish(alive []string, unknown error) {
	c.mu.Lock()
	now := newSnapshot(sets.New(alive...), c.nodes, c.pools)
	c.mu.Unlock()
	now.Unknown = unknown
	if now.equal(c.snapshot.Load()) {
		return
	}
	c.snapshot.Store(now)
	for _, changed := range c.subscribers {
		changed()
	}
}

// hasPools reports whether the members matter to anything.
func (c *Cluster) hasPools() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.pools) > 0
}

// Run takes part until ctx ends. The informers of Nodes and pools run elsewhere.
func (c *Cluster) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { c.secrets.Run(ctx.Done()) })
	if !cache.WaitForCacheSync(ctx.Done(), c.Nodes.Informer().HasSynced, c.Pools.HasSynced, c.secrets.HasSynced) {
		return
	}
	m := &membership{cluster: c}
	defer m.end()
	subject := problem.Subject{Kind: "Node", Name: c.NodeName}
	task := retry.NewTask("Taking part in the cluster's gossip", rejoinInterval, backoff)
	for {
		err := m.sync(ctx)
		if ctx.Err() != nil {
			return
		}
		if reason := cmp.Or(err, m.otherKeys()); reason != nil && c.hasPools() {
			c.Problems.Report(ReasonMembersUnknown, subject, reason.Error())
		} else {
			c.Problems.Resolve(ReasonMembersUnknown, subject)
		}
		timer := time.NewTimer(task.Done(err))
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}
