// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/antctl"
)

var (
	// antctlCall is a call of antctl at the beginning of a line, or after the name of a container or the prompt of a shell.
	antctlCall = regexp.MustCompile("(?m)(?:^|`|[$#] |-- |bin/)antctl ([^`\n]*)")
	// scriptCall is one in a script.
	scriptCall = regexp.MustCompile(`"\$antctl" ([a-z][^\n;|)]*)`)
	// endOfCall matches the end of arguments.
	endOfCall = regexp.MustCompile(`\s+#|\s*[|>;&]`)
)

// acceptsCall reports whether antctl takes these arguments in an agent's Pod or elsewhere.
func acceptsCall(args []string) (err error) {
	for _, env := range []antctl.Environment{{Mode: antctl.ModeAgent, InPod: true}, {Mode: antctl.ModeController}} {
		root := antctl.NewCommand(env, "")
		root.InitDefaultCompletionCmd()
		command, rest, findErr := root.Find(args)
		if findErr != nil {
			err = findErr
			continue
		}
		if err = command.ParseFlags(rest); err != nil {
			continue
		}
		// A page may speak of "antctl get" as a whole.
		if command.HasSubCommands() {
			if command.Flags().NArg() == 0 {
				return nil
			}
			err = fmt.Errorf("%s has no command %s", command.CommandPath(), command.Flags().Arg(0))
			continue
		}
		if err = command.ValidateArgs(command.Flags().Args()); err == nil {
			return nil
		}
	}
	return err
}

// TestAntctlCalls: antctl takes each call of it in documents and in scripts.
func TestAntctlCalls(t *testing.T) {
	calls := map[string]string{}
	for file, text := range documents(t) {
		for _, span := range code.FindAllString(text, -1) {
			for _, m := range antctlCall.FindAllStringSubmatch(span, -1) {
				calls[m[1]] = file
			}
		}
	}
	scripts, err := filepath.Glob(root + "/ci/kind/*.sh")
	require.NoError(t, err)
	for _, file := range scripts {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, m := range scriptCall.FindAllStringSubmatch(string(text), -1) {
			calls[m[1]] = file
		}
	}
	for _, want := range []string{"check cluster", "get oncache flows --ip $SERVER --node $NODE", `check installation --kubeconfig "bin/kubeconfig-$cluster" --patience 3m`} {
		require.Contains(t, calls, want)
	}
	for call, file := range calls {
		if end := endOfCall.FindStringIndex(call); end != nil {
			call = call[:end[0]]
		}
		require.NoError(t, acceptsCall(strings.Fields(call)), "%s: antctl %s", file, call)
	}
	for _, wrong := range []string{"get oncahe", "get oncache --namespaces x", "check cluster --fast", "log-level 1 2"} {
		require.Error(t, acceptsCall(strings.Fields(wrong)), wrong)
	}
}
