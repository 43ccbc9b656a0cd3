// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// Prefixes of programs that kubectl runs: for kubectl NAME, and for the shell that completes it.
const (
	pluginPrefix    = "kubectl-"
	completerPrefix = "kubectl_complete-"
)

// exampleCall matches a call of antctl in an example.
var exampleCall = regexp.MustCompile(`(?m)^(\s*)antctl `)

// AsPlugin adapts root to the name and arguments with which the program was called. A copy named kubectl-antrea is kubectl antrea in its help. It
// offers no completion scripts, which kubectl's shell would not use: kubectl runs kubectl_complete-antrea with the words so far.
func AsPlugin(root *cobra.Command, program string, args []string) {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	plugin, is := strings.CutPrefix(name, pluginPrefix)
	if completed, completes := strings.CutPrefix(name, completerPrefix); completes {
		plugin, is = completed, true
		root.SetArgs(append([]string{cobra.ShellCompRequestCmd}, args...))
	}
	if !is {
		return
	}
	// In names of files, kubectl takes an underscore for a dash.
	called := "kubectl " + strings.ReplaceAll(plugin, "_", "-")
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: called}
	root.CompletionOptions.DisableDefaultCmd = true
	renameExamples(root, called)
}

// renameExamples lets the examples of all commands call the program by this name.
func renameExamples(cmd *cobra.Command, called string) {
	cmd.Example = exampleCall.ReplaceAllString(cmd.Example, "${1}"+called+" ")
	for _, sub := range cmd.Commands() {
		renameExamples(sub, called)
	}
}
