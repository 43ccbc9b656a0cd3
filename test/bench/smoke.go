// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/guard"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

// attempts is the number of the guard's measurements before it fails: a regression of the code shows each time.
const attempts = 2

func smokeCommand() *cobra.Command {
	var o options
	var path string
	var record bool
	var runs int
	cmd := &cobra.Command{
		Use: "smoke", Short: "Measure a little and fail if a ratio is out of its recorded band", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return inSandbox(cmd.Context(), func() error {
				bands, err := guard.Load(path)
				if record && errors.Is(err, fs.ErrNotExist) {
					bands, err = guard.Bands{}, nil
				}
				if err != nil {
					return err
				}
				if record {
					return o.record(cmd, bands, runs, path)
				}
				return o.check(cmd, bands)
			})
		},
	}
	o.addFlags(cmd, 9, 300*time.Millisecond, 100*time.Second)
	cmd.Flags().StringVar(&path, "bands", "test/bench/bands.json", "file of the bands")
	cmd.Flags().BoolVar(&record, "record", false, "record the bands instead of checking them")
	cmd.Flags().IntVar(&runs, "runs", 5, "number of runs to record from")
	return cmd
}

// record measures several times and records the bands from that.
func (o *options) record(cmd *cobra.Command, bands guard.Bands, runs int, path string) error {
	if runs < 1 {
		return fmt.Errorf("--runs=%d: must be at least 1", runs)
	}
	var measured []*result.Run
	for i := range runs {
		fmt.Printf("bench-smoke: run %d of %d\n", i+1, runs)
		run, err := o.measure(cmd, bed.Plan{Smoke: true})
		if err != nil {
			return err
		}
		measured = append(measured, run)
	}
	if err := bands.Record(measured...); err != nil {
		return err
	}
	last := measured[runs-1]
	fmt.Printf("bench-smoke: recorded %d bands of %s in %s\n", len(bands.For(last.Bed, last.Machine)), last.Machine.Processor, path)
	return bands.Save(path)
}

// check measures, and repeats only what has failed.
func (o *options) check(cmd *cobra.Command, bands guard.Bands) error {
	if len(bands[o.bed]) == 0 {
		return fmt.Errorf("no bands of bed %s are recorded: record them with bench smoke --record on a machine without other work", o.bed)
	}
	var failed []string
	for range attempts {
		run, err := o.measure(cmd, bed.Plan{Smoke: true})
		if err != nil {
			return err
		}
		fmt.Printf("bench-smoke: processor %s%s\n", run.Machine.Processor, ofOthers(bands[o.bed], run.Machine.Processor))
		failed = nil
		var again []guard.Band
		for _, f := range bands.Check(run) {
			fmt.Println("bench-smoke:", f)
			if f.Failed {
				failed = append(failed, f.String())
				again = append(again, f.Band)
			}
		}
		if len(failed) == 0 {
			fmt.Println("bench-smoke: PASS")
			return nil
		}
		if err := guard.Judgeable(run); err != nil {
			fmt.Println("bench-smoke: NOT JUDGED:", err)
			return nil
		}
		bands = guard.Bands{run.Bed: again}
	}
	return fmt.Errorf("%d ratios are out of their bands, %d times (bench smoke --record makes new ones if that is meant):\n%s", len(failed), attempts, strings.Join(failed, "\n"))
}

// ofOthers returns a note if the bands were recorded on other processors.
func ofOthers(bands []guard.Band, processor string) string {
	if slices.ContainsFunc(bands, func(b guard.Band) bool { return b.Processor == processor }) {
		return ""
	}
	return ", which has no record: held to the weakest limit of the others"
}
