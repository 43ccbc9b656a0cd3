// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/antrea-oncache/antrea/multicluster/apis/multicluster/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/apis"
)

// agentAccount is the ServiceAccount of the agents.
const agentAccount = "antrea-agent"

const gatewayWriters = "Gateway can only be created or updated by Antrea Agent or Multi-cluster Controller"

// gateway judges a Gateway: the controller writes it, and the agent of its Node the public key.
func (c Config) gateway(r review[v1alpha1.Gateway]) (string, error) {
	who, refusal := callerOf(r.AdmissionRequest)
	switch {
	case r.Operation == admissionv1.Delete:
		return "", nil
	case refusal != "":
		return refusal, nil
	case c.isController(who):
		return "", nil
	case who.name != agentAccount || who.namespace != c.Namespace && who.namespace != apis.DefaultNamespace || r.former == nil:
		return gatewayWriters, nil
	}
	// Kubernetes tells the Node from 1.32 on.
	for _, node := range r.UserInfo.Extra[serviceaccount.NodeNameKey] {
		if node != r.former.Name {
			return fmt.Sprintf("the agent of Node %s cannot change the Gateway %s", node, r.former.Name), nil
		}
	}
	f, w := r.former, r.wanted
	if f.GatewayIP != w.GatewayIP || f.InternalIP != w.InternalIP || f.ServiceCIDR != w.ServiceCIDR {
		return "Antrea Agent can only change wireGuard of a Gateway", nil
	}
	return "", nil
}
