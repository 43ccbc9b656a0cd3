// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package egress

import (
	"fmt"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
)

// report makes problems of Egresses whose packets are dropped, or whose bandwidth this Node does not keep.
func (c *Controller) report(w *world, p *plan) {
	refused, unlimited := map[string]string{}, map[string]string{}
	for _, e := range w.egresses {
		if reason := p.refused[addrOf(e)]; reason != nil {
			refused[e.Name] = fmt.Sprintf("packets of its Pods to outside the cluster are dropped: %v", reason)
		}
		if reason := p.unlimitedHere(e); reason != nil {
			unlimited[e.Name] = unlimitedMessage + reason.Error()
		}
	}
	c.reportAll(ReasonEgressRefused, refused)
	c.reportAll(ReasonEgressUnlimited, unlimited)
}

// reportAll replaces the problems of a reason, which are messages by the name of the Egress.
func (c *Controller) reportAll(reason problem.Reason, messages map[string]string) {
	about := func(name string) problem.Subject { return problem.Subject{Kind: v1beta1.EgressKind, Name: name} }
	former, now := c.reported[reason], map[string]bool{}
	for name, message := range messages {
		now[name] = true
		c.Problems.Report(reason, about(name), message)
	}
	for name := range former {
		if !now[name] {
			c.Problems.Resolve(reason, about(name))
		}
	}
	c.reported[reason] = now
}

// unlimitedHere says why this Node, which has the address of the Egress, does not keep the bandwidth; nil if it does, or another Node has the address.
func (p *plan) unlimitedHere(e *v1beta1.Egress) error {
	if p.marks[addrOf(e)] == 0 {
		return nil
	}
	return p.unlimited[e.Name]
}
