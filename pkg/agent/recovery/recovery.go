// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package recovery confines a panic: one request, one object or one part of the agent fails, and the agent continues. Each
// boundary whose failure must not stop the work for others passes its own work to Call, which turns a panic into an error,
// or to Keep, which restarts the work.
//
// Code behind a boundary unlocks with defer, or holds a lock only where nothing can panic: a lock that stays held is worse
// than an agent that ends. Anything that cannot be recovered (a fatal error of Go's runtime) still ends the agent.
package recovery

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/metrics"
	"k8s.io/component-base/metrics/legacyregistry"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/retry"
)

const (
	// ReasonPanic is the reason of the problems that this package reports.
	ReasonPanic problem.Reason = "Panic"
	// KindPart is the kind of a subject that is a part of the agent rather than an object.
	KindPart = "AgentPart"

	// maxStack and maxValue bound what one panic adds to the log, in bytes.
	maxStack = 16 << 10
	maxValue = 1 << 10

	minRestartDelay = time.Second
	maxRestartDelay = time.Minute
)

var panics = metrics.NewCounterVec(&metrics.CounterOpts{
	Name:           "antrea_agent_panic_count",
	Help:           "Panics that the agent has survived, by the boundary where they were caught.",
	StabilityLevel: metrics.ALPHA,
}, []string{"boundary"})

func init() { legacyregistry.MustRegister(panics) }

// reporter is global to the process, like the log and the metrics.
var reporter atomic.Pointer[problem.Reporter]

// ReportTo makes this package report panics from now on. Panics that Kubernetes' libraries catch no longer end the agent
// either; each of them loses one notification. It must be called before any background work starts.
func ReportTo(r problem.Reporter) {
	reporter.Store(&r)
	inLibraries()
}

var inLibraries = sync.OnceFunc(func() {
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, value any) {
		if value != http.ErrAbortHandler { // how an API handler aborts its connection
			_ = note("kubernetes", Part("kubernetes libraries"), value)
		}
	})
})

// Part is the subject that stands for a part of the agent.
func Part(name string) problem.Subject { return problem.Subject{Kind: KindPart, Name: name} }

// Error is a panic that was recovered.
type Error struct {
	// Value is the value given to panic, as text of bounded length.
	Value string
}

func (e *Error) Error() string { return "the agent has panicked: " + e.Value }

// Is reports whether an error is, or wraps, a panic.
func Is(err error) bool {
	panicked := (*Error)(nil)
	return errors.As(err, &panicked)
}

// Call runs f on behalf of subject. A panic is logged with its stack and the key/value pairs, counted, reported as a
// problem of subject, and returned as an *Error. Once f has returned normally, the problem is resolved. The boundary is a
// short constant, the metric's label.
func Call(boundary string, subject problem.Subject, f func() error, keysAndValues ...any) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = note(boundary, subject, value, keysAndValues...)
		}
	}()
	err = f()
	if r := reporter.Load(); r != nil {
		(*r).Resolve(ReasonPanic, subject)
	}
	return err
}

// note is called while the stack is still the panic's.
func note(boundary string, subject problem.Subject, value any, keysAndValues ...any) error {
	panics.WithLabelValues(boundary).Inc()
	err := &Error{Value: bounded(fmt.Sprint(value), maxValue)}
	stack := bounded(string(debug.Stack()), maxStack)
	klog.ErrorS(err, "Recovered from a panic, please report it", append([]any{"boundary", boundary, "subject", subject, "stack", stack}, keysAndValues...)...)
	if r := reporter.Load(); r != nil {
		(*r).Report(ReasonPanic, subject, fmt.Sprintf("%v (%s); the agent continues without it, its log has the stack", err, boundary))
	}
	return err
}

func bounded(s string, length int) string {
	if len(s) <= length {
		return s
	}
	return s[:length] + "..."
}

// Keep runs a part of the agent until it returns normally or ctx ends. After a panic it restarts the part. The delay before
// that doubles with each further panic. The part must tolerate being run again.
func Keep(ctx context.Context, name string, run func(context.Context)) {
	backoff := wait.Backoff{Duration: minRestartDelay, Factor: 2, Steps: 100, Cap: maxRestartDelay}
	next := backoff
	for {
		began := time.Now()
		err := Call(name, Part(name), func() error { run(ctx); return nil })
		if err == nil || ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxRestartDelay {
			next = backoff
		}
		if retry.Sleep(ctx, next.Step()) != nil {
			return
		}
	}
}

// Handler confines the panics of an informer's handler for objects of a kind. Only the notification of the object is
// lost, and the informer still syncs.
func Handler(boundary, kind string, handler cache.ResourceEventHandler) cache.ResourceEventHandler {
	guard := func(object any, f func()) {
		subject := problem.Subject{Kind: kind, Name: fmt.Sprintf("%T", object)}
		if name, err := cache.DeletionHandlingObjectToName(object); err == nil {
			subject.Namespace, subject.Name = name.Namespace, name.Name
		}
		_ = Call(boundary, subject, func() error { f(); return nil })
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(object any, initial bool) { guard(object, func() { handler.OnAdd(object, initial) }) },
		UpdateFunc: func(old, object any) { guard(object, func() { handler.OnUpdate(old, object) }) },
		DeleteFunc: func(object any) { guard(object, func() { handler.OnDelete(object) }) },
	}
}
