// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"fmt"
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

const (
	// maxSearch is the number of changes, and searchTime the time, for which refused policies are looked for while new Pods and other policies
	// wait. Policies that were not tried stay closed until they are retried.
	maxSearch  = 200
	searchTime = 10 * time.Second
)

// notSearched is the reason to refuse a policy that was refused with others, and was not tried on its own yet.
type notSearched struct{ cause error }

func (e *notSearched) Error() string {
	return fmt.Sprintf("Open vSwitch refuses a change of this policy and others, and too many of them to try each at once; this one will be tried later: %v", e.cause)
}

func (e *notSearched) Unwrap() error { return e.cause }

// search looks for the policies, or their guards, that the switch refuses.
type search struct {
	*Controller
	isGuarded func(string, *v1beta2.NetworkPolicy) bool
	// limited makes the search end after maxSearch changes, and at end. It may be set if all guards are in force.
	limited bool
	end     time.Time
	changes int
	// latest is the reason of the latest refusal.
	latest error
}

func (s *search) ended() bool {
	return s.limited && (s.changes >= maxSearch || !time.Now().Before(s.end))
}

// bisect realizes the policies, or their guards, that the switch accepts, and returns the reasons why it refuses the
// others. cause is why it refuses all of them together, nil if it was not asked. It needs about 2 log2(n) changes for each
// that is refused. When the search has ended, the rest counts as refused.
func (s *search) bisect(names []string, cause error) (map[string]error, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if cause == nil && !s.ended() {
		s.changes++
		if _, cause = s.attempt(sets.New(names...), s.isGuarded); !isRefused(cause) {
			return nil, cause
		}
	}
	if cause != nil {
		s.latest = cause
	}
	switch {
	case len(names) == 1 && cause != nil:
		return map[string]error{names[0]: cause}, nil
	case s.ended():
		refused := map[string]error{}
		for _, name := range names {
			refused[name] = &notSearched{s.latest}
		}
		return refused, nil
	}
	left, right := names[:len(names)/2], names[len(names)/2:]
	refused, err := s.bisect(left, nil)
	if err != nil {
		return nil, err
	}
	if len(refused) > 0 || len(right) == 1 {
		cause = nil // Otherwise it is about the right ones.
	}
	others, err := s.bisect(right, cause)
	if refused == nil {
		return others, err
	}
	maps.Copy(refused, others)
	return refused, err
}
