// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNotesWarnOfUpstreamImages: a values file of upstream's chart names upstream's images, which are another project's programs.
func TestNotesWarnOfUpstreamImages(t *testing.T) {
	for name, tc := range map[string]struct {
		set  []string
		want int
	}{
		"defaults":     {nil, 0},
		"a registry":   {[]string{"agentImage.repository=registry.example.com/a", "controllerImage.repository=registry.example.com/c"}, 0},
		"upstream's":   {[]string{"agentImage.repository=antrea/antrea-agent-ubuntu", "controllerImage.repository=antrea/antrea-controller-ubuntu"}, 2},
		"with a host":  {[]string{"agentImage.repository=docker.io/antrea/antrea-agent-ubuntu"}, 1},
		"one, by hand": {[]string{"agentImage.repository=antrea/antrea-agent-ubuntu", "agentImage.pullPolicy=Never"}, 1},
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
			require.Equal(t, tc.want, strings.Count(notes, "is upstream Antrea's"), notes)
		})
	}
}
