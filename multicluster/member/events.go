// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/commonarea"
)

const (
	policyReason   = "ACNPImportFailed"
	policyReporter = "resourceimport-controller"
	// mostEvents is the number of Events in a round: their names are new, so that each that fails is another request.
	mostEvents = 10
)

// policyFailures says why policies are not as the leader has them, by their ResourceImports' names.
func policyFailures(refusals []refusal) map[string]string {
	out := map[string]string{}
	for _, r := range refusals {
		if r.policy != "" {
			out[r.policy] = fmt.Sprintf("%.900s", r.err.Error())
		}
	}
	return out
}

// tell makes Events of failures in the leader's Namespace, one for each message of a ResourceImport, and notes in told what is said.
func tell(ctx context.Context, area *commonarea.Area, told, failures map[string]string) error {
	maps.DeleteFunc(told, func(name, message string) bool { return failures[name] != message })
	sent := 0
	for _, name := range sortedKeys(failures) {
		r := area.Imports.Get(area.Namespace, name)
		if told[name] == failures[name] || r == nil || sent == mostEvents {
			continue
		}
		sent++
		if err := create(ctx, area, policyEvent(r, area.ClusterID, failures[name], metav1.Now())); err != nil {
			return fmt.Errorf("making an Event about ResourceImport %s: %w", name, err)
		}
		told[name] = failures[name]
	}
	return nil
}

func create(ctx context.Context, area *commonarea.Area, event *corev1.Event) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	made := change.ToCreate(events, event)
	_, err := area.Client.Resource(events.Resource).Namespace(event.Namespace).Create(ctx, &unstructured.Unstructured{Object: made.Content}, metav1.CreateOptions{})
	return err
}

// policyEvent is an Event about a ResourceImport.
func policyEvent(r *v1alpha1.ResourceImport, clusterID, message string, now metav1.Time) *corev1.Event {
	return &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: fmt.Sprintf("%s.%x", strings.TrimRight(fmt.Sprintf("%.200s", r.Name), "-."), now.UnixNano())},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: v1alpha1.ResourceImportKind, Namespace: r.Namespace, Name: r.Name, UID: r.UID,
		},
		Type: corev1.EventTypeWarning, Reason: policyReason, Message: fmt.Sprintf("%s in importing cluster %s", message, clusterID),
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
		ReportingController: policyReporter, ReportingInstance: clusterID, Source: corev1.EventSource{Component: policyReporter},
	}
}
