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
	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// annotateInterval is how long the agent waits after the Kubernetes API has refused the annotation, and how often on average it looks at its Node
// if somebody else changes the annotation all the time. It looks annotateBurst times before that matters.
const (
	annotateInterval = 5 * time.Second
	annotateBurst    = 10
)

// Announcer gives this Node the annotation by which others know that they may tell it keys, or removes it, and does so again when somebody
// has changed it, or has deleted the Node and registered it again. Nobody is told keys before: programs that do not understand them leave
// such packets to Open vSwitch.
type Announcer struct {
	kube clientkubernetes.Interface
	node string
	// wake tells run to look at the Node.
	wake chan struct{}
	// settled is closed when the annotation was right for the first time.
	settled chan struct{}

	mu sync.Mutex
	// wanted is what the annotation should be, empty for none. Nothing is changed before it is known.
	wanted string
	known  bool
}

// NewAnnouncer makes the announcer of a Node. It does nothing until Run.
func NewAnnouncer(kube clientkubernetes.Interface, node string) *Announcer {
	return &Announcer{kube: kube, node: node, wake: make(chan struct{}, 1), settled: make(chan struct{})}
}

// Want sets what the annotation should be, empty for none.
func (a *Announcer) Want(value string) {
	a.mu.Lock()
	a.wanted, a.known = value, true
	a.mu.Unlock()
	a.look()
}

// Settled is closed when the annotation was right for the first time.
func (a *Announcer) Settled() <-chan struct{} { return a.settled }

func (a *Announcer) look() {
	select {
	case a.wake <- struct{}{}:
	default:
	}
}

// wrong reports whether the annotation of a Node object should be another one, and which.
func (a *Announcer) wrong(object metav1.Object) (wanted string, wrong bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wanted, a.known && object.GetAnnotations()[oncache.RewritePortAnnotation] != a.wanted
}

// Handler notices that the annotation has been changed. Objects that are older than the latest change do no harm: run reads the Node again.
func (a *Announcer) Handler() cache.ResourceEventHandler {
	notice := func(object any) {
		if node, ok := object.(metav1.Object); ok && node.GetName() == a.node {
			if _, wrong := a.wrong(node); wrong {
				a.look()
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

// annotate makes the annotation right once. It is known what that is: nobody wakes run before.
func (a *Announcer) annotate(ctx context.Context) error {
	object, err := a.kube.CoreV1().Nodes().Get(ctx, a.node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if wanted, wrong := a.wrong(object); wrong {
		if err := kubernetes.AnnotateNode(ctx, a.kube, a.node, oncache.RewritePortAnnotation, wanted); err != nil {
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
