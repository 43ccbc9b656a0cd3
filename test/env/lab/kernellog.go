// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/env/testbed/kernellog"
	"github.com/antrea-oncache/antrea/test/env/testbed/machine"
	"github.com/antrea-oncache/antrea/test/env/testbed/remote"
)

// shownFaults of a kernel log are enough to see what has happened; the rest is in the file.
const shownFaults = 20

// kernelLog is the output of `lab kernel-log` in the machine, in JSON.
type kernelLog struct {
	Records []kernellog.Record `json:"records"`
	Lost    uint64             `json:"lost"`
}

// kernelLogCommand is the command that run starts in the machine.
func kernelLogCommand() *cobra.Command {
	var after uint64
	cmd := &cobra.Command{
		Use:    "kernel-log",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			records, lost, err := kernellog.Read(after)
			if err != nil {
				return err
			}
			return json.NewEncoder(os.Stdout).Encode(kernelLog{records, lost})
		},
	}
	cmd.Flags().Uint64Var(&after, "after", 0, "sequence number of the last message that is left out")
	return cmd
}

// logWatch knows the position in the log of a machine's kernel at the start of a program.
type logWatch struct {
	machine *machine.Machine
	after   uint64
}

func watchKernelLog(ctx context.Context, m *machine.Machine) (*logWatch, error) {
	w := &logWatch{machine: m}
	log, err := w.read(ctx)
	if err != nil {
		return nil, err
	}
	if n := len(log.Records); n > 0 {
		w.after = log.Records[n-1].Sequence
	}
	return w, nil
}

func (w *logWatch) read(ctx context.Context) (log kernelLog, err error) {
	exe, err := os.Executable()
	if err != nil {
		return log, err
	}
	var out, stderr bytes.Buffer
	code, err := w.machine.Run(ctx, remote.Command{
		Args: []string{exe, "kernel-log", fmt.Sprintf("--after=%d", w.after)}, Env: os.Environ(), Dir: "/", Stdout: &out, Stderr: &stderr,
	})
	if err == nil && code != 0 {
		err = errors.New(strings.TrimSpace(stderr.String()))
	}
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &log)
	}
	if err != nil {
		err = fmt.Errorf("reading the kernel's log: %w", err)
	}
	return log, err
}

// check writes what was logged since the watch began to file, and returns an error with the lines that must not be there.
func (w *logWatch) check(ctx context.Context, file string) error {
	log, err := w.read(ctx)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, r := range log.Records {
		fmt.Fprintf(&text, "<%d> %s\n", r.Level, r.Message)
	}
	if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
		return err
	}
	if faults := kernellog.Faults(log.Records); len(faults) > 0 {
		return fmt.Errorf("the kernel has complained %d times (all of its log: %s):\n  %s", len(faults), file,
			strings.Join(faults[:min(len(faults), shownFaults)], "\n  "))
	}
	if log.Lost > 0 {
		return fmt.Errorf("the kernel has overwritten %d messages of its log before they were read; enlarge it (log_buf_len)", log.Lost)
	}
	return nil
}
