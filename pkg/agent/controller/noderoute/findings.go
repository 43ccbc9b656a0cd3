// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package noderoute

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/antrea-oncache/antrea/pkg/agent/problem"
	of "github.com/antrea-oncache/antrea/pkg/ovs/openflow"
)

type reason = problem.Reason

// Reasons of problems of a Node. The subject is the Node whose object must be changed.
const (
	// ReasonPodCIDRInvalid: no Node can have this Pod network.
	ReasonPodCIDRInvalid reason = "PodCIDRInvalid"
	// ReasonPodCIDROverlaps: an older Node has the Pod network or a part of it.
	ReasonPodCIDROverlaps reason = "PodCIDROverlaps"
	// ReasonPodCIDRChanged: this Node's agent started with a Pod network other than the one its object has now.
	ReasonPodCIDRChanged reason = "PodCIDRChanged"
	// ReasonNodeAddressInvalid: tunnel packets cannot be sent to this address.
	ReasonNodeAddressInvalid reason = "NodeAddressInvalid"
	// ReasonNodeNotConnected: Open vSwitch or the kernel has refused to connect the Node.
	ReasonNodeNotConnected reason = "NodeNotConnected"
	// ReasonRoutesNotReconciled: the routes of a former agent on this Node could not be removed.
	ReasonRoutesNotReconciled reason = "RoutesNotReconciled"
)

// objectReasons are the reasons of findings.
var objectReasons = []reason{ReasonPodCIDRInvalid, ReasonPodCIDROverlaps, ReasonPodCIDRChanged, ReasonNodeAddressInvalid}

// finding is one thing that is wrong with a Node object.
type finding struct {
	reason reason
	text   string
}

func subject(name, uid string) problem.Subject {
	return problem.Subject{Kind: "Node", Name: name, UID: uid}
}

// report turns findings into problems of the Node, and resolves the earlier ones.
func (c *Controller) report(name string, o *object, findings []finding) {
	uid := ""
	if o != nil {
		uid = o.uid
	}
	for _, r := range objectReasons {
		var texts []string
		for _, f := range findings {
			if f.reason == r && !slices.Contains(texts, f.text) {
				texts = append(texts, f.text)
			}
		}
		if len(texts) == 0 {
			c.problems.Resolve(r, subject(name, uid))
			continue
		}
		c.problems.Report(r, subject(name, uid), fmt.Sprintf("Node %s: %s", name, strings.Join(texts, "; ")))
	}
}

// transient are the errors of Open vSwitch and the kernel that do not depend on the request.
var transient = []error{
	of.ErrDisconnected, context.DeadlineExceeded, context.Canceled, netlink.ErrDumpInterrupted,
	// The gateway port is gone or down, as while Open vSwitch starts.
	unix.ENODEV, unix.ENXIO, unix.ENETDOWN,
	unix.EAGAIN, unix.EINTR, unix.EBUSY, unix.ENOMEM, unix.ENOBUFS, unix.ETIMEDOUT, unix.EPERM,
}

// isTransient distinguishes failures from refusals. A failure ends for all Nodes without a change of the Node object; a
// refusal is about this object. Start-up waits for the end of failures, because flows of the agent's previous run are
// needed until then. It does not wait for a Node that is refused.
func isTransient(err error) bool {
	var noLink netlink.LinkNotFoundError
	return errors.As(err, &noLink) || slices.ContainsFunc(transient, func(target error) bool { return errors.Is(err, target) })
}
