// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Command antctl inspects a running Antrea component.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/antrea-oncache/antrea/pkg/antctl"
	"github.com/antrea-oncache/antrea/pkg/apis"
)

// tokenFile can be set at link time, for tests.
var tokenFile = apis.LoopbackTokenFile

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := antctl.NewCommand(antctl.DetectEnvironment(os.Getenv("POD_NAME")), tokenFile)
	antctl.SetUpLog(root)
	antctl.AsPlugin(root, os.Args[0], os.Args[1:])
	if err := root.ExecuteContext(ctx); err != nil {
		os.Exit(1) // cobra has printed the error
	}
}
