// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/multicluster/manifest"
)

// unbuilt is the only kind whose CRD is installed although nothing acts on it: members of upstream's leaders have it.
const unbuilt = "labelidentities.multicluster.crd.antrea.io"

// TestHandledKinds: check migration knows each kind whose CRD the chart and the manifests of Multi-cluster install, and no other.
func TestHandledKinds(t *testing.T) {
	files, err := filepath.Glob("../../../build/charts/antrea/crds/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var texts [][]byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		texts = append(texts, text)
	}
	for _, kind := range []string{manifest.LeaderGlobal, manifest.Member} {
		text, err := manifest.Render(kind, "ns")
		require.NoError(t, err)
		texts = append(texts, bytes.Split(text, []byte("\n---\n"))...)
	}
	installed := map[string]bool{}
	for _, text := range texts {
		crd := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal(text, &crd.Object))
		if resource, found := antreaResource(crd); found {
			installed[resource.GroupResource().String()] = true
		}
	}
	require.True(t, installed[unbuilt])
	delete(installed, unbuilt)
	var known []string
	for group, resources := range handled {
		for _, resource := range resources {
			known = append(known, resource+"."+group)
		}
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(installed)), known)
}
