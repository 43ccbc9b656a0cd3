// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loglevel serves /loglevel: apis.LogLevel, the agent's klog verbosity, changed first by the parameter level.
package loglevel

import (
	"flag"
	"fmt"
	"net/http"
	"strconv"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/apiserver/handlers"
)

// HandleFunc reads and sets the verbosity of this process.
func HandleFunc() http.HandlerFunc {
	// klog has no function that returns its verbosity; the flag on a private flag set reads and writes it.
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	verbosity := fs.Lookup("v").Value
	return func(w http.ResponseWriter, r *http.Request) {
		if level := r.URL.Query().Get("level"); level != "" {
			if n, err := strconv.ParseUint(level, 10, 8); err != nil {
				http.Error(w, fmt.Sprintf("level %q is not a number from 0 to 255", level), http.StatusBadRequest)
				return
			} else if err := verbosity.Set(level); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			} else {
				klog.InfoS("Changed log level", "level", n)
			}
		}
		level, err := strconv.Atoi(verbosity.String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		handlers.WriteJSON(w, apis.LogLevel{Level: level})
	}
}
