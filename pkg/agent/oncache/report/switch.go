// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"sync"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/problem"
)

// Switch is the problem OpenVSwitchAway, which several parts find in their own ways. It ends when none finds it any more.
type Switch struct {
	problems problem.Reporter
	subject  problem.Subject

	mu       sync.Mutex
	messages [finders]string
}

// finder is a part that finds the problem. Of two messages, the message of the first part is shown.
type finder int

const (
	foundByCache finder = iota
	foundByWatch
	finders
)

// NewSwitch makes the problem of a Node.
func NewSwitch(problems problem.Reporter, nodeName string) *Switch {
	return &Switch{problems: problems, subject: problem.Subject{Kind: "Node", Name: nodeName}}
}

// set notes what a part has found, "" for nothing.
func (s *Switch) set(by finder, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages[by] = message
	for _, m := range s.messages {
		if m != "" {
			s.problems.Report(oncache.ReasonOpenVSwitchAway, s.subject, m)
			return
		}
	}
	s.problems.Resolve(oncache.ReasonOpenVSwitchAway, s.subject)
}

// Hung notes that ovs-vswitchd does not answer, or that it does again.
func (s *Switch) Hung(err error) {
	message := ""
	if err != nil {
		message = fmt.Sprintf("Open vSwitch is away: %v. Packets have only the flows that the kernel has kept; the kubelet restarts the container antrea-ovs, or do it yourself", err)
	}
	s.set(foundByWatch, message)
}
