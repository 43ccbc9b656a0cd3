// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package traceflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/ippacket"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/openflow"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// errEnded means that the trace has ended, or another one has its name.
var errEnded = errors.New("the trace has ended")

// publish writes this Node's result, later if that fails now.
func (c *Controller) publish(ctx context.Context, op publish) {
	result := v1beta1.NodeResult{Node: c.Node, Role: op.result.role, Timestamp: time.Now().Unix(), Observations: c.observer.observe(&op.result)}
	if op.result.role == v1beta1.RoleSender {
		result.ONCache = c.fastPath(ctx, &op.result)
	}
	err := c.change(ctx, op.plan.name, op.plan.uid, func(s *v1beta1.TraceflowStatus) { addResult(s, result, op.captured) })
	if err != nil && !errors.Is(err, errEnded) {
		klog.ErrorS(err, "Could not write the result of a trace, will try again", "traceflow", op.plan.name, "after", writeInterval)
		c.core.notWritten(op.plan, op, time.Now())
	}
}

// addResult replaces a former result of the Node in the same role.
func addResult(s *v1beta1.TraceflowStatus, result v1beta1.NodeResult, captured *v1beta1.Packet) {
	s.Results = slices.DeleteFunc(s.Results, func(r v1beta1.NodeResult) bool { return r.Node == result.Node && r.Role == result.Role })
	s.Results = append(s.Results, result)
	if captured != nil {
		s.CapturedPacket = captured
	}
}

// fail ends the trace for all Nodes. It returns an error if that must be tried again.
func (c *Controller) fail(ctx context.Context, name string, uid types.UID, reason error) error {
	klog.ErrorS(reason, "A trace fails", "traceflow", name)
	err := c.change(ctx, name, uid, func(s *v1beta1.TraceflowStatus) {
		s.Phase, s.Reason = v1beta1.TraceflowFailed, fmt.Sprintf("Node: %s, error: %v", c.Node, reason)
	})
	if err == nil || errors.Is(err, errEnded) {
		return nil
	}
	klog.ErrorS(err, "Could not write that a trace has failed, will try again", "traceflow", name, "after", writeInterval)
	return err
}

// change changes the status of a trace that runs. Other Nodes and the controller also write it.
func (c *Controller) change(ctx context.Context, name string, uid types.UID, change func(*v1beta1.TraceflowStatus)) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	traceflows := c.Client.Resource(crd.Traceflows)
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		object, err := traceflows.Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return errEnded
		}
		if err != nil {
			return fmt.Errorf("reading Traceflow %s: %w", name, err)
		}
		t, err := crd.Read[v1beta1.Traceflow](object)
		if err != nil {
			return err
		}
		if t.UID != uid || t.Status.Phase != v1beta1.TraceflowRunning {
			return errEnded
		}
		change(&t.Status)
		if err := crd.Fill(object, t); err != nil {
			return err
		}
		_, err = traceflows.UpdateStatus(ctx, object, metav1.UpdateOptions{})
		return err
	})
}

// fastPath is the fast path's treatment of an established connection like the packet's; nil without it.
func (c *Controller) fastPath(ctx context.Context, f *finding) *v1beta1.FastPath {
	if c.Explain == nil {
		return nil
	}
	fast := &v1beta1.FastPath{Action: v1beta1.ActionNotAccelerated}
	protocols := map[uint8]string{ippacket.TCP: "TCP", ippacket.UDP: "UDP", ippacket.SCTP: "SCTP"}
	protocol, known := protocols[f.packet.Protocol]
	if !known {
		fast.Reason = "protocol (the cache is for TCP and UDP)"
		return fast
	}
	if f.report.Outcome != openflow.TraceLeft {
		fast.Reason = "policy"
		if f.report.Outcome == openflow.TraceRejected || f.report.Outcome == openflow.TraceUnserved {
			fast.Reason = api.ReasonRejected
		}
		return fast
	}
	// Of a Service, the packet has gone to one Endpoint.
	_, port, _ := f.packet.Ports()
	answer, err := c.Explain(ctx, explain.Question{From: f.packet.Src.String(), To: f.packet.Dst.String(), Protocol: protocol, Port: port})
	if err != nil {
		fast.Reason = err.Error()
		return fast
	}
	fast.Reason = answer.Reason
	if answer.Detail != "" {
		fast.Reason += " (" + answer.Detail + ")"
	}
	// Nothing but an established connection may be missing.
	if answer.Path == api.PathFast || answer.Path == api.PathSlow && (answer.Reason == "no_entry" || answer.Reason == api.ReasonNoConnection) {
		fast.Action = v1beta1.ActionAccelerated
	}
	return fast
}
