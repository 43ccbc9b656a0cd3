// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/stats/v1alpha1"
	"github.com/antrea-oncache/antrea/pkg/controller/stats"
)

// statsKinds are the resources of statistics.
var statsKinds = []statsKind{
	{
		name: "networkpolicystats", policy: controlplane.K8sNetworkPolicy, namespaced: true,
		newObject: func() runtime.Object { return &v1alpha1.NetworkPolicyStats{} },
		newList:   func() runtime.Object { return &v1alpha1.NetworkPolicyStatsList{} },
		object: func(s *stats.Sum) runtime.Object {
			return &v1alpha1.NetworkPolicyStats{ObjectMeta: s.ObjectMeta, TrafficStats: s.Traffic}
		},
	},
	{
		name: "antreaclusternetworkpolicystats", policy: controlplane.AntreaClusterNetworkPolicy, namespaced: false,
		newObject: func() runtime.Object { return &v1alpha1.AntreaClusterNetworkPolicyStats{} },
		newList:   func() runtime.Object { return &v1alpha1.AntreaClusterNetworkPolicyStatsList{} },
		object: func(s *stats.Sum) runtime.Object {
			return &v1alpha1.AntreaClusterNetworkPolicyStats{ObjectMeta: s.ObjectMeta, TrafficStats: s.Traffic, RuleTrafficStats: s.Rules}
		},
	},
	{
		name: "antreanetworkpolicystats", policy: controlplane.AntreaNetworkPolicy, namespaced: true,
		newObject: func() runtime.Object { return &v1alpha1.AntreaNetworkPolicyStats{} },
		newList:   func() runtime.Object { return &v1alpha1.AntreaNetworkPolicyStatsList{} },
		object: func(s *stats.Sum) runtime.Object {
			return &v1alpha1.AntreaNetworkPolicyStats{ObjectMeta: s.ObjectMeta, TrafficStats: s.Traffic, RuleTrafficStats: s.Rules}
		},
	},
}

// statsKind is a resource of the statistics of one kind of policies.
type statsKind struct {
	// name is the plural and the singular.
	name       string
	policy     controlplane.NetworkPolicyType
	namespaced bool
	newObject  func() runtime.Object
	newList    func() runtime.Object
	object     func(*stats.Sum) runtime.Object
}

// Stats returns the storage of the statistics of policies, by name. Without an aggregator there are none.
func Stats(aggregator *stats.Aggregator, readiness Readiness) map[string]rest.Storage {
	storage := map[string]rest.Storage{}
	for _, kind := range statsKinds {
		storage[kind.name] = &policyStats{Readiness: readiness, statsKind: kind, aggregator: aggregator}
	}
	return storage
}

// policyStats only shows: the aggregator follows policies and reports.
type policyStats struct {
	Readiness
	statsKind
	aggregator *stats.Aggregator
}

var (
	_ rest.Getter               = (*policyStats)(nil)
	_ rest.Lister               = (*policyStats)(nil)
	_ rest.Scoper               = (*policyStats)(nil)
	_ rest.SingularNameProvider = (*policyStats)(nil)
)

func (p *policyStats) New() runtime.Object     { return p.newObject() }
func (p *policyStats) NewList() runtime.Object { return p.newList() }
func (p *policyStats) Destroy()                {}
func (p *policyStats) NamespaceScoped() bool   { return p.namespaced }

// GetSingularName implements rest.SingularNameProvider. The singular of statistics is the same word.
func (p *policyStats) GetSingularName() string { return p.name }

// Get returns the statistics of the policy of that name.
func (p *policyStats) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	if p.aggregator != nil {
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
		if sum, ok := p.aggregator.Get(p.policy, types.NamespacedName{Namespace: request.NamespaceValue(ctx), Name: name}); ok {
			return p.object(&sum), nil
		}
	}
	return nil, apierrors.NewNotFound(v1alpha1.Resource(p.name), name)
}

// List returns the statistics of the policies of a Namespace, or of all. They have the labels of their policies.
func (p *policyStats) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	objects := []runtime.Object{}
	if p.aggregator != nil {
		if err := p.wait(ctx); err != nil {
			return nil, err
		}
		for _, sum := range p.aggregator.List(p.policy, request.NamespaceValue(ctx)) {
			if selects(options, &sum) {
				objects = append(objects, p.object(&sum))
			}
		}
	}
	list := p.newList()
	if err := meta.SetList(list, objects); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	return list, nil
}

func selects(options *internalversion.ListOptions, sum *stats.Sum) bool {
	if options == nil {
		return true
	}
	if options.LabelSelector != nil && !options.LabelSelector.Matches(labels.Set(sum.Labels)) {
		return false
	}
	metadata := fields.Set{metav1.ObjectNameField: sum.Name, "metadata.namespace": sum.Namespace}
	return options.FieldSelector == nil || options.FieldSelector.Matches(metadata)
}

// columns are the columns of kubectl get.
var columns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Format: "name", Description: "The name of the policy."},
	{Name: "Sessions", Type: "integer", Description: "The number of connections that it has admitted, and of packets that it has denied."},
	{Name: "Packets", Type: "integer", Description: "The number of packets of these connections, and of denied packets."},
	{Name: "Bytes", Type: "integer", Description: "The number of bytes of these packets."},
	{Name: "Created At", Type: "date", Description: "Since when it is counted."},
}

// ConvertToTable implements rest.TableConvertor.
func (p *policyStats) ConvertToTable(_ context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{Rows: []metav1.TableRow{}}
	add := func(object runtime.Object) error {
		traffic, err := trafficOf(object)
		if err != nil {
			return err
		}
		policy := object.(metav1.Object)
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:  []any{policy.GetName(), traffic.Sessions, traffic.Packets, traffic.Bytes, policy.GetCreationTimestamp().UTC().Format(time.RFC3339)},
			Object: runtime.RawExtension{Object: object},
		})
		return nil
	}
	each := func(object runtime.Object, add func(runtime.Object) error) error { return add(object) }
	if meta.IsListType(object) {
		each = meta.EachListItem
	}
	if err := each(object, add); err != nil {
		return nil, err
	}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || !options.NoHeaders {
		table.ColumnDefinitions = columns
	}
	return table, nil
}

func trafficOf(object runtime.Object) (v1alpha1.TrafficStats, error) {
	switch object := object.(type) {
	case *v1alpha1.NetworkPolicyStats:
		return object.TrafficStats, nil
	case *v1alpha1.AntreaClusterNetworkPolicyStats:
		return object.TrafficStats, nil
	case *v1alpha1.AntreaNetworkPolicyStats:
		return object.TrafficStats, nil
	default:
		return v1alpha1.TrafficStats{}, fmt.Errorf("%T has no statistics of a policy", object)
	}
}
