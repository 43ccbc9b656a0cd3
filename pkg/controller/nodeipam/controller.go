// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeipam

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// settleTime is longer than a former controller may still write: two seconds until it knows that it serves no more, and its last request.
	settleTime     = 10 * time.Second
	requestTimeout = 5 * time.Second
	// listTimeout is longer: thousands of Nodes are tens of megabytes.
	listTimeout = 30 * time.Second
	// gatherTime is for Nodes that join at about the same time: one list is enough for them.
	gatherTime = time.Second
	// checkInterval is the time after which Nodes that got no network are tried again.
	checkInterval = time.Minute
	// notAvailable is the reason that kube-controller-manager gives.
	notAvailable = "CIDRNotAvailable"
	overlaps     = "PodCIDROverlaps"
)

var backoff = retry.Backoff{Min: time.Second, Max: time.Minute}

// Controller gives Nodes their networks.
type Controller struct {
	kube      kubernetes.Interface
	serving   func() error
	informer  cache.SharedIndexInformer
	allocator *allocator
	wake      chan struct{}

	broadcaster events.EventBroadcaster
	events      events.EventRecorder
	// refused are the Nodes, by UID, about which an Event has been sent, failed the Nodes whose last write has failed: they come last.
	refused, failed map[string]bool
	// overlap is the last report about Nodes that have the same network; "" if they have none in common.
	overlap string
}

// New returns a Controller that does nothing before Run, and nothing while serving returns an error.
func New(kube kubernetes.Interface, c Config, serving func() error) (*Controller, error) {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: kube.EventsV1()})
	controller := &Controller{
		kube: kube, serving: serving, informer: coreinformers.NewNodeInformer(kube, 0, nil), allocator: newAllocator(c), wake: make(chan struct{}, 1),
		broadcaster: broadcaster, events: broadcaster.NewRecorder(scheme.Scheme, "AntreaNodeIPAM"), refused: map[string]bool{}, failed: map[string]bool{},
	}
	if err := controller.informer.SetTransform(withoutStatus); err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	_, err := controller.informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) {
			if needsNetworks(object) {
				controller.poke()
			}
		},
		// A Node that is gone has left its networks to others.
		DeleteFunc: func(any) { controller.poke() },
	})
	if err != nil {
		return nil, fmt.Errorf("watch Nodes: %w", err)
	}
	return controller, nil
}

// withoutStatus removes what takes most of the memory and is not needed.
func withoutStatus(object any) (any, error) {
	if n, isNode := object.(*corev1.Node); isNode {
		n.Status, n.ManagedFields = corev1.NodeStatus{}, nil
	}
	return object, nil
}

func needsNetworks(object any) bool {
	n, isNode := object.(*corev1.Node)
	return isNode && n.Spec.PodCIDR == "" && len(n.Spec.PodCIDRs) == 0
}

func (c *Controller) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	var parts sync.WaitGroup
	defer parts.Wait()
	parts.Go(func() { c.informer.Run(ctx.Done()) })
	if err := c.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		klog.ErrorS(err, "Events of Nodes without a Pod network are not sent")
	}
	defer c.broadcaster.Shutdown()
	if !cache.WaitForCacheSync(ctx.Done(), c.informer.HasSynced) {
		return
	}
	task := retry.NewTask("The allocation of Pod networks", checkInterval, backoff)
	var since time.Time // when this controller began to serve; zero while it does not
	for {
		delay := backoff.Min
		switch {
		case c.serving() != nil:
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= settleTime:
			delay = task.Done(c.allocate(ctx))
		}
		timer := time.NewTimer(delay)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-c.wake:
			c.gather(ctx)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// gather waits until others that also need networks have told so.
func (c *Controller) gather(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(gatherTime):
	}
	select {
	case <-c.wake:
	default:
	}
}

// list returns all Nodes, the oldest first. It fails if another controller may have served since it began.
func (c *Controller) list(ctx context.Context) ([]node, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	var watch sync.WaitGroup
	watch.Go(func() {
		for c.serving() == nil {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Second):
			}
		}
		cancel()
	})
	defer watch.Wait()
	defer cancel()
	list, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return nil, fmt.Errorf("listing the Nodes: %w", err)
	}
	return nodesOf(list.Items), nil
}

// allocate gives networks to all Nodes without them, if there are any. The list of all Nodes is the storage's: the informer is late.
func (c *Controller) allocate(ctx context.Context) error {
	if !slices.ContainsFunc(c.informer.GetStore().List(), needsNetworks) {
		return nil
	}
	nodes, err := c.list(ctx)
	if err != nil {
		return err
	}
	c.forget(nodes)
	c.reportOverlap(nodes)
	last := slices.DeleteFunc(slices.Clone(nodes), func(n node) bool { return !c.failed[n.uid] })
	nodes = append(slices.DeleteFunc(nodes, func(n node) bool { return c.failed[n.uid] }), last...)
	for _, o := range c.allocator.plan(nodes) {
		if err := c.serving(); err != nil {
			return err
		}
		if o.refusal != "" {
			c.report(o)
			continue
		}
		// The rest of the plan may be wrong as well: another allocator may have written.
		if err := c.write(ctx, o); err != nil {
			c.failed[o.node.uid] = true
			return err
		}
		delete(c.failed, o.node.uid)
		delete(c.refused, o.node.uid)
	}
	return nil
}

// forget drops what is kept about Nodes that are gone.
func (c *Controller) forget(nodes []node) {
	there := map[string]bool{}
	for _, n := range nodes {
		there[n.uid] = true
	}
	for _, kept := range []map[string]bool{c.refused, c.failed} {
		maps.DeleteFunc(kept, func(uid string, _ bool) bool { return !there[uid] })
	}
}

// nodesOf returns the Nodes with the oldest first.
func nodesOf(items []corev1.Node) []node {
	slices.SortFunc(items, func(a, b corev1.Node) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	nodes := make([]node, 0, len(items))
	for i := range items {
		n := node{name: items[i].Name, uid: string(items[i].UID)}
		for _, text := range append(items[i].Spec.PodCIDRs, items[i].Spec.PodCIDR) {
			if text == "" {
				continue
			}
			network, err := netip.ParsePrefix(text)
			if err != nil {
				n.unreadable = true
				continue
			}
			n.networks = append(n.networks, network.Masked())
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// write gives a Node its networks. The API refuses it for another Node of that name, and for one that has networks by now.
func (c *Controller) write(ctx context.Context, o operation) error {
	var texts []string
	for _, network := range o.networks {
		texts = append(texts, network.String())
	}
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": o.node.uid},
		"spec":     map[string]any{"podCIDR": texts[0], "podCIDRs": texts},
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if _, err := c.kube.CoreV1().Nodes().Patch(ctx, o.node.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("giving Node %s the Pod networks %v: %w", o.node.name, texts, err)
	}
	klog.InfoS("Gave a Node its Pod networks", "node", o.node.name, "networks", texts)
	return nil
}

// report says, once for each Node, why it has no network.
func (c *Controller) report(o operation) {
	if c.refused[o.node.uid] {
		return
	}
	c.refused[o.node.uid] = true
	klog.InfoS("A Node gets no Pod network", "node", o.node.name, "reason", o.refusal)
	c.events.Eventf(reference(o.node), nil, corev1.EventTypeWarning, notAvailable, "Allocation", "No Pod network for this Node: %s; enlarge nodeIPAM.clusterCIDRs, or delete Nodes", o.refusal)
}

// reportOverlap says, once, that two Nodes have the same addresses: another allocator works as well, or has.
func (c *Controller) reportOverlap(nodes []node) {
	older, younger, network := overlap(nodes)
	if older == nil {
		c.overlap = ""
		return
	}
	text := fmt.Sprintf("%s %s %s", older.uid, younger.uid, network)
	if text == c.overlap {
		return
	}
	c.overlap = text
	klog.InfoS("Pod networks of two Nodes overlap", "node", younger.name, "network", network, "older", older.name)
	c.events.Eventf(reference(*younger), nil, corev1.EventTypeWarning, overlaps, "Allocation",
		"Node %s also has addresses of the Pod network %s: does kube-controller-manager allocate as well (--allocate-node-cidrs)? Delete this Node, and let it join again", older.name, network)
}

// reference names a Node in an Event. Events of Nodes are found by the name in place of the UID.
func reference(n node) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Node", Name: n.name, UID: types.UID(n.name)}
}
