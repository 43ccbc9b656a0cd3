// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rewriteport makes the port of rewritten packets known: to the other Nodes, by an annotation (announcer.go); to the cache, which
// Nodes accept such packets (peers.go); and to users, whose Pods may have it as their hostPort (hostports.go).
package rewriteport

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientkubernetes "k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/client/nodes"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// annotateInterval is the wait after the Kubernetes API has refused the annotation, and the average time between two reads of the Node if another
// program changes the annotation all the time. The limit applies after annotateBurst reads.
const (
	annotateInterval = 5 * time.Second
	annotateBurst    = 10
)

// Announcer sets or removes the annotation that tells other Nodes that they may send keys to this one, and does so again when it was changed,
// or when the Node was deleted and registered again. Without the annotation other Nodes send no keys: programs that do not
// understand them leave such packets to Open vSwitch.
type Announcer struct {
	kube clientkubernetes.Interface
	node string
	// wake tells Run to look at the Node.
	wake chan struct{}
	// settled is closed when the annotation was right for the first time.
	settled chan struct{}

	mu sync.Mutex
	// wanted is the right value of the annotation, empty for none. Nothing is changed before it is known.
	wanted string
	known  bool
}

// NewAnnouncer makes the announcer of a Node. It does nothing until Run.
func NewAnnouncer(kube clientkubernetes.Interface, node string) *Announcer {
	return &Announcer{kube: kube, node: node, wake: make(chan struct{}, 1), settled: make(chan struct{})}
}

// Want sets the right value of the annotation, empty for none.
func (a *Announcer) Want(value string) {
	a.mu.Lock()
	a.wanted, a.known = value, true
	a.mu.Unlock()
	a.recheck()
}

// Settled is closed when the annotation was right for the first time.
func (a *Announcer) Settled() <-chan struct{} { return a.settled }

func (a *Announcer) recheck() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// outdated reports whether the annotation of a Node object should be another one, and which.
func (a *Announcer) outdated(object metav1.Object) (wanted string, outdated bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wanted, a.known && object.GetAnnotations()[oncache.RewritePortAnnotation] != a.wanted
}

// Handler notices that the annotation has been changed. Objects that are older than the latest change do no harm: Run reads the Node again.
func (a *Announcer) Handler() cache.ResourceEventHandler {
	notice := func(object any) {
		if node, ok := object.(metav1.Object); ok && node.GetName() == a.node {
			if _, outdated := a.outdated(node); outdated {
				a.recheck()
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: notice, UpdateFunc: func(_, object any) { notice(object) }}
}

// Run keeps the annotation right until ctx ends.
func (a *Announcer) Run(ctx context.Context) {
	looks := flowcontrol.NewTokenBucketRateLimiter(float32(1/annotateInterval.Seconds()), annotateBurst)
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		}
		for {
			if looks.Wait(ctx) != nil {
				return
			}
			err := a.annotate(ctx)
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return
			}
			klog.ErrorS(err, "Could not tell the other Nodes whether this one understands rewritten packets, trying again")
			if retry.Sleep(ctx, annotateInterval) != nil {
				return
			}
		}
	}
}

// annotate makes the annotation right once. Its right value is known: nothing wakes Run before.
func (a *Announcer) annotate(ctx context.Context) error {
	object, err := a.kube.CoreV1().Nodes().Get(ctx, a.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if wanted, outdated := a.outdated(object); outdated {
		if err := nodes.Annotate(ctx, a.kube, a.node, oncache.RewritePortAnnotation, wanted); err != nil {
			return err
		}
	}
	select {
	case <-a.settled:
	default:
		close(a.settled)
	}
	return nil
}
