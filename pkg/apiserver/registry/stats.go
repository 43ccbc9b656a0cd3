// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/controller/stats"
)

const statsName = "networkpolicystats"

// Stats returns the storage of the statistics of NetworkPolicies, by name. Without an aggregator there are none.
func Stats(aggregator *stats.Aggregator, readiness Readiness) map[string]rest.Storage {
	return map[string]rest.Storage{statsName: &policyStats{Readiness: readiness, aggregator: aggregator}}
}

// policyStats only shows: the aggregator follows policies and reports.
type policyStats struct {
	Readiness
	aggregator *stats.Aggregator
}

var (
	_ rest.Getter               = (*policyStats)(nil)
	_ rest.Lister               = (*policyStats)(nil)
	_ rest.Scoper               = (*policyStats)(nil)
	_ rest.SingularNameProvider = (*policyStats)(nil)
)

func (p *policyStats) New() runtime.Object     { return &v1alpha1.NetworkPolicyStats{} }
func (p *policyStats) NewList() runtime.Object { return &v1alpha1.NetworkPolicyStatsList{} }
func (p *policyStats) Destroy()                {}
func (p *policyStats) NamespaceScoped() bool   { return true }

// GetSingularName implements rest.SingularNameProvider. The singular of statistics is the same word.
func (p *policyStats) GetSingularName() string { return statsName }

// Get returns the statistics of the policy of that name.
func (p *policyStats) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if p.aggregator != nil {
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
		if stats, ok := p.aggregator.Get(types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name}); ok {
			return &stats, nil
		}
	}
	return nil, apierrors.NewNotFound(v1alpha1.Resource(statsName), name)
}

// List returns the statistics of the policies of a Namespace, or of all. They have no labels.
func (p *policyStats) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	list := &v1alpha1.NetworkPolicyStatsList{Items: []v1alpha1.NetworkPolicyStats{}}
	if p.aggregator == nil {
		return list, nil
	}
	if err := p.wait(ctx); err != nil {
		return nil, err
	}
	for _, stats := range p.aggregator.List(request.NamespaceValue(ctx)) {
		if selects(options, &stats) {
			list.Items = append(list.Items, stats)
		}
	}
	return list, nil
}

func selects(options *internalversion.ListOptions, stats *v1alpha1.NetworkPolicyStats) bool {
	if options == nil {
		return true
	}
	if options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set{}) {
		return false
	}
	metadata := fields.Set{metav1.ObjectNameField: stats.Name, "metadata.namespace": stats.Namespace}
	return options.FieldSelector == nil || options.FieldSelector.Matches(metadata)
}

// columns are the columns of kubectl get.
var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "The name of the NetworkPolicy."},
	{Name: "Sessions", Type: "integer", Description: "The number of connections that it has admitted."},
	{Name: "Packets", Type: "integer", Description: "The number of packets of these connections."},
	{Name: "Bytes", Type: "integer", Description: "The number of bytes of these packets."},
	{Name: "Created At", Type: "date", Description: "Since when it is counted."},
}

// ConvertToTable implements rest.TableConvertor.
func (p *policyStats) ConvertToTable(_ context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{Rows: []metav1.TableRow{}}
	switch object := object.(type) {
	case *v1alpha1.NetworkPolicyStats:
		table.Rows = append(table.Rows, row(object))
	case *v1alpha1.NetworkPolicyStatsList:
		for i := range object.Items {
			table.Rows = append(table.Rows, row(&object.Items[i]))
		}
	default:
		return nil, fmt.Errorf("%T is not one of %s", object, statsName)
	}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || !options.NoHeaders {
		table.ColumnDefinitions = columns
	}
	return table, nil
}

func row(stats *v1alpha1.NetworkPolicyStats) metav1.TableRow {
	traffic := &stats.TrafficStats
	return metav1.TableRow{
		Cells:  []any{stats.Name, traffic.Sessions, traffic.Packets, traffic.Bytes, stats.CreationTimestamp.UTC().Format(time.RFC3339)},
		Object: runtime.RawExtension{Object: stats},
	}
}
