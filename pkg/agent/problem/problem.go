// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package problem collects what the agent refuses or cannot do because of one object, one file or one peer.
//
// A part of the agent that finds such a problem reports it here and continues with everything else: a problem delays
// neither readiness nor other objects. The same part resolves the problem when its subject has been corrected or
// removed. events.go makes Kubernetes Events from problems, metrics.go a metric; `antctl get problems` and the agent's
// condition Degraded also show them.
package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// maxProblems bounds the number of problems: a user who can create objects must not be able to fill the agent's memory.
const maxProblems = 1000

// maxNamespaced limits the problems about objects in Namespaces, so that users of Namespaces cannot hide problems of
// the Node.
const maxNamespaced = maxProblems - 100

// Reason names the problem in CamelCase, like the reason of a Kubernetes Event.
type Reason string

// Kinds of subjects that are not Kubernetes objects.
const (
	KindFile     = "File"
	KindPeer     = "Peer"
	KindFirewall = "Firewall"
)

// Subject is the subject of the problem.
type Subject struct {
	// Kind is a Kubernetes kind (Node, NetworkPolicy, Pod) or one of the kinds above.
	Kind string
	// Namespace is empty for subjects without one. Name is a path for a file, an address for a peer, iptables or ip6tables for a
	// firewall.
	Namespace, Name string
	// UID is the object's, if known.
	UID string
}

func (s Subject) String() string {
	if s.Namespace != "" {
		return fmt.Sprintf("%s %s/%s", s.Kind, s.Namespace, s.Name)
	}
	return fmt.Sprintf("%s %s", s.Kind, s.Name)
}

// key identifies a subject: an object that was deleted and created again under its name is the same subject.
type key struct {
	reason                Reason
	kind, namespace, name string
}

// Problem is one problem of one subject.
type Problem struct {
	Reason  Reason
	Subject Subject
	// Message says what was found and what would be correct.
	Message string
	// Since is the time of the first report, Times the number of reports since then.
	Since time.Time
	Times int
}

// Reporter takes reports. Its methods can be called at any time and under any lock: they do no I/O.
type Reporter interface {
	// Report enters a problem, or renews it. It may be repeated as often as is convenient: only news is logged and becomes
	// an Event.
	Report(reason Reason, subject Subject, message string)
	// Resolve ends the problem that has this reason and subject, if there is one.
	Resolve(reason Reason, subject Subject)
}

// Recorder keeps the problems of one agent.
type Recorder struct {
	now func() time.Time

	mu       sync.Mutex
	problems map[key]*Problem
	// namespaced counts the problems whose subject has a Namespace.
	namespaced int
	// dropped counts reports that exceeded maxProblems or maxNamespaced.
	dropped int
	// listeners are told of each problem that is new or has another message. They are called with mu held.
	listeners []func(Problem)
	// noteListeners are told of each note, likewise.
	noteListeners []func(reason, message string)
}

var _ Reporter = (*Recorder)(nil)

// NewRecorder makes an empty Recorder.
func NewRecorder() *Recorder {
	return &Recorder{now: time.Now, problems: map[key]*Problem{}}
}

func keyOf(reason Reason, s Subject) key {
	return key{reason: reason, kind: s.Kind, namespace: s.Namespace, name: s.Name}
}

// Report implements Reporter.
func (r *Recorder) Report(reason Reason, subject Subject, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := keyOf(reason, subject)
	p := r.problems[k]
	if p != nil {
		p.Times++
		if p.Message == message {
			return
		}
		p.Message, p.Subject = message, subject
	} else {
		if len(r.problems) >= maxProblems || k.namespace != "" && r.namespaced >= maxNamespaced {
			r.dropped++
			return
		}
		if k.namespace != "" {
			r.namespaced++
		}
		p = &Problem{Reason: reason, Subject: subject, Message: message, Since: r.now(), Times: 1}
		r.problems[k] = p
	}
	klog.ErrorS(nil, "Problem", "reason", reason, "subject", subject, "message", message)
	for _, tell := range r.listeners {
		tell(*p)
	}
}

// Resolve implements Reporter.
func (r *Recorder) Resolve(reason Reason, subject Subject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := keyOf(reason, subject)
	if p := r.problems[k]; p != nil {
		delete(r.problems, k)
		if k.namespace != "" {
			r.namespaced--
		}
		klog.InfoS("Problem is solved", "reason", k.reason, "subject", p.Subject)
	}
}

// List returns the present problems, ordered by reason and subject, and how many others were dropped.
func (r *Recorder) List() (problems []Problem, dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, p := range r.problems {
		problems = append(problems, *p)
	}
	slices.SortFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Reason, b.Reason), strings.Compare(a.Subject.String(), b.Subject.String()))
	})
	return problems, r.dropped
}

// Note makes an Event of this Node (type Normal) of something that is not a problem, and that an operator may look for later. The
// reason is a word in the style of Kubernetes.
func (r *Recorder) Note(reason, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	klog.InfoS("Note", "reason", reason, "message", message)
	for _, tell := range r.noteListeners {
		tell(reason, message)
	}
}

func (r *Recorder) hear(tell func(reason, message string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.noteListeners = append(r.noteListeners, tell)
}

// listen registers a function that is called with each problem that is new or has another message. It must not call the
// Recorder.
func (r *Recorder) listen(tell func(Problem)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners = append(r.listeners, tell)
}
