// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
)

// worker removes items and keeps count.
type worker struct {
	dryRun bool
	out    io.Writer
	count  int
	failed error
}

func (w *worker) remove(items []leftover.Item) {
	for _, item := range items {
		if w.dryRun {
			fmt.Fprintf(w.out, "would remove %s\n", item.Name)
			w.count++
			continue
		}
		if err := item.Remove(); err != nil {
			w.fail(item.Name, err)
			continue
		}
		fmt.Fprintf(w.out, "removed %s\n", item.Name)
		w.count++
	}
}

func (w *worker) fail(what string, err error) {
	err = fmt.Errorf("%s: %w", what, err)
	fmt.Fprintf(w.out, "FAILED %s\n", err)
	w.failed = errors.Join(w.failed, err)
}

// finish says the result and removes the directory that the lock has made.
func (w *worker) finish(runDirectory string) error {
	switch {
	case w.dryRun:
		fmt.Fprintf(w.out, "dry run: %d things of Antrea are on this Node, nothing was changed\n", w.count)
		return nil
	case w.count == 0:
		fmt.Fprintln(w.out, "nothing of Antrea is on this Node")
	default:
		fmt.Fprintf(w.out, "removed all of Antrea from this Node: %d things\n", w.count)
	}
	return os.RemoveAll(runDirectory)
}
