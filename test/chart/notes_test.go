// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNotesWarnOfUpstreamImages: with the default names of the images, a Node can get another project's.
func TestNotesWarnOfUpstreamImages(t *testing.T) {
	for name, tc := range map[string]struct {
		set  []string
		want int
	}{
		"defaults":             {nil, 2},
		"a registry":           {[]string{"agentImage.repository=registry.example.com/a", "controllerImage.repository=registry.example.com/c"}, 0},
		"imported":             {[]string{"agentImage.pullPolicy=Never", "controllerImage.pullPolicy=Never"}, 0},
		"only one is imported": {[]string{"agentImage.pullPolicy=Never"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"install", "antrea", chartDir, "--namespace", "kube-system", "--dry-run=client"}
			for _, set := range tc.set {
				args = append(args, "--set", set)
			}
			out, err := helm(t, args...)
			require.NoError(t, err)
			_, notes, found := strings.Cut(out, "\nNOTES:\n")
			require.True(t, found)
			require.Equal(t, tc.want, strings.Count(notes, "pulls upstream Antrea's"), notes)
		})
	}
}
