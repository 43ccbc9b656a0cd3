// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package log sets klog up for a long-running component: its flags, and limits on the size and the number of log files
// (klog itself limits the size only when it writes into one named file, and never deletes any) and on its verbosity.
package log

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"
)

// MaxLevel is the highest verbosity. From the next one on the client library logs the bodies of requests and answers
// (k8s.io/client-go/rest/request.go, logBody), in which there are tokens.
const MaxLevel = 7

const (
	maxFilesFlag  = "log_file_max_num"
	checkInterval = 10 * time.Minute
)

// severities are the log levels that klog has files for.
var severities = []string{"INFO", "WARNING", "ERROR", "FATAL"}

// Options are klog's flags and the limit on the number of files.
type Options struct {
	klogFlags *flag.FlagSet
	maxFiles  uint16
}

// AddFlags adds klog's flags and --log_file_max_num.
func (o *Options) AddFlags(fs *pflag.FlagSet) {
	o.klogFlags = flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(o.klogFlags)
	fs.AddGoFlagSet(o.klogFlags)
	fs.Uint16Var(&o.maxFiles, maxFilesFlag, o.maxFiles,
		"How many log files of each severity to keep in --log_dir, the current one included; 0 keeps all")
}

// Apply makes klog limit the size of every file, and lowers a verbosity above MaxLevel. Call it after the flags were parsed
// and before the first message.
func (o *Options) Apply() error {
	verbosity := o.klogFlags.Lookup("v").Value
	if level, err := strconv.Atoi(verbosity.String()); err == nil && level > MaxLevel {
		if err := verbosity.Set(strconv.Itoa(MaxLevel)); err != nil {
			return fmt.Errorf("-v=%d: lowering it to %d: %w", level, MaxLevel, err)
		}
		klog.InfoS("The verbosity is lower than asked for, because tokens would be logged", "asked", level, "verbosity", MaxLevel)
	}
	text := o.klogFlags.Lookup("log_file_max_size").Value.String()
	megabytes, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return fmt.Errorf("--log_file_max_size: %q is not a number of megabytes: %w", text, err)
	}
	if megabytes > 0 {
		klog.MaxSize = megabytes << 20
	}
	return nil
}

// Run deletes the oldest files of this program in --log_dir as they become too many, now and every ten minutes, until
// ctx ends.
func (o *Options) Run(ctx context.Context) {
	dir := o.klogFlags.Lookup("log_dir").Value.String()
	if o.maxFiles == 0 || dir == "" {
		return
	}
	ticker := time.NewTicker(checkInterval)
	defer ticker.Stop()
	for {
		if err := keepNewest(dir, filepath.Base(os.Args[0]), int(o.maxFiles)); err != nil {
			klog.ErrorS(err, "Failed to delete old log files")
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// keepNewest deletes all but the newest max files per severity. Names are
// <program>.<host>.<user>.log.<severity>.<date>-<time>.<pid>; symbolic links (<program>.<severity>) stay.
func keepNewest(dir, program string, limit int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("listing log files: %w", err)
	}
	for _, severity := range severities {
		marker := ".log." + severity + "."
		var names []string
		for _, entry := range entries {
			if entry.Type().IsRegular() && strings.HasPrefix(entry.Name(), program+".") && strings.Contains(entry.Name(), marker) {
				names = append(names, entry.Name())
			}
		}
		// The part after the marker sorts by time.
		slices.SortFunc(names, func(a, b string) int {
			_, timeA, _ := strings.Cut(a, marker)
			_, timeB, _ := strings.Cut(b, marker)
			return strings.Compare(timeB, timeA)
		})
		if len(names) <= limit {
			continue
		}
		for _, name := range names[limit:] {
			if err := os.Remove(filepath.Join(dir, name)); err != nil {
				return fmt.Errorf("deleting an old log file: %w", err)
			}
		}
	}
	return nil
}
