// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package rtnl

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/vishvananda/netlink"
)

func TestDump(t *testing.T) {
	for _, tt := range []struct{ interrupted, calls int }{{0, 1}, {1, 2}, {9, 10}, {10, 10}} {
		t.Run(fmt.Sprint(tt.interrupted), func(t *testing.T) {
			calls := 0
			got, err := Dump(func() (int, error) {
				if calls++; calls <= tt.interrupted {
					return -calls, fmt.Errorf("list: %w", netlink.ErrDumpInterrupted)
				}
				return calls, nil
			})
			require.Equal(t, tt.calls, calls)
			if tt.interrupted == attempts {
				require.ErrorIs(t, err, netlink.ErrDumpInterrupted)
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.calls, got)
		})
	}
	_, err := Dump(func() (int, error) { return 0, fs.ErrPermission })
	require.ErrorIs(t, err, fs.ErrPermission)
}

// TestListsAreDumped: all lists of the netlink library are requested as an argument of Dump, where a change during the
// dump is not an error.
func TestListsAreDumped(t *testing.T) {
	lists := map[string]bool{
		"LinkList": true, "AddrList": true, "RouteList": true, "RouteListFiltered": true, "NeighList": true, "QdiscList": true, "FilterList": true,
	}
	seen := 0
	require.NoError(t, filepath.WalkDir("../../../pkg", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || filepath.Base(filepath.Dir(path)) == "rtnl" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && isDump(call.Fun) {
				seen++
				return false
			}
			if s, ok := n.(*ast.SelectorExpr); ok && lists[s.Sel.Name] {
				t.Errorf("%s: %s outside rtnl.Dump", files.Position(s.Pos()), s.Sel.Name)
			}
			return true
		})
		return nil
	}))
	require.Positive(t, seen)
}

func isDump(f ast.Expr) bool {
	s, ok := f.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := s.X.(*ast.Ident)
	return ok && of.Name == "rtnl" && s.Sel.Name == "Dump"
}
