// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// requestTimeout is longer than the time that the Kubernetes API waits for a webhook (10 s), so that the API says which one does not answer.
	requestTimeout = 15 * time.Second
	// mostUnanswered is the number of requests without an answer after which a round ends: the API may be away, or hang with some objects.
	mostUnanswered = 3
	// quietly is the number of attempts to create an object that exists which are not reported: a watch shows what was written a little later.
	quietly = 3
	// roundTime, without requests that have no answer, ends a round: a later plan may have changes that matter more, and come first.
	roundTime = time.Second
	// mostReported bounds the errors of one Write that are returned.
	mostReported = 5
)

var backoff = retry.Backoff{Min: time.Second, Max: time.Minute}

// Writer makes changes. One that fails is made again after a while, and holds up no others. Its methods are called by one goroutine.
type Writer struct {
	client dynamic.Interface
	failed map[identity]*failure
}

// identity is of what a change does, whatever the content.
type identity struct {
	verb            Verb
	resource        string
	namespace, name string
}

type failure struct {
	delays   retry.Delays
	attempts int
	// until is the time of the next attempt.
	until time.Time
	err   error
}

// NewWriter returns a Writer for the API of client.
func NewWriter(client dynamic.Interface) *Writer {
	return &Writer{client: client, failed: map[identity]*failure{}}
}

func (c Change) identity() identity {
	return identity{c.Verb, c.Type.Resource.String(), c.Namespace, c.Name}
}

// Write makes all changes, in their order, apart from those that have failed and have to wait: it returns the time until the first of these, 0 if
// there are none, and why they failed. Those that have failed come after the others. A change of an object that has changed since is left out: the
// watch shows it. Write ends early if the API cannot be reached, too many requests have no answer, or the time of a round has passed: the caller plans
// again then.
func (w *Writer) Write(ctx context.Context, changes []Change) (again time.Duration, err error) {
	wanted := map[identity]bool{}
	for _, c := range changes {
		wanted[c.identity()] = true
	}
	maps.DeleteFunc(w.failed, func(id identity, _ *failure) bool { return !wanted[id] })
	unanswered, end := 0, time.Now().Add(roundTime)
	for _, c := range w.inTurn(changes) {
		if time.Now().After(end) {
			_, err = w.report(changes)
			return time.Millisecond, err
		}
		if f := w.failed[c.identity()]; f != nil && time.Now().Before(f.until) {
			continue
		}
		began := time.Now()
		failure, status := w.try(ctx, c), apierrors.APIStatus(nil)
		if failure == nil || errors.As(failure, &status) {
			continue
		}
		end = end.Add(time.Since(began))
		if unanswered++; unanswered == mostUnanswered || isUnreachable(failure) || ctx.Err() != nil {
			break
		}
	}
	return w.report(changes)
}

// inTurn returns the changes that have not failed, and then those that have, in the order of their next attempts. So a change
// that ends a round delays each of the others once.
func (w *Writer) inTurn(changes []Change) []Change {
	turn := func(c Change) time.Time {
		if f := w.failed[c.identity()]; f != nil {
			return f.until
		}
		return time.Time{}
	}
	return slices.SortedStableFunc(slices.Values(changes), func(a, b Change) int { return turn(a).Compare(turn(b)) })
}

// isUnreachable reports whether there was no connection to the API, so that all other requests would fail as well.
func isUnreachable(err error) bool {
	var op *net.OpError
	var dns *net.DNSError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &dns)
}

// report returns the time until the first of the failed changes has to be tried again, and why they failed.
func (w *Writer) report(changes []Change) (again time.Duration, err error) {
	var errs []error
	for _, c := range changes {
		f := w.failed[c.identity()]
		if f == nil {
			continue
		}
		if wait := max(time.Until(f.until), time.Millisecond); again == 0 || wait < again {
			again = wait
		}
		if f.err != nil {
			errs = append(errs, f.err)
		}
	}
	if more := len(errs) - mostReported; more > 0 {
		errs = append(errs[:mostReported], fmt.Errorf("and %d more", more))
	}
	return again, errors.Join(errs...)
}

// Refused returns why the API refuses changes of a type's objects, by their names. Changes that have no answer, or come too late, are not refused.
func (w *Writer) Refused(t Type) map[string]string {
	refused := map[string]string{}
	for id, f := range w.failed {
		if id.resource != t.Resource.String() {
			continue
		}
		if apierrors.IsForbidden(f.err) || apierrors.IsInvalid(f.err) || apierrors.IsBadRequest(f.err) {
			refused[id.name] = f.err.Error()
		}
	}
	return refused
}

// try makes a change and keeps why it failed; it returns nil if there is nothing to be done again.
func (w *Writer) try(ctx context.Context, c Change) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	err := w.make(ctx, c)
	gone := c.Verb != Create && (apierrors.IsConflict(err) || apierrors.IsNotFound(err))
	if err == nil || gone {
		delete(w.failed, c.identity())
		if err == nil && c.Verb != PatchStatus {
			klog.InfoS("Changed an object", "change", c.String())
		}
		return nil
	}
	f := w.failed[c.identity()]
	if f == nil {
		f = &failure{delays: retry.Delays{Backoff: backoff}}
		w.failed[c.identity()] = f
	}
	f.attempts++
	f.until = time.Now().Add(f.delays.Next())
	if f.err = nil; !apierrors.IsAlreadyExists(err) || f.attempts > quietly {
		f.err = fmt.Errorf("%s: %w", c, err)
	}
	return err
}

func (w *Writer) make(ctx context.Context, c Change) error {
	client := w.client.Resource(c.Type.Resource).Namespace(c.Namespace)
	switch c.Verb {
	case Create:
		_, err := client.Create(ctx, &unstructured.Unstructured{Object: c.Content}, metav1.CreateOptions{FieldValidation: c.Type.fieldValidation()})
		return err
	case Delete:
		return client.Delete(ctx, c.Name, metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &c.UID, ResourceVersion: &c.Version}})
	}
	content := maps.Clone(c.Content)
	metadata, _ := content["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	if metadata == nil {
		metadata = map[string]any{}
	}
	metadata["uid"], metadata["resourceVersion"] = string(c.UID), c.Version
	content["metadata"] = metadata
	body, err := json.Marshal(content)
	if err != nil {
		return err
	}
	var subresources []string
	if c.Verb == PatchStatus {
		subresources = []string{"status"}
	}
	_, err = client.Patch(ctx, c.Name, types.MergePatchType, body, metav1.PatchOptions{FieldValidation: c.Type.fieldValidation()}, subresources...)
	return err
}
