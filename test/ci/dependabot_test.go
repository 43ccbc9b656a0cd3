// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// TestDependabot: updates are proposed for every module and every Dockerfile of the checkout.
func TestDependabot(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github/dependabot.yml"))
	require.NoError(t, err)
	var config struct {
		Updates []struct {
			Ecosystem   string   `json:"package-ecosystem"`
			Directories []string `json:"directories"`
		} `json:"updates"`
	}
	require.NoError(t, yaml.Unmarshal(text, &config))
	listed := map[string][]string{}
	for _, update := range config.Updates {
		listed[update.Ecosystem] = update.Directories
	}
	require.ElementsMatch(t, directoriesOf(t, "go.mod"), listed["gomod"])
	require.ElementsMatch(t, directoriesOf(t, "Dockerfile"), listed["docker"])
}

// directoriesOf returns the directories below the root that contain a file of this name, as paths that begin with a slash. Hidden ones, and
// what builds leave (bin, .testbed), do not count.
func directoriesOf(t *testing.T, name string) []string {
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		relative := strings.TrimPrefix(strings.TrimPrefix(path, root), "/")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(relative, ".") || relative == "bin"):
			return filepath.SkipDir
		case entry.Name() == name:
			found = append(found, "/"+filepath.ToSlash(strings.TrimPrefix(filepath.Dir(relative), ".")))
		}
		return nil
	}))
	return found
}
