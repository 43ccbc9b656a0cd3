// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/version"
)

// Store has the controller's results and the agents that watch them.
type Store interface {
	Counts() (policies, addressGroups, appliedToGroups int)
	ConnectedNodes() int
}

// Querier says what the controller's state is.
type Querier struct {
	// Namespace is the controller's; PodName and NodeName are empty when it does not run in a Pod.
	Namespace, PodName, NodeName string
	APIPort                      int
	Store                        Store
}

// ControllerInfo returns the present state, without type and metadata.
func (q *Querier) ControllerInfo() v1beta1.AntreaControllerInfo {
	policies, addressGroups, appliedToGroups := q.Store.Counts()
	info := v1beta1.AntreaControllerInfo{
		Version:    version.GetFullVersion(),
		ServiceRef: corev1.ObjectReference{Kind: "Service", Namespace: q.Namespace, Name: apis.ControllerService},
		NetworkPolicyControllerInfo: v1beta1.NetworkPolicyControllerInfo{
			NetworkPolicyNum: int32(policies), AddressGroupNum: int32(addressGroups), AppliedToGroupNum: int32(appliedToGroups),
		},
		ConnectedAgentNum: int32(q.Store.ConnectedNodes()),
		// A controller that answers is healthy.
		ControllerConditions: []v1beta1.ControllerCondition{{
			Type: v1beta1.ControllerHealthy, Status: corev1.ConditionTrue, LastHeartbeatTime: metav1.NewTime(time.Now()),
		}},
		APIPort: q.APIPort,
	}
	if q.PodName != "" {
		info.PodRef = corev1.ObjectReference{Kind: "Pod", Namespace: q.Namespace, Name: q.PodName}
	}
	if q.NodeName != "" {
		info.NodeRef = corev1.ObjectReference{Kind: "Node", Name: q.NodeName}
	}
	return info
}
