// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the network between two Pods on different Nodes, with the feature gate ONCache off and on, next to
// that between two hosts, and makes the report. Run it with `make bench`, `make bench-report` and `make bench-smoke`;
// docs/benchmarking.md says how it measures and what its files mean.
//
// The commands are in run.go, smoke.go, report.go and inside.go (what the bed starts); package bed declares what a bed is, native is
// one; workload has what is measured; stats, result, report and svg make of it what people read; guard notices when it has
// become worse.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

// exitCode ends the program with a code after everything has been said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, os.Interrupt)
	err := newCommand().ExecuteContext(ctx)
	stop()
	var code exitCode
	switch {
	case errors.As(err, &code):
		os.Exit(int(code))
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{Use: "bench", Short: "Measure the overlay with and without ONCache", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(runCommand(), smokeCommand(), reportCommand(), agentCommand(), soakCommand())
	return root
}
