// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
)

// PolicyStatus returns the storage that takes the agents' reports of policies, and its name.
func PolicyStatus(store *networkpolicy.Store, readiness Readiness, agents Agents) (name string, storage rest.Storage) {
	return networkpolicy.NetworkPolicies.String() + "/status", &policyStatus{Readiness: readiness, store: store, agents: agents}
}

// policyStatus takes reports; the status itself is in the policies that users make.
type policyStatus struct {
	Readiness
	store  *networkpolicy.Store
	agents Agents
}

var _ rest.NamedCreater = (*policyStatus)(nil)

func (p *policyStatus) New() runtime.Object { return &controlplane.NetworkPolicyStatus{} }
func (p *policyStatus) Destroy()            {}

// Create takes the report about the policy of that name; an agent may report for its own Node only. The answer has nothing but
// the name.
func (p *policyStatus) Create(ctx context.Context, name string, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	report := object.(*controlplane.NetworkPolicyStatus)
	resource := controlplane.Resource(networkpolicy.NetworkPolicies.String())
	node, err := p.agents.nodeOf(ctx)
	for _, status := range report.Nodes {
		if err == nil && node != "" && node != status.NodeName {
			err = fmt.Errorf("the agent of Node %q reports for %q; allowed: %s", node, status.NodeName, node)
		}
	}
	if err != nil {
		return nil, apierrors.NewForbidden(resource, name, err)
	}
	if validate != nil {
		if err := validate(ctx, object); err != nil {
			return nil, err
		}
	}
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	if options == nil || len(options.DryRun) == 0 {
		if !p.store.Report(name, report.Nodes) {
			return nil, apierrors.NewNotFound(resource, name)
		}
	}
	return &controlplane.NetworkPolicyStatus{ObjectMeta: metav1.ObjectMeta{Name: name}}, nil
}
