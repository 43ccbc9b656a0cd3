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
	"github.com/antrea-oncache/antrea/pkg/controller/stats"
)

// Reports returns the storage that takes the agents' reports of traffic, and its name.
func Reports(aggregator *stats.Aggregator, readiness Readiness, agents Agents) (name string, storage rest.Storage) {
	return reportsName, &reports{Readiness: readiness, aggregator: aggregator, agents: agents}
}

const reportsName = "nodestatssummaries"

// reports stores nothing: a report is counted when it is created.
type reports struct {
	Readiness
	aggregator *stats.Aggregator
	agents     Agents
}

var (
	_ rest.Creater              = (*reports)(nil)
	_ rest.Scoper               = (*reports)(nil)
	_ rest.SingularNameProvider = (*reports)(nil)
)

func (r *reports) New() runtime.Object     { return &controlplane.NodeStatsSummary{} }
func (r *reports) Destroy()                {}
func (r *reports) NamespaceScoped() bool   { return false }
func (r *reports) GetSingularName() string { return "nodestatssummary" }

// Create counts a report; an agent may report for its own Node only. The answer has nothing but the name.
func (r *reports) Create(ctx context.Context, object runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object, error) {
	summary := object.(*controlplane.NodeStatsSummary)
	node, err := r.agents.nodeOf(ctx)
	if err == nil && node != "" && node != summary.Name {
		err = fmt.Errorf("the agent of Node %q reports for %q; allowed: %s", node, summary.Name, node)
	}
	if err != nil {
		return nil, apierrors.NewForbidden(controlplane.Resource(reportsName), summary.Name, err)
	}
	if validate != nil {
		if err := validate(ctx, object); err != nil {
			return nil, err
		}
	}
	if err := r.wait(ctx); err != nil {
		return nil, err
	}
	if options == nil || len(options.DryRun) == 0 {
		if err := r.aggregator.Report(summary); err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("report of Node %q: %v", summary.Name, err))
		}
	}
	return &controlplane.NodeStatsSummary{ObjectMeta: metav1.ObjectMeta{Name: summary.Name}}, nil
}
