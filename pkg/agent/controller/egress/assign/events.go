// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assign

import (
	"context"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// Events tells users of addresses that came to this Node and went.
type Events interface {
	Assigned(e *v1beta1.Egress, addr netip.Addr)
	Unassigned(e *v1beta1.Egress, addr netip.Addr)
}

// KubeEvents makes Events of the Kubernetes API, with the words of Antrea.
type KubeEvents struct {
	broadcaster events.EventBroadcaster
	recorder    events.EventRecorder
	node        string
}

// NewEvents returns Events of a Node, which are sent while Run runs.
func NewEvents(kube kubernetes.Interface, node string) *KubeEvents {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: kube.EventsV1()})
	return &KubeEvents{broadcaster, broadcaster.NewRecorder(scheme.Scheme, "AntreaAgentEgressController"), node}
}

// Run sends until ctx ends.
func (k *KubeEvents) Run(ctx context.Context) {
	if err := k.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		klog.ErrorS(err, "Events of Egress addresses are not sent")
	}
	<-ctx.Done()
	k.broadcaster.Shutdown()
}

// Assigned implements Events.
func (k *KubeEvents) Assigned(e *v1beta1.Egress, addr netip.Addr) {
	k.send(e, "IPAssigned", "Assigned Egress %s with IP %s on Node %s", addr)
}

// Unassigned implements Events.
func (k *KubeEvents) Unassigned(e *v1beta1.Egress, addr netip.Addr) {
	k.send(e, "IPUnassigned", "Unassigned Egress %s with IP %s from Node %s", addr)
}

func (k *KubeEvents) send(e *v1beta1.Egress, reason, note string, addr netip.Addr) {
	// Without the version, client-go takes an Event of another address for a repetition, which it only counts.
	about := &corev1.ObjectReference{
		APIVersion: v1beta1.SchemeGroupVersion.String(), Kind: v1beta1.EgressKind, Name: e.Name, UID: e.UID, ResourceVersion: e.ResourceVersion,
	}
	k.recorder.Eventf(about, nil, corev1.EventTypeNormal, reason, "NodeAssignment", note, e.Name, addr, k.node)
}
