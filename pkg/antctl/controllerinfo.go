// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
)

// controllerInfoPath is the path of the controller's description, also through the Kubernetes API.
const controllerInfoPath = "/apis/system.antrea.io/v1beta1/controllerinfos/antrea-controller"

// controllerInfo is AntreaControllerInfo (system.antrea.io/v1beta1) without its metadata.
type controllerInfo struct {
	Version                     string                           `json:"version,omitempty"`
	PodRef                      corev1.ObjectReference           `json:"podRef"`
	NodeRef                     corev1.ObjectReference           `json:"nodeRef"`
	ServiceRef                  corev1.ObjectReference           `json:"serviceRef"`
	NetworkPolicyControllerInfo apis.NetworkPolicyControllerInfo `json:"networkPolicyControllerInfo"`
	ConnectedAgentNum           int32                            `json:"connectedAgentNum"`
	ControllerConditions        []controllerCondition            `json:"controllerConditions,omitempty"`
	APIPort                     int                              `json:"apiPort,omitempty"`
}

type controllerCondition struct {
	Type              string                 `json:"type"`
	Status            corev1.ConditionStatus `json:"status"`
	LastHeartbeatTime metav1.Time            `json:"lastHeartbeatTime"`
	Reason            string                 `json:"reason,omitempty"`
	Message           string                 `json:"message,omitempty"`
}

var controllerInfoDefinition = Definition{
	Use: "controllerinfo", Aliases: []string{"controllerinfos", "ci"}, Group: Get,
	Short: "Print the controller's basic information",
	Controller: &Endpoint{Path: controllerInfoPath, Response: Object(
		Column[controllerInfo]{"POD", func(i controllerInfo) string { return namespacedName(i.PodRef) }},
		Column[controllerInfo]{"NODE", func(i controllerInfo) string { return i.NodeRef.Name }},
		Column[controllerInfo]{"STATUS", controllerStatus},
		Column[controllerInfo]{"NETWORK-POLICIES", func(i controllerInfo) string {
			return fmt.Sprint(i.NetworkPolicyControllerInfo.NetworkPolicyNum)
		}},
		Column[controllerInfo]{"ADDRESS-GROUPS", func(i controllerInfo) string {
			return fmt.Sprint(i.NetworkPolicyControllerInfo.AddressGroupNum)
		}},
		Column[controllerInfo]{"APPLIED-TO-GROUPS", func(i controllerInfo) string {
			return fmt.Sprint(i.NetworkPolicyControllerInfo.AppliedToGroupNum)
		}},
		Column[controllerInfo]{"CONNECTED-AGENTS", func(i controllerInfo) string { return fmt.Sprint(i.ConnectedAgentNum) }},
	)},
}

func controllerStatus(info controllerInfo) string {
	for _, condition := range info.ControllerConditions {
		if condition.Type == "ControllerHealthy" {
			return healthText(condition.Status)
		}
	}
	return healthText(corev1.ConditionUnknown)
}
