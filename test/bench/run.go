// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/bench/bed"
	"github.com/antrea-oncache/antrea/test/bench/native"
	"github.com/antrea-oncache/antrea/test/bench/native/cilium"
	"github.com/antrea-oncache/antrea/test/bench/result"
	"github.com/antrea-oncache/antrea/test/env/sandbox"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// options are the flags of all measuring commands.
type options struct {
	bed     string
	rounds  int
	length  time.Duration
	budget  time.Duration
	only    string
	out     string
	traffic string
	http3   string

	peer *cilium.Programs
}

func runCommand() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "run", Short: "Measure everything and write a result file", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.buildPeer(cmd.Context()); err != nil {
				return err
			}
			return inSandbox(cmd.Context(), func() error {
				run, err := o.measure(cmd, bed.Plan{Profile: o.only == "" && o.peer == nil})
				if err != nil {
					return err
				}
				path := filepath.Join(o.out, run.Bed+".json")
				if err := result.Save(path, run); err != nil {
					return err
				}
				fmt.Printf("bench: wrote %s after %.0f s\n", path, run.Seconds)
				return nil
			})
		},
	}
	o.addFlags(cmd, 7, time.Second, 42*time.Minute)
	cmd.Flags().StringVar(&o.only, "only", "", "regular expression of the workloads to measure; \"\" for all")
	cmd.Flags().StringVar(&o.out, "out", "test/bench/results", "directory for the result file")
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command, rounds int, length, budget time.Duration) {
	f := cmd.Flags()
	f.StringVar(&o.bed, "bed", native.Name, "bed to measure on: "+native.Name+", or "+native.PeerName+", with Cilium beside")
	f.IntVar(&o.rounds, "rounds", rounds, "how often each measurement is repeated")
	f.DurationVar(&o.length, "length", length, "time of each measurement")
	f.DurationVar(&o.budget, "budget", budget, "time limit of all measurements; if it is too short there are fewer rounds, at least 3")
	f.StringVar(&o.traffic, "traffic", "bin/traffic", "the program test/tools/traffic")
	f.StringVar(&o.http3, "http3", "bin/http3", "the program test/tools/http3")
}

// measure fills in the plan and runs it.
func (o *options) measure(cmd *cobra.Command, plan bed.Plan) (*result.Run, error) {
	plan.Rounds, plan.Length, plan.Budget = o.rounds, o.length, o.budget
	if o.only != "" {
		only, err := regexp.Compile(o.only)
		if err != nil {
			return nil, fmt.Errorf("--only: %w", err)
		}
		plan.Only = only.MatchString
	}
	b, err := o.newBed()
	if err != nil {
		return nil, err
	}
	return b.Run(cmd.Context(), plan)
}

func (o *options) newBed() (bed.Bed, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	traffic, err := program("traffic", o.traffic)
	if err != nil {
		return nil, err
	}
	http3, err := program("http3", o.http3)
	if err != nil {
		return nil, err
	}
	switch o.bed {
	case native.Name, native.PeerName:
		return &native.Bed{Self: self, Traffic: traffic, HTTP3: http3, Source: ".", Progress: progress.New(os.Stderr), Peer: o.peer}, nil
	}
	return nil, fmt.Errorf("bed %q does not exist; there are %s and %s", o.bed, native.Name, native.PeerName)
}

// program returns the absolute path of a program that a flag names.
func program(flag, path string) (string, error) {
	path, err := filepath.Abs(path)
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		return "", fmt.Errorf("--%s: %w (make bench-programs makes it)", flag, err)
	}
	return path, nil
}

// buildPeer builds what the bed with a peer needs. The sandbox has no network to download from, so this happens before, and in the
// sandbox once more, where everything is there.
func (o *options) buildPeer(ctx context.Context) (err error) {
	if o.bed == native.PeerName {
		o.peer, err = cilium.Build(ctx, progress.New(os.Stderr))
	}
	return err
}

// inSandbox runs do in namespaces of its own.
func inSandbox(ctx context.Context, do func() error) error {
	if os.Geteuid() != 0 {
		return errors.New("measuring needs root: network namespaces and eBPF")
	}
	var failed error
	code := sandbox.Run(ctx, func() int {
		if failed = do(); failed != nil {
			return 1
		}
		return 0
	})
	if failed != nil {
		return failed
	}
	if code != 0 {
		return exitCode(code)
	}
	return nil
}
