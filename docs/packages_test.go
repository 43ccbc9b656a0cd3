// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// ownFile is a file of the package itself, or several with an asterisk. Files of other packages have a folder.
var ownFile = regexp.MustCompile(`(?:^|[^\w/*.])([a-z][a-z0-9_]*\*?\.go)\b`)

// TestPackageCommentsNameAllFiles: a package comment names all files of its package, or none: a list with gaps hides the others. The file with
// the comment, and main.go, need not be named.
func TestPackageCommentsNameAllFiles(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" {
			return filepath.SkipDir
		}
		files, comment := packageFiles(t, dir)
		var patterns []string
		for _, m := range ownFile.FindAllStringSubmatch(comment, -1) {
			if !strings.HasSuffix(m[1], "_test.go") {
				patterns = append(patterns, m[1])
			}
		}
		if len(patterns) == 0 {
			return nil
		}
		used := map[string]bool{}
		for _, file := range files {
			named := false
			for _, pattern := range patterns {
				matches, err := path.Match(pattern, file)
				require.NoError(t, err)
				used[pattern] = used[pattern] || matches
				named = named || matches
			}
			if !named {
				t.Errorf("%s: the package comment names %s, but not %s: name all files or none", dir, patterns[0], file)
			}
		}
		for _, pattern := range patterns {
			if _, err := os.Stat(filepath.Join(dir, pattern)); err != nil && !used[pattern] {
				t.Errorf("%s: the package comment names %s, which does not exist", dir, pattern)
			}
		}
		return nil
	}))
}

// packageFiles returns the files that people write, except for tests, main.go and the file with the package comment, and the comment.
func packageFiles(t *testing.T, dir string) (files []string, comment string) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	for _, file := range all {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		if generated.Match(text) {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if parsed.Doc != nil {
			comment += parsed.Doc.Text()
		} else if name := filepath.Base(file); name != "main.go" {
			files = append(files, name)
		}
	}
	return files, comment
}
