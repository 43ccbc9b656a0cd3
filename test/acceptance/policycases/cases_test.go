// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package policycases

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/client/crd"
)

// meshes are the Pods of the tables.
var meshes = map[string]struct {
	cases []Case
	pods  []string
}{
	"DefaultDeny": {DefaultDeny, mesh("abc", "x", "y", "z")}, "NoPolicy": {NoPolicy(), mesh("abc", "x", "y", "z")},
	"ZeroTrust": {[]Case{ZeroTrust}, mesh("abc", "x", "y", "z")},
	"Extended":  {Extended, mesh("abc", "prod1", "prod2", "dev1", "dev2", "no-tier")},
	"NodeHosts": {NodeHosts, mesh("a", "x", "y")}, "NodeGroups": {NodeGroups, mesh("a", "x", "y", "z")},
}

func mesh(names string, namespaces ...string) (pods []string) {
	for _, namespace := range namespaces {
		for _, name := range names {
			pods = append(pods, namespace+"/"+string(name))
		}
	}
	return pods
}

// TestTables: names are unique, patterns match Pods, and objects have no field that their kind does not have.
func TestTables(t *testing.T) {
	for table, m := range meshes {
		names := map[string]bool{}
		for _, c := range m.cases {
			require.False(t, names[c.Name], c.Name)
			names[c.Name] = true
			require.NotEmpty(t, c.Steps, c.Name)
			for i, s := range c.Steps {
				wanted, err := s.Mesh(m.pods)
				require.NoError(t, err, "%s %s step %d", table, c.Name, i+1)
				require.Len(t, wanted, len(m.pods)*(len(m.pods)-1))
				for _, change := range s.Do {
					if change.Apply != nil {
						readable(t, *change.Apply)
					}
				}
			}
		}
	}
	for _, refusals := range [][]Refusal{Validation, GroupRefusals, ClusterGroupRefusals} {
		for _, r := range refusals {
			require.NotEmpty(t, r.Message, r.Name)
			for _, o := range r.Before {
				readable(t, o)
			}
			if r.Refused != nil {
				readable(t, *r.Refused)
			}
		}
	}
}

// readable requires an object without unknown fields.
func readable(t *testing.T, o Object) {
	t.Helper()
	text, err := Expand(o.Spec, func(name string) (string, bool) {
		if slices.Contains([]string{"first port", "last port"}, name) {
			return "1", true
		}
		return map[bool]string{true: "10.0.0.1", false: "v"}[len(name) > 2 && name[1] == '/'], true
	})
	require.NoError(t, err)
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(text), &fields), text)
	object := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": string(o.Kind), "metadata": map[string]any{"name": o.Name}, "spec": fields}}
	switch o.Kind {
	case ACNP, ANNP:
		_, err = crd.ReadStrictly[v1beta1.NetworkPolicy](object)
	case ClusterGroup, Group:
		_, err = crd.ReadStrictly[v1beta1.Group](object)
	case Tier:
		_, err = crd.ReadStrictly[v1beta1.Tier](object)
	}
	require.NoError(t, err, text)
}

func TestMesh(t *testing.T) {
	s := Step{Want: []string{"*/a > y/*: Dropped", "x/a > y/a: Rejected"}}
	got, err := s.Mesh([]string{"x/a", "y/a", "y/b"})
	require.NoError(t, err)
	require.Equal(t, map[Pair]string{
		{"x/a", "y/a"}: Rejected, {"x/a", "y/b"}: Dropped, {"y/a", "y/b"}: Dropped,
		{"y/a", "x/a"}: Connected, {"y/b", "x/a"}: Connected, {"y/b", "y/a"}: Connected,
	}, got)
	for _, wrong := range []string{"x/a > y/a", "x/a > q/a: Dropped", "x/a: Dropped", "x/a > y/a: Denied", "x/a > y: Dropped"} {
		_, err := Step{Want: []string{wrong}}.Mesh([]string{"x/a", "y/a"})
		require.Error(t, err, wrong)
	}
}

func TestExpand(t *testing.T) {
	got, err := Expand("${x}: ${svc x/web}", func(name string) (string, bool) { return "<" + name + ">", true })
	require.NoError(t, err)
	require.Equal(t, "<x>: <svc x/web>", got)
	_, err = Expand("a ${q}", func(string) (string, bool) { return "", false })
	require.ErrorContains(t, err, "${q}")
}
