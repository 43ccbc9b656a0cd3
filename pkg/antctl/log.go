// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package antctl

import (
	"errors"
	"flag"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
)

// SetUpLog makes libraries log errors only, and no warnings such as those about a cluster's feature gates, unless the user of root asks for more. The
// log is the process's, and is set up without a lock when the command runs: other goroutines must not log yet.
func SetUpLog(root *cobra.Command) {
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		verbose, err := cmd.Flags().GetBool("verbose")
		if err != nil {
			return err
		}
		fs := flag.NewFlagSet("klog", flag.ContinueOnError)
		klog.InitFlags(fs)
		if verbose {
			return fs.Set("v", "2")
		}
		klog.SetOutput(io.Discard)
		return errors.Join(fs.Set("logtostderr", "false"), fs.Set("stderrthreshold", "ERROR"))
	}
}
