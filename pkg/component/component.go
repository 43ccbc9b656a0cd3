// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package component holds the common parts of antrea-agent and antrea-controller as commands: the flag --config, the
// flags of the log, signals, and the exit code.
package component

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/log"
	"github.com/antrea-oncache/antrea/pkg/version"
)

// Component is a program that runs until it is asked to stop.
type Component struct {
	// Name is the program's, Short one line for its help.
	Name, Short string
	// AddFlags adds the program's own flags; nil if there are none.
	AddFlags func(*pflag.FlagSet)
	// Configure reads and checks the configuration file; configFile is empty when there is none.
	Configure func(configFile string) error
	// Run is called after Configure, if that did not fail. It returns when ctx ends, and with an error when it cannot
	// continue.
	Run func(ctx context.Context) error
	// Subcommands do something else than run the program; nil if there are none.
	Subcommands []*cobra.Command
}

// Execute runs the program with the command line of the process and returns its exit code.
func (c *Component) Execute() int {
	err := c.Command().Execute()
	klog.Flush()
	if err != nil {
		return 1
	}
	return 0
}

// Command is the program's command line. Errors of the command line are printed, errors of Configure and Run logged.
func (c *Component) Command() *cobra.Command {
	var configFile string
	logs := &log.Options{}
	cmd := &cobra.Command{
		Use:          c.Name,
		Short:        c.Short,
		Version:      version.GetFullVersionWithRuntimeInfo(),
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SilenceErrors = true // from here on errors are logged
			err := errors.Join(logs.Apply(), c.Configure(configFile))
			if err == nil {
				err = c.runUntilSignal(cmd.Context(), logs)
			}
			if err != nil {
				klog.ErrorS(err, c.Name+" stops")
			}
			return err
		},
	}
	addFlags := func(flags *pflag.FlagSet) {
		flags.StringVar(&configFile, "config", "", "The path to the configuration file")
		logs.AddFlags(flags)
		if c.AddFlags != nil {
			c.AddFlags(flags)
		}
	}
	addFlags(cmd.Flags())
	validate := &cobra.Command{
		Use:          "validate",
		Short:        "Check configuration file and flags as " + c.Name + " does at its start, and end",
		Args:         cobra.NoArgs,
		SilenceUsage: true,
		RunE:         func(*cobra.Command, []string) error { return c.Configure(configFile) },
	}
	addFlags(validate.Flags())
	cmd.AddCommand(append(c.Subcommands, validate)...)
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

// runUntilSignal calls Run until SIGTERM or an interrupt, or until ctx ends. A second signal ends the process at once.
func (c *Component) runUntilSignal(ctx context.Context, logs *log.Options) error {
	var cleaning sync.WaitGroup
	defer cleaning.Wait()
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	cleaning.Go(func() { logs.Run(ctx) })
	klog.InfoS("Starting "+c.Name, "version", version.GetFullVersionWithRuntimeInfo())
	err := c.Run(ctx)
	if ctx.Err() != nil {
		klog.InfoS(c.Name+" stops as requested", "reason", context.Cause(ctx), "result", err)
		return nil
	}
	return err
}
