// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package proxy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// Reasons of problems of a Service.
const (
	// ReasonServiceInvalid: parts of the Service make no sense, or there are too many of them.
	ReasonServiceInvalid problem.Reason = "ServiceInvalid"
	// ReasonServiceAddressTaken: another Service has the same address and port.
	ReasonServiceAddressTaken problem.Reason = "ServiceAddressTaken"
	// ReasonEndpointsInvalid: an EndpointSlice has Endpoints that no connection can be sent to.
	ReasonEndpointsInvalid problem.Reason = "EndpointsInvalid"
	// ReasonServiceNotRealized: Open vSwitch has refused a port.
	ReasonServiceNotRealized problem.Reason = "ServiceNotRealized"
)

const (
	kindService       = "Service"
	kindEndpointSlice = "EndpointSlice"
)

// topic is the subject of one problem.
type topic struct {
	reason                problem.Reason
	kind, namespace, name string
}

// reports remembers the problems of each Service, to resolve those that have ended.
type reports struct {
	to       problem.Reporter
	reported map[key]map[topic]problem.Subject
}

func newReports(to problem.Reporter) *reports {
	return &reports{to: to, reported: map[key]map[topic]problem.Subject{}}
}

// report makes one problem of all findings about the same object and reason, and resolves the Service's former ones.
func (r *reports) report(k key, findings []finding) {
	texts, subjects := map[topic][]string{}, map[topic]problem.Subject{}
	for _, f := range findings {
		t := topic{f.reason, f.about.Kind, f.about.Namespace, f.about.Name}
		subjects[t] = f.about
		if !slices.Contains(texts[t], f.text) {
			texts[t] = append(texts[t], f.text)
		}
	}
	for t, subject := range r.reported[k] {
		if texts[t] == nil {
			r.to.Resolve(t.reason, subject)
		}
	}
	for t, list := range texts {
		slices.Sort(list)
		if more := len(list) - maxFindings; more > 0 {
			list = append(list[:maxFindings], fmt.Sprintf("and %d more", more))
		}
		r.to.Report(t.reason, subjects[t], fmt.Sprintf("%s: %s", subjects[t], strings.Join(list, "; ")))
	}
	if len(subjects) == 0 {
		delete(r.reported, k)
	} else {
		r.reported[k] = subjects
	}
}
