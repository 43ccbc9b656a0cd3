// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures the network between two Pods on different Nodes, with the feature gate ONCache off and on, and
// between two hosts, and makes the report. Run it with `make bench`, `make bench-report` and `make bench-smoke`;
// docs/develop/benchmarking.md describes the method and the files.
//
// The commands are in run.go, smoke.go, report.go and inside.go (programs that the bed starts). Package bed declares what a
// bed is, and native is one. Package workload has the workloads; stats, result, report and svg turn the measurements into a
// report; guard detects regressions.
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

// exitCode ends the program with a code once all output has been written.
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
