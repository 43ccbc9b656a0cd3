// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/multicluster/change"
	"github.com/antrea-oncache/antrea/multicluster/commonarea"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	policyReason   = "ACNPImportFailed"
	policyReporter = "resourceimport-controller"
	// mostEvents is the number of Events in a round: their names are new, so that each that fails is another request.
	mostEvents = 10
)

var eventBackoff = retry.Backoff{Min: time.Second, Max: time.Minute}

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

// teller makes Events of failures in the leader's Namespace, one for each message of a ResourceImport. It is for one goroutine.
type teller struct {
	// told are the messages that were said, by the names of ResourceImports.
	told map[string]string
	// next is the name with which a round begins, so that each has its turn.
	next   string
	delays retry.Delays
	// failure is why the last round has failed, nil if it has not; until is the time of the next one then.
	failure error
	until   time.Time
}

func newTeller() *teller {
	return &teller{told: map[string]string{}, delays: retry.Delays{Backoff: eventBackoff}}
}

// tell makes the Events that are missing, some of them if there are many. After a failure it makes none for a while, and returns that failure.
func (t *teller) tell(ctx context.Context, area *commonarea.Area, failures map[string]string) error {
	maps.DeleteFunc(t.told, func(name, message string) bool { return failures[name] != message })
	if t.failure != nil && time.Now().Before(t.until) {
		return t.failure
	}
	if t.failure = t.round(ctx, area, failures); t.failure != nil {
		t.until = time.Now().Add(t.delays.Next())
		return t.failure
	}
	t.delays.Reset()
	return nil
}

// round makes Events. One that the leader refuses keeps no others back; a leader that does not answer is not asked again.
func (t *teller) round(ctx context.Context, area *commonarea.Area, failures map[string]string) error {
	names := sortedKeys(failures)
	first, _ := slices.BinarySearch(names, t.next)
	sent, errs := 0, []error(nil)
	for _, name := range slices.Concat(names[first:], names[:first]) {
		r := area.Imports.Get(area.Namespace, name)
		if t.told[name] == failures[name] || r == nil {
			continue
		}
		if t.next = name; sent == mostEvents {
			break
		}
		sent++
		err := create(ctx, area, policyEvent(r, area.ClusterID, failures[name], metav1.Now()))
		if err == nil {
			t.told[name] = failures[name]
			continue
		}
		errs = append(errs, fmt.Errorf("making an Event about ResourceImport %s: %w", name, err))
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
			break
		}
	}
	return errors.Join(errs...)
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
