// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/cobra"

	"github.com/antrea-oncache/antrea/test/bench/report"
	"github.com/antrea-oncache/antrea/test/bench/result"
)

func reportCommand() *cobra.Command {
	var in, out string
	cmd := &cobra.Command{
		Use: "report", Short: "Make the report from result files", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			runs, err := result.LoadDir(in, report.Beds...)
			if err != nil {
				return err
			}
			return report.Write(out, runs)
		},
	}
	cmd.Flags().StringVar(&in, "in", "test/bench/results", "directory of the result files")
	cmd.Flags().StringVar(&out, "out", "docs/start", "directory for benchmarks.md, its details and its plots")
	return cmd
}
