// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

const (
	// maxSummary is the maximum number of characters of a list in a table cell.
	maxSummary = 50
	// noValue is the content of empty table cells.
	noValue = "<NONE>"
)

func write(w io.Writer, result Result, format Format) error {
	if template, found := strings.CutPrefix(string(format), jsonPathPrefix); found {
		return writeJSONPath(w, result.Data, template)
	}
	switch format {
	case FormatJSON:
		body, err := json.MarshalIndent(result.Data, "", "  ")
		if err != nil {
			return fmt.Errorf("writing JSON: %w", err)
		}
		_, err = io.WriteString(w, cleanJSON(string(body))+"\n")
		return err
	case FormatYAML:
		body, err := json.Marshal(result.Data)
		if err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		// JSON is YAML, except for the control characters that JSON allows in strings.
		if body, err = yaml.JSONToYAML([]byte(cleanYAML(string(body)))); err != nil {
			return fmt.Errorf("writing YAML: %w", err)
		}
		_, err = io.WriteString(w, cleanYAML(string(body)))
		return err
	default:
		text := cleanText(result.Text)
		if text == "" {
			text = result.Table.String()
			if format == formatRows {
				_, text, _ = strings.Cut(text, "\n")
			}
		}
		_, err := io.WriteString(w, text)
		return err
	}
}

// String formats the table with its header, columns padded with spaces. Without rows it returns an empty line.
func (t Table) String() string {
	if len(t.Rows) == 0 {
		return "\n"
	}
	rows := slices.Clone(t.Rows)
	if !t.Unsorted {
		slices.SortStableFunc(rows, slices.Compare)
	}
	lines := [][]string{t.Header}
	for _, row := range rows {
		line := slices.Clone(row)
		for i := range line {
			if line[i] = clean(line[i]); line[i] == "" {
				line[i] = noValue
			}
		}
		lines = append(lines, line)
	}
	widths := make([]int, len(t.Header))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var text strings.Builder
		for i, cell := range line {
			text.WriteString(cell)
			text.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+1))
		}
		b.WriteString(strings.TrimRight(text.String(), " "))
		b.WriteByte('\n')
	}
	return b.String()
}

// Summary formats a list for a table cell: the elements joined by commas, as many as fit into 50 characters but at least
// one, followed by " + N more...".
func Summary(list []string) string {
	if all := strings.Join(list, ","); utf8.RuneCountInString(all) <= maxSummary {
		return all
	}
	for n := len(list) - 1; n > 0; n-- {
		text := fmt.Sprintf("%s + %d more...", strings.Join(list[:n], ","), len(list)-n)
		if n == 1 || utf8.RuneCountInString(text) <= maxSummary {
			return text
		}
	}
	return strings.Join(list, ",")
}
