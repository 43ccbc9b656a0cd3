// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package problem

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"
)

const (
	component = "antrea-agent"
	kindNode  = "Node"
)

// SendEvents makes an Event of type Warning from each problem that is new or has another message, from now until ctx ends.
// client-go's broadcaster counts repetitions instead of making new Events, and limits them for each object.
//
// The Event is about the object if that concerns only this Node, or few others. All agents of the cluster see the same
// problem of a remote Node; that Node's own agent makes the Event, and here the problem is shown without one. Problems
// of Services and EndpointSlices make no Event. Problems of files and peers are attributed to this Node.
func SendEvents(ctx context.Context, r *Recorder, kube kubernetes.Interface, nodeName string) {
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: kube.CoreV1().Events("")})
	r.sendTo(broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: component, Host: nodeName}), nodeName)
	context.AfterFunc(ctx, broadcaster.Shutdown)
}

func (r *Recorder) sendTo(events record.EventRecorder, nodeName string) {
	r.listen(func(p Problem) {
		if about := involved(p.Subject, nodeName); about != nil {
			events.Event(about, corev1.EventTypeWarning, string(p.Reason), p.Message)
		}
	})
	r.hear(func(reason, message string) {
		events.Event(ownNode(nodeName), corev1.EventTypeNormal, reason, message)
	})
}

// involved is the object that an Event is about; nil for no Event.
func involved(s Subject, nodeName string) *corev1.ObjectReference {
	own := ownNode(nodeName)
	reference := &corev1.ObjectReference{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name, UID: types.UID(s.UID)}
	switch s.Kind {
	case kindNode:
		if s.Name != nodeName {
			return nil
		}
		return own
	case "Service", "EndpointSlice":
		return nil
	case "Pod":
		reference.APIVersion = "v1"
	case "NetworkPolicy":
		reference.APIVersion = "networking.k8s.io/v1"
	default:
		return own
	}
	return reference
}

// ownNode refers to this Node. Like kubelet: for the Events of a Node, `kubectl describe` expects its name as the UID.
func ownNode(name string) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: kindNode, APIVersion: "v1", Name: name, UID: types.UID(name)}
}
