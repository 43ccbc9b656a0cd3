// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package nodeportlocal

import (
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

const (
	// ReasonPortsExhausted is the problem of a Pod that lacks a port of the Node because all are in use.
	ReasonPortsExhausted problem.Reason = "NodePortLocalPortsExhausted"
	// ReasonServiceIgnored is the problem of a Service that asks for ports of Nodes and gets none, or not all.
	ReasonServiceIgnored problem.Reason = "NodePortLocalServiceIgnored"
)

// reports reports problems, and resolves them when they have gone.
type reports struct {
	to   problem.Reporter
	last map[found]bool
}

type found struct {
	reason problem.Reason
	problem.Subject
}

func newReports(to problem.Reporter) reports { return reports{to, map[found]bool{}} }

func (r *reports) report(w *world, p *plan) {
	now := map[found]bool{}
	say := func(reason problem.Reason, subject problem.Subject, message string) {
		now[found{reason, subject}] = true
		r.to.Report(reason, subject, message)
	}
	for _, pod := range w.pods {
		if err := p.refused[nameOf(pod)]; err != nil {
			say(ReasonPortsExhausted, problem.Subject{Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}, "no port of the Node leads to the Pod: "+err.Error())
		}
	}
	for _, s := range w.services {
		if reason := unusable(s); reason != "" {
			say(ReasonServiceIgnored, problem.Subject{Kind: "Service", Namespace: s.Namespace, Name: s.Name}, reason)
		}
	}
	for f := range r.last {
		if !now[f] {
			r.to.Resolve(f.reason, f.Subject)
		}
	}
	r.last = now
}
