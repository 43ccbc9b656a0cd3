// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package images_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// confined returns the command that runs a script with the capabilities that the chart gives its container, agent.NAME of the values, and no
// other: not even those that container runtimes add. Only root has any.
func confined(t *testing.T, name, script string, args ...string) *exec.Cmd {
	t.Helper()
	if os.Getuid() != 0 {
		return exec.Command(script, args...)
	}
	text, err := os.ReadFile("../charts/antrea/values.yaml")
	require.NoError(t, err)
	var values struct {
		Agent map[string]any
	}
	require.NoError(t, yaml.Unmarshal(text, &values))
	container, _ := values.Agent[name].(map[string]any)
	context, _ := container["securityContext"].(map[string]any)
	capabilities, _ := context["capabilities"].([]any)
	require.NotEmpty(t, capabilities, name)
	bounding := "--bounding-set=-all"
	for _, capability := range capabilities {
		bounding += ",+" + strings.ToLower(capability.(string))
	}
	return exec.Command("setpriv", append([]string{"--inh-caps=-all", bounding, "--", script}, args...)...)
}
