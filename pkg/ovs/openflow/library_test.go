// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const library = "github.com/contiv/libOpenflow"

// libraryNames are the names of the library that are used, by file. Everything added here must be read back from a real switch in
// ovs_encode_test.go, and has to be replaced together with the library.
var libraryNames = map[string][]string{
	"library.go": {
		"ByteArrayField", "FindFieldHeaderByName", "MatchField", "NewActionDecNwTtl", "NewActionOutput", "NewActionSetField",
		"NewInstrGotoTable", "NewNXActionConjunction", "NewNXActionRegLoad", "NewNXActionRegMove", "NewNXActionResubmitTableAction",
		"NewOutputFromField", "OFPP_IN_PORT",
	},
}

// The library is no longer maintained. Only library.go of this package uses it, so that it can be replaced.
func TestUseOfTheLibrary(t *testing.T) {
	root, err := filepath.Abs("../../..")
	require.NoError(t, err)
	used := map[string][]string{}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		if names := namesOfLibrary(t, path); names != nil {
			relative, err := filepath.Rel(filepath.Join(root, "pkg/ovs/openflow"), path)
			require.NoError(t, err)
			used[relative] = names
		}
		return nil
	}))
	require.Equal(t, libraryNames, used)
}

// namesOfLibrary are the names of the library that a file uses, in order; nil if it does not import it.
func namesOfLibrary(t *testing.T, path string) []string {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.ImportsOnly)
	require.NoError(t, err)
	i := slices.IndexFunc(file.Imports, func(s *ast.ImportSpec) bool {
		imported, err := strconv.Unquote(s.Path.Value)
		return err == nil && (imported == library || strings.HasPrefix(imported, library+"/"))
	})
	if i < 0 {
		return nil
	}
	require.NotNil(t, file.Imports[i].Name, "%s: import it under a name", path)
	alias := file.Imports[i].Name.Name
	file, err = parser.ParseFile(fset, path, nil, 0)
	require.NoError(t, err)
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if of, ok := selector.X.(*ast.Ident); ok && of.Name == alias {
				names[selector.Sel.Name] = true
			}
		}
		return true
	})
	return slices.Sorted(maps.Keys(names))
}
