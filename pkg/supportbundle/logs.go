// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// maxLog is the part of each log file that is collected, from its end.
const maxLog = 16 << 20

// maxLogLine is the length of the longest line of which none but a whole one is collected.
const maxLogLine = 64 << 10

// maxLogFiles is the number of files of each kind, the newest ones.
const maxLogFiles = 20

// Logs are items with the files that match a pattern of filepath.Match and were written to since then. Names in the bundle are
// below directory; compressed files are not compressed there. Links are left out: klog makes them to its present files.
func Logs(directory, pattern string, since time.Time) []Item {
	// The only error is a bad pattern.
	paths, _ := filepath.Glob(pattern)
	type log struct {
		path string
		info os.FileInfo
	}
	var logs []log
	for _, path := range paths {
		if info, err := os.Lstat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 && info.ModTime().After(since) {
			logs = append(logs, log{path, info})
		}
	}
	if len(logs) == 0 {
		return []Item{Text(directory+"none", func(context.Context) (string, error) {
			if since.IsZero() {
				return fmt.Sprintf("no files %s\n", pattern), nil
			}
			return fmt.Sprintf("no files %s written to since %s\n", pattern, since.UTC().Format(time.RFC3339)), nil
		})}
	}
	slices.SortFunc(logs, func(a, b log) int {
		return cmp.Or(b.info.ModTime().Compare(a.info.ModTime()), cmp.Compare(a.path, b.path))
	})
	var items []Item
	for _, l := range logs[:min(len(logs), maxLogFiles)] {
		items = append(items, Item{Name: directory + strings.TrimSuffix(filepath.Base(l.path), ".gz"), Collect: func(_ context.Context, w io.Writer) error {
			return copyLog(w, l.path)
		}})
	}
	return items
}

// copyLog writes the end of a log file.
func copyLog(w io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	if strings.HasSuffix(path, ".gz") {
		content, err := gzip.NewReader(file)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		_, err = io.Copy(w, content)
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return err
	}
	// The file may grow during the read.
	end := bufio.NewReaderSize(io.LimitReader(file, maxLog), maxLogLine)
	if skip := info.Size() - maxLog; skip > 0 {
		if _, err := file.Seek(skip, io.SeekStart); err != nil {
			return err
		}
		// Half a line may be half a secret, without its name.
		beginning, _ := end.Peek(maxLogLine)
		begun, err := end.Discard(bytes.IndexByte(beginning, '\n') + 1)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "[the first %d bytes are left out]\n", skip+int64(begun)); err != nil {
			return err
		}
	}
	_, err = io.Copy(w, end)
	return err
}
