// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package wireguard

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/config"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/agent/upkeep"
	"github.com/antrea-oncache/antrea/pkg/client/nodes"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	controllerName = "WireGuardController"
	// lookInterval is the time between two looks at the device without an event.
	lookInterval = 10 * time.Second
	// largestMTU is Antrea's limit for all devices of Pods and between Nodes.
	largestMTU = 65000

	// ReasonNoEncryption: packets to a Node's Pods are dropped because there is no key of it. The subject is that Node.
	ReasonNoEncryption problem.Reason = "NoEncryption"
	// ReasonKeyChanged: another program has changed the annotation with this Node's key. The subject is this Node.
	ReasonKeyChanged problem.Reason = "KeyChanged"
)

var backoff = retry.Backoff{Min: 200 * time.Millisecond, Max: 30 * time.Second}

// device is the network device; kernelDevice is the real one.
type device interface {
	read() (state, error)
	apply(ops []operation, want settings) error
}

// Controller keeps the device. Make it with New, call Prepare before there are routes to the device, then Run.
type Controller struct {
	// Restored, if set, is called when the device has been repaired, and leads routes to it again.
	Restored func() error

	nodeName string
	want     settings
	device   device
	kube     kubernetes.Interface
	problems problem.Reporter
	synced   cache.InformerSynced
	wake     chan struct{}

	// mutex guards what follows, and the device.
	mutex sync.Mutex
	peers *peers
	// complete is the argument of Run.
	complete <-chan struct{}
	// repairs counts the repairs of the device that were begun, restored has their number when Restored last succeeded.
	repairs, restored int
	// own is the public key of the device. unpublished is set from the start, and from the making of a key, until the annotation has it: before, the
	// annotation may have a former key of this Node.
	own         wgtypes.Key
	unpublished bool
	// without are the Nodes that have been reported to have no usable key.
	without map[string]string
}

// MTU is the largest packet that fits the uplink once it is encrypted: outer header, UDP and WireGuard's header with the authentication take 60 bytes,
// or 80 if Nodes have IPv6 addresses.
func MTU(uplink *config.Uplink) int {
	const overhead, more6 = 60, 20
	mtu := uplink.MTU - overhead
	if uplink.IPv6.IsValid() {
		mtu -= more6
	}
	return min(mtu, largestMTU)
}

// New registers with the informer of Nodes, and does nothing else before Prepare.
func New(network *config.NetworkConfig, node *config.NodeConfig, kube kubernetes.Interface, informer coreinformers.NodeInformer, problems problem.Reporter) (*Controller, error) {
	want := settings{port: network.WireGuardPort, mtu: node.MTU}
	for _, gateway := range []netip.Addr{node.Gateway.IPv4, node.Gateway.IPv6} {
		if gateway.IsValid() {
			want.addresses = append(want.addresses, netip.PrefixFrom(gateway, gateway.BitLen()))
		}
	}
	return newController(node.Name, want, betweenNodes, kube, informer, problems)
}

func newController(nodeName string, want settings, d device, kube kubernetes.Interface, informer coreinformers.NodeInformer, problems problem.Reporter) (*Controller, error) {
	c := &Controller{
		nodeName: nodeName, want: want, device: d, kube: kube, problems: problems,
		wake: make(chan struct{}, 1), peers: newPeers(), without: map[string]string{}, unpublished: true,
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: c.setNode, UpdateFunc: func(_, now any) { c.setNode(now) }, DeleteFunc: c.deleteNode}
	registration, err := informer.Informer().AddEventHandler(recovery.Handler(controllerName, "Node", handler))
	if err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	c.synced = registration.HasSynced
	return c, nil
}

// Prepare makes the device, with the key that it has, or a new one. Peers of a former agent stay.
func (c *Controller) Prepare() error { return c.reconcile() }

// Run publishes the key and follows the peers until ctx ends. Once complete is closed, all networks are known.
func (c *Controller) Run(ctx context.Context, complete <-chan struct{}) {
	c.mutex.Lock()
	c.complete = complete
	c.mutex.Unlock()
	if !cache.WaitForNamedCacheSyncWithContext(ctx, c.synced) {
		return
	}
	task := retry.NewTask("The upkeep of WireGuard", lookInterval, backoff)
	for ctx.Err() == nil {
		timer := time.NewTimer(task.Done(errors.Join(c.reconcile(), c.publish(ctx))))
		select {
		case <-ctx.Done():
		case <-c.wake:
		case <-complete:
			complete = nil
		case <-timer.C:
		}
		timer.Stop()
	}
}

// Upkeep repairs the device soon after others have changed it.
func (c *Controller) Upkeep() upkeep.Part {
	return upkeep.Part{Name: "WireGuard", Every: lookInterval, Events: upkeep.Links | upkeep.Addresses, Repair: func(context.Context) error { return c.reconcile() }}
}

func (c *Controller) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// reconcile brings the device to what is wanted, and then the routes to it: they end with the device, and when it is down.
func (c *Controller) reconcile() error {
	repairs, err := c.repair()
	if repairs == 0 {
		return err
	}
	if c.Restored != nil {
		if failed := c.Restored(); failed != nil {
			return errors.Join(err, failed)
		}
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.restored = max(c.restored, repairs)
	return err
}

// repair returns the number of repairs so far if routes to the device are not known to be there since one of them; 0 if they are, or the device is not
// as it should be.
func (c *Controller) repair() (repairs int, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	have, err := c.device.read()
	if err != nil {
		return 0, err
	}
	if ops := planDevice(c.want, have); len(ops) > 0 {
		c.unpublished = c.unpublished || slices.ContainsFunc(ops, func(op operation) bool { return op.kind == makeKey })
		c.repairs++
		if err := c.device.apply(ops, c.want); err != nil {
			return 0, err
		}
		if have, err = c.device.read(); err != nil {
			return 0, err
		}
	}
	if c.restored < c.repairs {
		repairs = c.repairs
	}
	if own := have.private.PublicKey(); own != c.own {
		klog.InfoS("The WireGuard device has this public key", "device", config.WireGuardDevice, "key", own.String())
		c.own = own
		c.poke() // it must be published
	}
	complete := isClosed(c.complete)
	want, wrong := c.peers.want(c.own, c.want.port, have.peers, complete)
	c.report(wrong)
	ops := planPeers(want, have.peers, complete)
	if len(ops) == 0 {
		return repairs, nil
	}
	klog.V(2).InfoS("Changing peers of WireGuard", "device", config.WireGuardDevice, "peers", len(want), "changes", len(ops))
	return repairs, c.device.apply(ops, c.want)
}

// report reports Nodes without a usable key, and resolves earlier reports.
func (c *Controller) report(wrong map[string]string) {
	for node, why := range wrong {
		c.problems.Report(ReasonNoEncryption, subject(node), fmt.Sprintf("packets to Pods of Node %s are dropped, because they cannot be encrypted: %s", node, why))
	}
	for node := range c.without {
		if _, still := wrong[node]; !still {
			c.problems.Resolve(ReasonNoEncryption, subject(node))
		}
	}
	c.without = maps.Clone(wrong)
}

func subject(node string) problem.Subject { return problem.Subject{Kind: "Node", Name: node} }

// publish writes the public key into this Node's annotation if it is not there.
func (c *Controller) publish(ctx context.Context) error {
	own, needed := c.lookAtAnnotation()
	if !needed {
		return nil
	}
	return nodes.Annotate(ctx, c.kube, c.nodeName, KeyAnnotation, own.String())
}

// lookAtAnnotation reports whether the annotation needs the key to be written, and a foreign key in it as a problem: other Nodes encrypt for
// whoever has that one.
func (c *Controller) lookAtAnnotation() (own wgtypes.Key, needed bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	published := c.peers.nodes[c.nodeName].key
	switch {
	case c.own == (wgtypes.Key{}):
		return c.own, false
	case published == c.own.String():
		c.unpublished = false
		c.problems.Resolve(ReasonKeyChanged, subject(c.nodeName))
		return c.own, false
	case published != "" && !c.unpublished:
		c.problems.Report(ReasonKeyChanged, subject(c.nodeName), fmt.Sprintf("another program has set annotation %s to %q, which is not this Node's key %s: other "+
			"Nodes encrypt packets to its Pods for the owner of that key until the agent has written its own again; find out who may change Nodes",
			KeyAnnotation, shorten(published), c.own))
	}
	return c.own, true
}

func (c *Controller) setNode(object any) {
	if node, ok := object.(*corev1.Node); ok {
		c.publishedBy(node.Name, published{key: node.Annotations[KeyAnnotation], created: node.CreationTimestamp.Unix(), uid: string(node.UID)})
	}
}

func (c *Controller) deleteNode(object any) {
	if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
		c.publishedBy(name.Name, published{})
	}
}

// publishedBy notes what the Node has published.
func (c *Controller) publishedBy(node string, now published) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.peers.nodes[node] == now {
		return
	}
	if c.peers.nodes[node] = now; now.key == "" {
		delete(c.peers.nodes, node)
	}
	c.poke()
}

func (c *Controller) setNetwork(cidr netip.Prefix, at location) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.peers.networks[cidr] != at {
		c.peers.networks[cidr] = at
		c.poke()
	}
}

func (c *Controller) deleteNetwork(cidr netip.Prefix) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	delete(c.peers.networks, cidr)
	c.poke()
}

// isClosed reports whether the channel is closed; not if it is nil.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
