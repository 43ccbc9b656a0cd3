// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"time"

	"k8s.io/klog/v2"
)

// Task is work that is done again and again, or until it succeeds. Its methods are called by the goroutine that does it.
type Task struct {
	name     string
	values   []any
	interval time.Duration
	delays   Delays
	// failure is the reason of the last failure, empty after a success.
	failure string
}

// NewTask makes a Task that is repeated after interval. Log lines begin with its name, a noun, and end with values, in the format
// of klog.InfoS.
func NewTask(name string, interval time.Duration, backoff Backoff, values ...any) *Task {
	return &Task{name: name, values: values, interval: interval, delays: Delays{Backoff: backoff}}
}

// Done records the result of an attempt, and returns the time to wait before the next one. It logs a failure unless its
// reason equals the previous one's, and the success that ends an outage.
func (t *Task) Done(err error) time.Duration {
	if err == nil {
		if t.failure != "" {
			klog.InfoS(t.name+" works again", t.values...)
		}
		t.failure = ""
		t.delays.Reset()
		return t.interval
	}
	if err.Error() != t.failure {
		t.failure = err.Error()
		klog.ErrorS(err, t.name+" has failed, will keep trying", t.values...)
	}
	return t.delays.Next()
}
