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

// What can be wrong with a Node. The subject is the Node whose object is to be changed.
const (
	// ReasonPodCIDRInvalid: no Node can have this Pod network.
	ReasonPodCIDRInvalid reason = "PodCIDRInvalid"
	// ReasonPodCIDROverlaps: an older Node has the Pod network or a part of it.
	ReasonPodCIDROverlaps reason = "PodCIDROverlaps"
	// ReasonPodCIDRChanged: this Node's agent has started with another Pod network than the Node object has now.
	ReasonPodCIDRChanged reason = "PodCIDRChanged"
	// ReasonNodeAddressInvalid: tunnel packets cannot be sent to this address.
	ReasonNodeAddressInvalid reason = "NodeAddressInvalid"
	// ReasonNodeNotConnected: Open vSwitch or the kernel has refused what connects the Node.
	ReasonNodeNotConnected reason = "NodeNotConnected"
	// ReasonRoutesNotReconciled: what a former agent has left on this Node could not be removed.
	ReasonRoutesNotReconciled reason = "RoutesNotReconciled"
)

// objectReasons are those that findings have.
var objectReasons = []reason{ReasonPodCIDRInvalid, ReasonPodCIDROverlaps, ReasonPodCIDRChanged, ReasonNodeAddressInvalid}

// finding is one thing that is wrong with a Node object.
type finding struct {
	reason reason
	text   string
}

func subject(name, uid string) problem.Subject {
	return problem.Subject{Kind: "Node", Name: name, UID: uid}
}

// report makes findings the problems of the Node, and ends those that it had before.
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

// transient are the errors of Open vSwitch and the kernel that do not depend on what was asked for.
var transient = []error{
	of.ErrDisconnected, context.DeadlineExceeded, context.Canceled, netlink.ErrDumpInterrupted,
	// The gateway port is gone or down, as while Open vSwitch starts.
	unix.ENODEV, unix.ENXIO, unix.ENETDOWN,
	unix.EAGAIN, unix.EINTR, unix.EBUSY, unix.ENOMEM, unix.ENOBUFS, unix.ETIMEDOUT, unix.EPERM,
}

// isTransient tells failures that will end without a change of the Node object, and then for all Nodes, from refusals of what this one
// asks for. Start-up waits for the end of the former, as flows of the agent's previous run are needed until then; it goes on without
// a Node that is refused.
func isTransient(err error) bool {
	var noLink netlink.LinkNotFoundError
	return errors.As(err, &noLink) || slices.ContainsFunc(transient, func(target error) bool { return errors.Is(err, target) })
}
