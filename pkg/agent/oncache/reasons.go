// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import "errors"

// stayReason is a kind of reason why a Pod is kept on Open vSwitch, for metrics. The text gives the details.
type stayReason string

const (
	// stayBandwidth: the Pod's object limits its bandwidth.
	stayBandwidth stayReason = "bandwidth"
	// stayBypass: accelerated packets would bypass filters, programs or a queueing discipline.
	stayBypass stayReason = "bypass"
	// stayCapture: its packets are captured or mirrored.
	stayCapture stayReason = "capture"
	// stayInterface: the programs cannot be used on an interface of this kind.
	stayInterface stayReason = "interface"
	// stayRoom: there are too many Pods.
	stayRoom stayReason = "room"
	// stayTrace: a Traceflow is about it.
	stayTrace stayReason = "trace"
	// stayFailure: everything else.
	stayFailure stayReason = "failure"
)

var stayReasons = []stayReason{stayBandwidth, stayBypass, stayCapture, stayInterface, stayRoom, stayTrace, stayFailure}

// stayError is an error with its kind.
type stayError struct {
	error
	reason stayReason
}

func (e stayError) Unwrap() error { return e.error }

// stays gives an error its kind; nil stays nil.
func stays(reason stayReason, err error) error {
	if err == nil {
		return nil
	}
	return stayError{err, reason}
}

func reasonOf(err error) stayReason {
	var kind stayError
	if errors.As(err, &kind) {
		return kind.reason
	}
	return stayFailure
}
