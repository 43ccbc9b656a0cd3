// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// longestFunction is the number of lines of the longest permitted function, as docs/develop/style.md says.
const longestFunction = 60

// longestFile is the number of lines of the longest permitted file, as the same page says.
const longestFile = 430

// TestFunctionsAreShort: a function or a file of more lines does several things. Tests, which have tables, and generated files may have longer ones.
func TestFunctionsAreShort(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (file != root && strings.HasPrefix(d.Name(), ".") || d.Name() == "bin"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, file, nil, parser.ParseComments)
		require.NoError(t, err)
		if ast.IsGenerated(parsed) {
			return nil
		}
		if lines := files.File(parsed.Pos()).LineCount(); lines > longestFile {
			t.Errorf("%s has %d lines, must have at most %d", file, lines, longestFile)
		}
		for _, declaration := range parsed.Decls {
			function, is := declaration.(*ast.FuncDecl)
			if !is {
				continue
			}
			if lines := files.Position(function.End()).Line - files.Position(function.Pos()).Line + 1; lines > longestFunction {
				t.Errorf("%s: %s has %d lines, must have at most %d", file, function.Name.Name, lines, longestFunction)
			}
		}
		return nil
	}))
}
