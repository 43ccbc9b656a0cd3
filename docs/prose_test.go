// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// habits are patterns of comments, log lines, errors and help at which a reader in a hurry stops, with what to write instead.
// A pattern with groups does not count if one of them is a word in idiomatic.
var habits = []habit{
	// A definition by a question word.
	newHabit(`\b(\w+) (?:is|are) (?:what|how|when|where|who|whether)\b`, "the kind of thing: the number of, the time at which, reports whether"),
	newHabit(`^\w+ (?:says|tells) (?:whether|if)\b`, "reports whether"),
	newHabit(`(?:^|[.;] )(?-i:What) [a-z][^?.;]*(?:[.;]|$)`, "a noun instead of What"),
	// A pronoun instead of the noun.
	newHabit(`\b(?:is|are|was|were) those\b|\bthose (?:of|in|from|for|on|to|by|at|with|without|whose|between|before|after)\b`, "the noun instead of those"),
	newHabit(`\bthat of\b|\b(?:is|are|was|were|as|than|like) that (?:with|without|for)\b`, "the noun instead of that"),
	newHabit(`\bother ones?\b`, "the noun instead of one"),
	// A light verb.
	newHabit(`(?:^|[^.\w])(?:go|goes|going|went|gone) on\b`, "continue"),
	newHabit(`\b(?:is|are|was|were|be) over(?:$|[.,;:)]| (?:and|or|but|in|if|when|before)\b)`, "ended, has passed"),
	newHabit(`\b(?:takes?|took) no\b`, "does not accept"),
	newHabit(`\b\w+\.(?:go|c|h|sh) (?:has|have)\b`, "contains, defines, describes"),
	newHabit(`\bbecomes? of\b`, "happens to"),
	newHabit(`\b(\w+) (?:is|are) no (\w+)`, "is not a"),
	// People who do not exist.
	newHabit(`\b(?:some|no|every|any)body\b|\bstrangers?\b`, "foreign, unknown, unused, another program"),
	// An elliptic end.
	newHabit(`, too(?:$|[.,;:)])`, "also, before the verb"),
	newHabit(`\bmeanwhile(?:$|[.,;:)])`, "when"),
	newHabit(`\bthat is all\b|\ball the same\b`, "nothing"),
	// Grammar of another language.
	newHabit(`\b(?:is|are|was|were) to be\b`, "must, will"),
	newHabit(`\bso many (?:[a-su-z]|t[a-gi-z])`, "the number of, n"),
	newHabit(`\banew\b`, "again, from scratch"),
}

// idiomatic words make a question word or "is no" good English: "that is how", "there is no", "is no longer".
var idiomatic = []string{"that", "this", "it", "there", "which", "these", "they", "longer", "more"}

type habit struct {
	pattern *regexp.Regexp
	write   string
}

func newHabit(pattern, write string) habit { return habit{regexp.MustCompile("(?i)" + pattern), write} }

// habitsIn returns the phrases of a text that should be written differently, each with what to write.
func habitsIn(text string) (found []string) {
	for _, habit := range habits {
		for _, m := range habit.pattern.FindAllStringSubmatch(text, -1) {
			if !slices.ContainsFunc(m[1:], func(word string) bool { return slices.Contains(idiomatic, strings.ToLower(word)) }) {
				found = append(found, strconv.Quote(m[0])+": write "+habit.write)
			}
		}
	}
	return found
}

// passage is a comment (consecutive lines are one), or a string with words in it.
type passage struct {
	line int
	text string
}

// passagesOf returns the passages of a file by its language, or none of a file that is generated or not written in one.
func passagesOf(path string, text []byte) []passage {
	if generated.Match(text) {
		return nil
	}
	switch filepath.Ext(path) {
	case ".go":
		return goPassages(text)
	case ".c", ".h", ".pml":
		return matches(cComment, text)
	case ".sh", ".yaml", ".yml", ".conf", ".tpl":
		return matches(hashComment, text)
	}
	if filepath.Base(path) == "Makefile" || filepath.Base(path) == "Dockerfile" || bytes.HasPrefix(text, []byte("#!")) {
		return matches(hashComment, text)
	}
	return nil
}

var (
	generated = regexp.MustCompile(`(?m)\A(?:.*\n){0,5}.*Code generated .* DO NOT EDIT`)
	cComment  = regexp.MustCompile(`(?s)/\*.*?\*/|(?:[ \t]*//[^\n]*\n)+`)
	// hashComment also finds the help behind a target of the Makefile, and strings of scripts.
	hashComment = regexp.MustCompile(`(?:(?:^|\n)[ \t]*#[^\n]*)+|[ \t]#[^\n]*|"[^"\n]* [^"\n]* [^"\n]*"`)
	marks       = regexp.MustCompile(`(?m)^[ \t]*(?:/\*|\*/|\*|//|#+)|\*/`)
)

func matches(pattern *regexp.Regexp, text []byte) (out []passage) {
	for _, at := range pattern.FindAllIndex(text, -1) {
		found := bytes.TrimLeft(text[at[0]:at[1]], "\n")
		out = append(out, passage{1 + bytes.Count(text[:at[1]-len(found)], []byte("\n")), clean(string(found))})
	}
	return out
}

func clean(comment string) string {
	return strings.Join(strings.Fields(marks.ReplaceAllString(comment, " ")), " ")
}

// goPassages joins the lines of a comment, and the parts of a string that is concatenated.
func goPassages(text []byte) (out []passage) {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(text))
	s.Init(file, text, nil, scanner.ScanComments)
	comment, lastLine, concatenated := false, 0, false
	for {
		pos, tok, lit := s.Scan()
		line := file.Line(pos)
		switch {
		case tok == token.EOF:
			return out
		case tok == token.COMMENT && strings.HasPrefix(lit, "//go:"):
			comment = false
			continue
		case tok == token.COMMENT && comment && line == lastLine+1:
			out[len(out)-1].text += " " + clean(lit)
		case tok == token.COMMENT:
			out = append(out, passage{line, clean(lit)})
		case tok == token.STRING:
			value, _ := strconv.Unquote(lit)
			if concatenated {
				out[len(out)-1].text += value
			} else {
				out = append(out, passage{line, value})
			}
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		concatenated = tok == token.STRING || tok == token.ADD && concatenated
		comment, lastLine = tok == token.COMMENT, line
	}
}

// TestSourcesReadWell lists the habits in comments and messages of all folders.
func TestSourcesReadWell(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
			return filepath.SkipDir
		}
		name, err := filepath.Rel(root, path)
		require.NoError(t, err)
		if !d.Type().IsRegular() || name == "docs/english_test.go" || name == "docs/prose_test.go" {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, p := range passagesOf(path, text) {
			if !strings.Contains(p.text, " ") {
				continue // a name
			}
			for _, habit := range habitsIn(p.text) {
				t.Errorf("%s:%d: %s", name, p.line, habit)
			}
		}
		return err
	}))
}

// TestHabits: each habit is found, and good English is left alone.
func TestHabits(t *testing.T) {
	for _, bad := range []string{
		"mostUnsettled is how many Services are tried", "linked says whether the device has a link", "It is tried again. What fails, Start tries again.",
		"Hits are those of the former cache", "the policies and those without rules", "labelWidth is that of the first column", "see the other one",
		"forwarding goes on", "once the lease is over.", "the controller takes no reports", "core.go has the events", "what becomes of packets",
		"%q is no format", "nobody answers", "a stranger's flows", "flows are deleted, too.", "it has changed meanwhile", "and that is all",
		"the packet is to be dropped", "after so many others", "counters that have begun anew",
	} {
		require.NotEmpty(t, habitsIn(bad), bad)
	}
	for _, good := range []string{
		"that is how packets travel", "There is no rule.", "the lease is no longer valid", "What is left? Nothing.", "is over 100 bytes", "so many that it fails",
		"those who read", "note that Services differ",
	} {
		require.Empty(t, habitsIn(good), good)
	}
	source := "// One is\n// two.\npackage x\n\nvar s = \"a b \" +\n\t\"c d\" // three\n"
	require.Equal(t, []passage{{1, "One is two."}, {5, "a b c d"}, {6, "three"}}, goPassages([]byte(source)))
	require.Equal(t, []passage{{2, "One is two."}}, passagesOf("x.h", []byte("int x;\n/* One is\n * two. */\n")))
	require.Equal(t, []passage{{1, "One is two."}, {3, "help"}}, passagesOf("Makefile", []byte("# One is\n# two.\nall: x ## help\n")))
}
