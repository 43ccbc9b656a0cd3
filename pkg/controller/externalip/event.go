// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package externalip

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// recorder tells users of Services and Egresses why these have no address.
type recorder struct {
	broadcaster        events.EventBroadcaster
	services, egresses events.EventRecorder
}

// newRecorder returns a recorder whose Events are sent while run runs.
func newRecorder(kube kubernetes.Interface) *recorder {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: kube.EventsV1()})
	return &recorder{
		broadcaster, broadcaster.NewRecorder(scheme.Scheme, "AntreaServiceExternalIPController"), broadcaster.NewRecorder(scheme.Scheme, "AntreaEgressController"),
	}
}

func (r *recorder) run(ctx context.Context) {
	if err := r.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		klog.ErrorS(err, "Events of Services and Egresses without an address are not sent")
	}
	<-ctx.Done()
	r.broadcaster.Shutdown()
}

func (r *recorder) refuse(c *claimant, message string) {
	// Without the version, client-go takes an Event with another message for a repetition, which it only counts.
	about := &corev1.ObjectReference{
		APIVersion: "v1", Kind: c.kind, Namespace: c.GetNamespace(), Name: c.GetName(), UID: c.GetUID(), ResourceVersion: c.GetResourceVersion(),
	}
	to, text := r.services, "Cannot allocate an external IP: "
	if c.egress != nil {
		about.APIVersion = v1beta1.SchemeGroupVersion.String()
		to, text = r.egresses, allocationMessage
	}
	to.Eventf(about, nil, corev1.EventTypeWarning, allocationError, "Allocation", "%s", text+message)
}
