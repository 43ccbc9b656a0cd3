// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command antrea-agent connects the Pods of one Node to the cluster's network.
package main

import (
	"context"
	"errors"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/client/kubernetes"
	"github.com/antrea-oncache/antrea/pkg/log"
	"github.com/antrea-oncache/antrea/pkg/version"
)

func main() {
	err := newCommand().Execute()
	klog.Flush()
	if err != nil {
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	opts := newOptions()
	logs := &log.Options{}
	cmd := &cobra.Command{
		Use:           "antrea-agent",
		Short:         "The Antrea agent runs on each Node and connects its Pods",
		Version:       version.GetFullVersionWithRuntimeInfo(),
		Args:          cobra.NoArgs,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			err := errors.Join(logs.Apply(), opts.complete())
			if err == nil {
				err = runUntilSignal(opts, logs)
			}
			if err != nil {
				klog.ErrorS(err, "antrea-agent stops")
			}
			return err
		},
	}
	opts.addFlags(cmd.Flags())
	logs.AddFlags(cmd.Flags())
	return cmd
}

// runUntilSignal runs the agent until SIGTERM or an interrupt; a second signal ends the process at once. Flows, routes
// and firewall rules stay: Pods keep their connectivity while the agent restarts.
func runUntilSignal(opts *options, logs *log.Options) error {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, os.Interrupt)
	defer stop()
	context.AfterFunc(ctx, stop)
	go logs.Run(ctx)
	clients, err := kubernetes.New(opts.config.ClientConnection, opts.config.KubeAPIServerOverride)
	if err != nil {
		return err
	}
	err = run(ctx, opts, clients)
	if ctx.Err() != nil {
		klog.InfoS("antrea-agent stops as asked", "reason", context.Cause(ctx), "result", err)
		return nil
	}
	return err
}
