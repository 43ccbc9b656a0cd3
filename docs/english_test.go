// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// coined are the words that documents use in a sense of this project's own. Each has one row in docs/develop/glossary.md.
var coined = []string{
	"slow path", "fast path", "hit", "miss", "reason", "entry", "endpoint", "uplink", "slot", "generation", "evict", "epoch", "mark flow",
	"stamp", "ticket", "template", "lease", "probe", "share", "mode", "key", "restore", "oracle", "super-packet", "round",
}

// mostWords and mostCoined are as much as readers can be asked to read, and to learn first.
const mostWords, mostCoined = 60_000, 25

// TestDocumentsStayShort counts the words of docs, separated by spaces as wc counts them.
func TestDocumentsStayShort(t *testing.T) {
	total, pages := 0, []string(nil)
	for file, text := range documents(t) {
		if strings.HasPrefix(file, "docs/") {
			n := len(strings.Fields(text))
			total += n
			pages = append(pages, fmt.Sprintf("%6d %s", n, file))
		}
	}
	slices.Sort(pages)
	require.LessOrEqual(t, total, mostWords, "a page that grows has to lose something else:\n%s", strings.Join(pages, "\n"))
}

// glossaryRow is "| word | meaning | [page](link) |"; the header and the rule below it have no link.
var glossaryRow = regexp.MustCompile(`(?m)^\| ([a-z][a-z -]*) \| ([^|]+) \| (\[[^|]+\]\([^|]+\)) \|$`)

// TestEveryCoinedWordIsDefinedOnce also fails for a row that is not in the list, and for an entry that is too long to be read.
func TestEveryCoinedWordIsDefinedOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range glossaryRow.FindAllStringSubmatch(read(t, "docs/develop/glossary.md"), -1) {
		require.False(t, seen[row[1]], "two definitions of %q", row[1])
		require.Less(t, len(row[2]), 450, "definition of %q", row[1])
		seen[row[1]] = true
	}
	requireSameNames(t, slices.Clone(coined), names(seen))
	require.LessOrEqual(t, len(coined), mostCoined, "use a standard term instead")
	for _, page := range []string{"README.md", "ARCHITECTURE.md", "docs/design/oncache.md"} {
		require.Regexp(t, `\]\([a-z./]*glossary\.md\)`, read(t, page), page)
	}
}

// stumbles are phrases at which a native reader stops, with a better wording. They are searched in prose, not in code.
var stumbles = map[*regexp.Regexp]string{
	regexp.MustCompile(`(?i)\bpass(es|ed|ing)? (it |them )?by\b`):                   "bypass",
	regexp.MustCompile(`(?i)\b(take|takes|took|taken|taking) (OVS|Open vSwitch)\b`): "take the slow path",
	regexp.MustCompile(`(?i)\bas long[.,;:)]`):                                      "meanwhile",
	regexp.MustCompile(`(?i)\b(come|comes|came|coming) round\b`):                    "wrap around",
	regexp.MustCompile(`(?i)\bin need\b`):                                           "name who needs it",
	regexp.MustCompile(`(?i)\bhad wrong\b`):                                         "got wrong",
	regexp.MustCompile(`(?i)\bof when\b`):                                           "split the sentence",
	regexp.MustCompile(`(?i)\bbelongs? into\b`):                                     "belong in",
	regexp.MustCompile(`(?i)with 95 % probability`):                                 "95 % confidence interval",
	regexp.MustCompile(`[.;)] (What|Whatever)( [\w',-]+){3,}`):                      "name the noun",
}

// isNo finds "X is no Y". English has "there is no" and "is no longer"; of all else it says "is not a".
var isNo = regexp.MustCompile(`(?i)\b(\w+) (?:is|are) no (\w+)`)

func TestNobodyStumbles(t *testing.T) {
	for file, text := range documents(t) {
		prose := strings.Join(strings.Fields(code.ReplaceAllString(text, "code")), " ")
		for pattern, better := range stumbles {
			require.Empty(t, pattern.FindString(prose), "%s: write %q", file, better)
		}
		for _, m := range isNo.FindAllStringSubmatch(prose, -1) {
			if !strings.EqualFold(m[1], "there") && m[2] != "longer" && m[2] != "more" {
				t.Errorf("%s: %q: write \"is not a\"", file, m[0])
			}
		}
	}
}

// mention is a document named outside of documents, with the section that follows in quotation marks, if one does.
var mention = regexp.MustCompile(`\b(docs/[a-z/-]+\.md)(?:#([a-z-]+))?(?:,\s+(?:// |\* )?"([^"]+)")?`)

// TestMentionedDocuments: documents and sections that sources name exist.
func TestMentionedDocuments(t *testing.T) {
	all := documents(t)
	mentions := 0
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !slices.Contains([]string{".go", ".c", ".h", ".pml", ".sh"}, filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range mention.FindAllStringSubmatch(string(text), -1) {
			mentions++
			require.Contains(t, all, m[1], path)
			if m[2] != "" {
				require.True(t, anchors(all[m[1]])[m[2]], "%s: %s has no such heading", path, m[0])
			}
			if m[3] != "" {
				require.Regexp(t, `(?m)^#+ `+regexp.QuoteMeta(m[3])+`$`, all[m[1]], path)
			}
		}
		return err
	}))
	require.NotZero(t, mentions)
}
