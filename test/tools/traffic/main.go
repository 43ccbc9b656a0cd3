// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// traffic makes network traffic for tests and reports the result. Every subcommand prints one JSON object (package report)
// to stdout when it has ended, either by itself or by SIGTERM or SIGINT, which are not errors. Servers write a line that
// begins with "ready" to stderr when they are usable.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGTERM, os.Interrupt)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "traffic:", err)
		os.Exit(1)
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use: "traffic", Short: "Make network traffic and report the result",
		SilenceUsage: true, SilenceErrors: true,
	}
	root.AddCommand(tcpSinkCommand(), tcpSendCommand(), tcpEchoCommand(), udpEchoCommand(), udpPingCommand(), rrCommand(), loadCommand(), crrCommand(), crrServerCommand(),
		sendRawCommand(), captureCommand())
	return root
}

// work is the work of a subcommand, until it is done or ctx ends. It writes events that others may wait for to status.
type work[Report any] func(ctx context.Context, status io.Writer) (Report, error)

// run makes work a cobra function. The report is printed after an error too.
func run[Report any](do work[Report]) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		report, err := do(cmd.Context(), cmd.ErrOrStderr())
		data, jsonErr := json.Marshal(report)
		if jsonErr != nil {
			return jsonErr
		}
		fmt.Fprintln(cmd.OutOrStdout(), string(data))
		return err
	}
}
