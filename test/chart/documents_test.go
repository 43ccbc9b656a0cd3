// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// codeBlock is a block of a document, with the spaces before its lines.
	codeBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	helmCall  = regexp.MustCompile(`helm (?:install|upgrade|template) ([^\n]*)`)
	setFlag   = regexp.MustCompile(`--set (\S+)`)
)

// TestCallsInDocuments renders the chart with what documents give to helm as --set. A block with an error shows a call that is refused.
func TestCallsInDocuments(t *testing.T) {
	calls := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(path) != ".md" {
			return nil
		}
		for _, block := range codeBlock.FindAllStringSubmatch(read(t, path), -1) {
			for _, call := range helmCall.FindAllStringSubmatch(strings.ReplaceAll(block[1], "\\\n", " "), -1) {
				var args []string
				for _, flag := range setFlag.FindAllStringSubmatch(call[1], -1) {
					args = append(args, "--set", flag[1])
				}
				calls++
				_, err := template(t, args...)
				require.Equal(t, strings.Contains(block[1], "Error:"), err != nil, "%s: helm %s: %v", path, call[1], err)
				require.Regexp(t, `--namespace kube-system`, call[1], path)
			}
		}
		return nil
	}))
	require.Greater(t, calls, 5)
}
