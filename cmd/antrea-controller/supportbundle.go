// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net/http"
	"os"
	"path/filepath"

	"github.com/antrea-oncache/antrea/pkg/apis"
	"github.com/antrea-oncache/antrea/pkg/controller/networkpolicy"
	controllerbundle "github.com/antrea-oncache/antrea/pkg/controller/supportbundle"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers/controllerinfo"
	"github.com/antrea-oncache/antrea/pkg/supportbundle"
)

// newSupportBundles makes the collector of this controller's support bundles.
func newSupportBundles(ctx context.Context, o *options, store *networkpolicy.Store, routes map[string]http.HandlerFunc) (*supportbundle.Collector, error) {
	source := &controllerbundle.Controller{
		LogDirectory: apis.LogDirectory, ConfigFile: o.configFile, Routes: routes, ControllerInfo: controllerinfo.Path, Store: store,
	}
	directory := "antrea-controller-supportbundle"
	if name := os.Getenv("NODE_NAME"); name != "" {
		directory += "-" + name
	}
	return supportbundle.New(ctx, supportbundle.Config{
		Component: "controller", Directory: filepath.Join(os.TempDir(), directory), Items: source.Items,
	})
}
