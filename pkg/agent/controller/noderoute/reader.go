// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
)

// Accepted is the usable part of a Node's object.
type Accepted struct {
	// Networks are the Pod networks that the Node has got (claims), Addresses those that other Nodes may send tunnel packets to. Both are in
	// order.
	Networks  []netip.Prefix
	Addresses []netip.Addr
}

func (a Accepted) equal(b Accepted) bool {
	return slices.Equal(a.Networks, b.Networks) && slices.Equal(a.Addresses, b.Addresses)
}

func (a Accepted) empty() bool { return len(a.Networks)+len(a.Addresses) == 0 }

// Reader tells other parts of the agent what counts of Node objects: they and the controller read the same. The controller reports what it
// refuses.
type Reader struct {
	synced cache.InformerSynced

	// mutex guards the rest, and orders what the watchers are told.
	mutex    sync.Mutex
	claims   *claims
	accepted map[string]Accepted
	watchers []func(node string, now Accepted)
}

// NewReader makes a Reader that knows no Node.
func NewReader() *Reader { return &Reader{claims: newClaims(), accepted: map[string]Accepted{}} }

// Follow registers the Reader with the informer, which the caller starts afterwards.
func (r *Reader) Follow(nodes coreinformers.NodeInformer) error {
	registration, err := nodes.Informer().AddEventHandler(recovery.Handler("NodeReader", "Node", cache.ResourceEventHandlerFuncs{
		AddFunc:    r.handle,
		UpdateFunc: func(_, now any) { r.handle(now) },
		DeleteFunc: func(object any) {
			if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
				r.Delete(name.Name)
			}
		},
	}))
	if err != nil {
		return fmt.Errorf("watch Nodes: %w", err)
	}
	r.synced = registration.HasSynced
	return nil
}

// HasSynced reports whether the watchers know all Nodes of the start.
func (r *Reader) HasSynced() bool { return r.synced() }

// Watch calls changed, one call after the other, with each Node of which something else counts than before, and with what that is: nothing for
// a Node that has gone. It is called before the first Node is known. changed must not use the Reader.
func (r *Reader) Watch(changed func(node string, now Accepted)) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.watchers = append(r.watchers, changed)
}

// PodNetworks returns the Pod networks of all Nodes.
func (r *Reader) PodNetworks() (networks []netip.Prefix) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, a := range r.accepted {
		networks = append(networks, a.Networks...)
	}
	return networks
}

// Set and Delete tell the Reader of a Node's object, without an informer.
func (r *Reader) Set(node *corev1.Node) { r.change(node.Name, readNode(node)) }

// Delete tells the Reader that the object has gone.
func (r *Reader) Delete(name string) { r.change(name, nil) }

func (r *Reader) handle(object any) {
	if node, ok := object.(*corev1.Node); ok {
		r.Set(node)
	}
}

func (r *Reader) change(name string, now *object) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	_, affected := r.claims.set(name, now)
	for _, node := range append(affected, name) {
		a := r.claims.accepted(node)
		if a.equal(r.accepted[node]) {
			continue
		}
		if r.accepted[node] = a; a.empty() {
			delete(r.accepted, node)
		}
		for _, changed := range r.watchers {
			changed(node, a)
		}
	}
}

// accepted returns what counts of the Node's object; nothing if there is none.
func (x *claims) accepted(name string) (a Accepted) {
	x.mutex.Lock()
	defer x.mutex.Unlock()
	for _, c := range x.claims[name] {
		if c.won() {
			a.Networks = append(a.Networks, c.cidr)
		}
	}
	slices.SortFunc(a.Networks, netip.Prefix.Compare)
	if o := x.nodes[name]; o != nil {
		a.Addresses = o.allAddresses()
	}
	return a
}
