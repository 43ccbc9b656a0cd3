// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAsPlugin: the help names the program as the user has called it, and kubectl gets what completes its arguments.
func TestAsPlugin(t *testing.T) {
	for name, tc := range map[string]struct {
		program   string
		args      []string
		want, not string
	}{
		"antctl":             {program: "/usr/local/bin/antctl", args: []string{"get", "--help"}, want: "\n  antctl get [command]\n", not: "kubectl antrea"},
		"a plugin":           {program: "/usr/local/bin/kubectl-antrea", args: []string{"get", "--help"}, want: "\n  kubectl antrea get [command]\n", not: "antctl get"},
		"a plugin's command": {program: "kubectl-antrea", args: []string{"check", "cluster", "--help"}, want: "\nExamples:\n  kubectl antrea check cluster\n  kubectl antrea check cluster --image ", not: "antctl check"},
		"on Windows":         {program: "kubectl-antrea.exe", args: []string{"get", "--help"}, want: "\n  kubectl antrea get [command]\n"},
		"another name":       {program: "kubectl-my_antrea", args: []string{"get", "--help"}, want: "\n  kubectl my-antrea get [command]\n"},
		"antctl completes":   {program: "antctl", args: []string{"completion", "bash"}, want: "complete -o default -F __start_antctl antctl"},
		"no useless script":  {program: "kubectl-antrea", args: []string{"completion", "bash"}, want: `unknown command "completion" for "kubectl antrea"`},
		"kubectl completes":  {program: "kubectl_complete-antrea", args: []string{"check", "cl"}, want: "cluster\t", not: "Usage"},
		"kubectl lists":      {program: "kubectl_complete-antrea", args: []string{""}, want: "status\t"},
	} {
		t.Run(name, func(t *testing.T) {
			root := NewCommand(Environment{Mode: ModeController}, "")
			var out bytes.Buffer
			root.SetOut(&out)
			root.SetErr(&out)
			root.SetArgs(tc.args)
			AsPlugin(root, tc.program, tc.args)
			_ = root.Execute() // its error is in the output
			require.Contains(t, out.String(), tc.want)
			if tc.not != "" {
				require.NotContains(t, out.String(), tc.not)
			}
		})
	}
}
