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
)

// recorder tells users of Services why these have no address.
type recorder struct {
	broadcaster events.EventBroadcaster
	events      events.EventRecorder
}

// newRecorder returns a recorder whose Events are sent while run runs.
func newRecorder(kube kubernetes.Interface) *recorder {
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: kube.EventsV1()})
	return &recorder{broadcaster, broadcaster.NewRecorder(scheme.Scheme, "AntreaServiceExternalIPController")}
}

func (r *recorder) run(ctx context.Context) {
	if err := r.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		klog.ErrorS(err, "Events of Services without an external address are not sent")
	}
	<-ctx.Done()
	r.broadcaster.Shutdown()
}

func (r *recorder) refuse(s *corev1.Service, message string) {
	about := &corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: s.Namespace, Name: s.Name, UID: s.UID}
	r.events.Eventf(about, nil, corev1.EventTypeWarning, allocationError, "Allocation", "Cannot allocate an external IP: %s", message)
}
