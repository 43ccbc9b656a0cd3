// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/dynamic"
	coreinformers "k8s.io/client-go/informers/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/antrea-oncache/antrea/pkg/agent/controller/egress/assign"
	"github.com/antrea-oncache/antrea/pkg/agent/recovery"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

// offMessage begins the conditions that Off writes, by which a Controller recognizes them.
const offMessage = assignmentMessage + "Egress needs trafficEncapMode encap without encryption, but is "

// Off is in the place of a Controller where the traffic mode has no Egress. Packets keep the addresses of Nodes there, as in Antrea; the status of
// each Egress says so.
type Off struct {
	nodeName, mode string
	egresses       cache.SharedIndexInformer
	nodes          coreinformers.NodeInformer
	statuses       dynamic.Interface
	wake           chan struct{}
}

// NewOff returns an Off of a Node in a traffic mode, which does nothing before Run.
func NewOff(nodeName, mode string, egresses cache.SharedIndexInformer, nodes coreinformers.NodeInformer, statuses dynamic.Interface) (*Off, error) {
	o := &Off{nodeName, mode, egresses, nodes, statuses, make(chan struct{}, 1)}
	poke := func(any) {
		select {
		case o.wake <- struct{}{}:
		default:
		}
	}
	handler := cache.ResourceEventHandlerFuncs{AddFunc: poke, DeleteFunc: poke, UpdateFunc: func(_, object any) { poke(object) }}
	nodeHandler := cache.ResourceEventHandlerFuncs{AddFunc: poke, DeleteFunc: poke, UpdateFunc: func(former, object any) {
		if assign.IsReady(former) != assign.IsReady(object) {
			poke(object)
		}
	}}
	_, err := egresses.AddEventHandler(recovery.Handler(controllerName, v1beta1.EgressKind, handler))
	_, nodeErr := nodes.Informer().AddEventHandler(recovery.Handler(controllerName, "Node", nodeHandler))
	if err = errors.Join(err, nodeErr); err != nil {
		return nil, fmt.Errorf("watch Egresses and Nodes: %w", err)
	}
	return o, nil
}

// Run works until ctx ends. The informers run elsewhere.
func (o *Off) Run(ctx context.Context) {
	if !cache.WaitForCacheSync(ctx.Done(), o.egresses.HasSynced, o.nodes.Informer().HasSynced) {
		return
	}
	task := retry.NewTask("The report that Egresses have no effect", checkInterval, backoff)
	for {
		err := o.report(ctx)
		timer := time.NewTimer(task.Done(err))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-o.wake:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// report writes the statuses that this Node has to write.
func (o *Off) report(ctx context.Context) error {
	nodes, err := o.nodes.Lister().List(labels.Everything())
	if err != nil {
		return err
	}
	ready := assign.ReadyNames(nodes)
	var errs []error
	for _, e := range crd.Stored[v1beta1.Egress](o.egresses) {
		status, changed := o.statusOf(e)
		if changed && o.writes(e, ready) {
			_, err := writeStatus(ctx, o.statuses, e, status)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// writes reports whether this Node writes the status: the Node that it names, which another mode may still have, or else one of those that are ready.
func (o *Off) writes(e *v1beta1.Egress, ready []string) bool {
	if slices.Contains(ready, e.Status.EgressNode) {
		return e.Status.EgressNode == o.nodeName
	}
	return assign.Reporter(ready, e.Name) == o.nodeName
}

// statusOf returns the status that an Egress should have; changed is false if it has it.
func (o *Off) statusOf(e *v1beta1.Egress) (status v1beta1.EgressStatus, changed bool) {
	status = withoutAssigned(e)
	status.Conditions = slices.Insert(status.Conditions, 0, keepTime(e, v1beta1.EgressCondition{
		Type: v1beta1.IPAssigned, Status: corev1.ConditionFalse, Reason: assignmentError,
		Message: offMessage + o.mode + "; packets of its Pods to outside the cluster have the addresses of Nodes",
	}))
	return status, differs(e, status)
}

// isOff reports whether an Off has written the status.
func isOff(e *v1beta1.Egress) bool {
	return strings.HasPrefix(unassigned(e.Status), offMessage)
}
