// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package multicluster

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLists(t *testing.T) {
	const (
		connected = "{apiVersion: multicluster.crd.antrea.io/v1alpha2, kind: ClusterSet, metadata: {namespace: lead, name: cs}, spec: {clusterID: north, leaders: [{clusterID: north}]}, " +
			"status: {clusterStatuses: [{clusterID: east, conditions: [{type: Ready, status: 'True', reason: Connected}]}, {clusterID: west, conditions: [{type: Ready, status: 'False', reason: Disconnected}]}]}}"
		export = "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: ResourceExport, metadata: {namespace: lead, name: east-a-b-service, managedFields: [{manager: x}]}, spec: {clusterID: east, kind: Service, namespace: a, name: b}}"
		other  = "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: ResourceExport, metadata: {namespace: lead, name: west-clusterinfo}, spec: {clusterID: west, kind: ClusterInfo}}"
		imp    = "{apiVersion: multicluster.crd.antrea.io/v1alpha1, kind: ResourceImport, metadata: {namespace: lead, name: a-b-service}, spec: {kind: ServiceImport, namespace: a, name: b}}"
	)
	f := newFake(t, leaderSet, connected, export, other, imp)
	type lister func(context.Context, Query) (Listed, error)
	for name, test := range map[string]struct {
		list   lister
		query  Query
		header []string
		rows   [][]string
	}{
		"ClusterSets": {f.ClusterSets, Query{}, []string{"CLUSTER-ID", "NAMESPACE", "CLUSTERSET-ID", "TYPE", "STATUS", "REASON"}, [][]string{
			{"north", leaderNamespace, "cs", "", "", ""}, {"east", "lead", "cs", "Ready", "True", "Connected"}, {"west", "lead", "cs", "Ready", "False", "Disconnected"},
		}},
		"of one Namespace": {f.ClusterSets, Query{Namespace: leaderNamespace, Name: "cs"}, nil, [][]string{{"north", leaderNamespace, "cs", "", "", ""}}},
		"exports": {f.ResourceExports, Query{}, []string{"CLUSTER-ID", "NAMESPACE", "NAME", "KIND"}, [][]string{
			{"east", "lead", "east-a-b-service", "Service"}, {"west", "lead", "west-clusterinfo", "ClusterInfo"},
		}},
		"of one member":    {f.ResourceExports, Query{ClusterID: "west"}, nil, [][]string{{"west", "lead", "west-clusterinfo", "ClusterInfo"}}},
		"of no member":     {f.ResourceExports, Query{ClusterID: "south"}, nil, nil},
		"imports":          {f.ResourceImports, Query{}, []string{"NAMESPACE", "NAME", "KIND"}, [][]string{{"lead", "a-b-service", "ServiceImport"}}},
		"import of a name": {f.ResourceImports, Query{Name: "a-b-service"}, nil, [][]string{{"lead", "a-b-service", "ServiceImport"}}},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := test.list(t.Context(), test.query)
			require.NoError(t, err)
			if test.header != nil {
				require.Equal(t, test.header, l.Header)
			}
			require.ElementsMatch(t, test.rows, l.Rows)
			require.NotNil(t, l.Objects, "an empty list is [] in JSON")
			for _, object := range l.Objects {
				require.NotContains(t, object["metadata"], "managedFields")
			}
		})
	}
	_, err := f.ResourceImports(t.Context(), Query{Namespace: "lead", Name: "x"})
	require.EqualError(t, err, `there is no "x" among the resourceimports of Namespace lead`)
	_, err = f.ResourceExports(t.Context(), Query{Name: "x"})
	require.EqualError(t, err, `there is no "x" among the resourceexports of all Namespaces`)
	failure := f.fail("list", "clustersets")
	_, err = f.ClusterSets(t.Context(), Query{})
	require.ErrorIs(t, err, failure)
}
