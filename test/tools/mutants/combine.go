// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"go/ast"
	goparser "go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// chooser is the name of a package in the copy of the repository: Acts is the number of the mutant that acts, 0 for none, and Reached makes a
// file when that mutant's place is reached.
const chooser = "mutantchooser"

const (
	actsVariable    = "MUTANT_ACTS"
	reachedVariable = "MUTANT_REACHED"
)

const chooserSource = `package ` + chooser + `

import (
	"os"
	"strconv"
	"sync"
)

var Acts, _ = strconv.Atoi(os.Getenv("` + actsVariable + `"))

var Reached = sync.OnceFunc(func() {
	if err := os.WriteFile(os.Getenv("` + reachedVariable + `"), nil, 0o644); err != nil {
		panic(err)
	}
})
`

// combine gives a number to each mutant whose place is inside a Go function, and puts all of these into the tree together: a function begins with
// a copy of its body for each of its mutants, which runs if that mutant acts.
func (s *suite) combine(mutants []*mutant) error {
	bodies := map[string][]insertion{}
	for i, m := range mutants {
		if filepath.Ext(m.file) != ".go" {
			continue
		}
		content, err := m.original(s.repository)
		if err != nil {
			return err
		}
		body, inFunction, err := m.body(content, i+1)
		if err != nil {
			return err
		}
		if inFunction {
			m.number = i + 1
			bodies[m.file] = append(bodies[m.file], body)
		}
	}
	if len(bodies) == 0 {
		return nil
	}
	chooserImport, err := s.addChooser()
	if err != nil {
		return err
	}
	for file, insertions := range bodies {
		path := filepath.Join(s.tree, file)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		clause, err := goparser.ParseFile(token.NewFileSet(), file, content, goparser.PackageClauseOnly)
		if err != nil {
			return err
		}
		insertions = append(insertions, insertion{int(clause.Name.End()) - 1, "; " + chooserImport})
		if err := os.WriteFile(path, []byte(insert(string(content), insertions)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// addChooser adds the package chooser to the tree, and returns its import.
func (s *suite) addChooser() (declaration string, err error) {
	module, err := os.ReadFile(filepath.Join(s.repository, "go.mod"))
	if err != nil {
		return "", err
	}
	dir := filepath.Join(s.tree, chooser)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return "", err
	}
	declaration = fmt.Sprintf("import %q", modfile.ModulePath(module)+"/"+chooser)
	return declaration, os.WriteFile(filepath.Join(dir, chooser+".go"), []byte(chooserSource), 0o644)
}

// alone reports whether a mutant is in the tree without others.
func (m *mutant) alone() bool { return m.file != "" && m.number == 0 }

// separate restores the tree after combine.
func (s *suite) separate(mutants []*mutant) error {
	s.built = ""
	for _, m := range mutants {
		if m.number == 0 {
			continue
		}
		if err := copyFile(filepath.Join(s.repository, m.file), filepath.Join(s.tree, m.file)); err != nil {
			return err
		}
	}
	return nil
}

// insertion is text to insert before an offset.
type insertion struct {
	at   int
	text string
}

func insert(content string, insertions []insertion) string {
	slices.SortStableFunc(insertions, func(a, b insertion) int { return a.at - b.at })
	var b strings.Builder
	last := 0
	for _, i := range insertions {
		b.WriteString(content[last:i.at] + i.text)
		last = i.at
	}
	return b.String() + content[last:]
}

// body returns the body that a function gets for a mutant, if the mutant's place is inside one Go function. A function with labels keeps its one
// body, because two equal labels are not allowed.
func (m *mutant) body(content string, number int) (body insertion, inFunction bool, err error) {
	set := token.NewFileSet()
	file, err := goparser.ParseFile(set, m.file, content, goparser.SkipObjectResolution)
	if err != nil {
		return insertion{}, false, err
	}
	offset := func(p token.Pos) int { return set.Position(p).Offset }
	at := strings.Index(content, m.from)
	end := at + len(m.from)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || offset(f.Body.Lbrace) >= at || end > offset(f.Body.Rbrace) {
			continue
		}
		statement, labels := at, false
		ast.Inspect(f.Body, func(n ast.Node) bool {
			for _, s := range statements(n) {
				if offset(s.Pos()) <= at && at < offset(s.End()) && !isClause(s) {
					statement = offset(s.Pos()) // the last one is the innermost
				}
			}
			_, label := n.(*ast.LabeledStmt)
			labels = labels || label
			return true
		})
		first := offset(f.Body.Lbrace) + 1
		text := content[first:statement] + chooser + ".Reached(); " + content[statement:at] + m.to + content[end:offset(f.Body.Rbrace)]
		if f.Type.Results == nil {
			text += "\nreturn"
		}
		return insertion{first, fmt.Sprintf(" if %s.Acts == %d {%s\n};", chooser, number, text)}, !labels, nil
	}
	return insertion{}, false, nil
}

// statements returns the statements of a list.
func statements(n ast.Node) []ast.Stmt {
	switch n := n.(type) {
	case *ast.BlockStmt:
		return n.List
	case *ast.CaseClause:
		return n.Body
	case *ast.CommClause:
		return n.Body
	}
	return nil
}

// isClause reports whether a statement is part of a switch or select.
func isClause(s ast.Stmt) bool {
	switch s.(type) {
	case *ast.CaseClause, *ast.CommClause:
		return true
	}
	return false
}
