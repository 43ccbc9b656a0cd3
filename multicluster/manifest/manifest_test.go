// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the manifests (make manifest)")

// TestManifests: build/yamls is up to date, and each document is an object of the Namespace, or of the cluster.
func TestManifests(t *testing.T) {
	for file, m := range map[string]struct {
		kind, namespace string
		definitions     int
	}{
		"antrea-multicluster-leader.yml":            {Leader, LeaderNamespace, 4},
		"antrea-multicluster-leader-global.yml":     {LeaderGlobal, LeaderNamespace, 4},
		"antrea-multicluster-leader-namespaced.yml": {LeaderNamespaced, LeaderNamespace, 0},
		"antrea-multicluster-member.yml":            {Member, MemberNamespace, 6},
	} {
		t.Run(file, func(t *testing.T) {
			rendered, err := Render(m.kind, m.namespace)
			require.NoError(t, err)
			path, definitions, seen := "../../build/yamls/"+file, 0, map[string]bool{}
			if *update {
				require.NoError(t, os.WriteFile(path, rendered, 0o644))
			}
			present, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, string(present), string(rendered), "run make manifest")
			for document := range strings.SplitSeq(string(rendered), "\n---\n") {
				var object unstructured.Unstructured
				require.NoError(t, yaml.UnmarshalStrict([]byte(document), &object.Object), document)
				require.Contains(t, []string{"", m.namespace}, object.GetNamespace())
				require.Equal(t, "antrea", object.GetLabels()["app"], document)
				id := object.GetKind() + " " + object.GetName()
				require.False(t, seen[id], id)
				seen[id] = true
				if object.GetKind() == "CustomResourceDefinition" {
					definitions++
				}
			}
			require.Equal(t, m.definitions, definitions)
		})
	}
}

func TestRefusals(t *testing.T) {
	_, err := Render("leader", "x")
	require.ErrorContains(t, err, `there is no manifest "leader"`)
	_, err = Render(Leader, "x\nkind: Secret")
	require.ErrorContains(t, err, "Namespace")
}
