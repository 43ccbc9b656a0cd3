// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package loglevel serves /loglevel: apis.LogLevel, the agent's klog verbosity, set by PUT with the parameter level.
package loglevel

import (
	"flag"
	"fmt"
	"net/http"
	"strconv"

	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
	"github.com/antrea-oncache/antrea/pkg/log"
)

const parameter = "level"

// HandleFunc reads the verbosity of this process.
func HandleFunc() http.HandlerFunc {
	verbosity := klogVerbosity()
	return func(w http.ResponseWriter, r *http.Request) {
		if handlers.RefuseChange(w, r, parameter) {
			return
		}
		answer(w, verbosity)
	}
}

// HandleSet sets it, to log.MaxLevel at most.
func HandleSet() http.HandlerFunc {
	verbosity := klogVerbosity()
	return func(w http.ResponseWriter, r *http.Request) {
		text := r.URL.Query().Get(parameter)
		level, err := strconv.ParseUint(text, 10, 8)
		if err != nil || level > log.MaxLevel {
			http.Error(w, fmt.Sprintf("level %q is not a number from 0 to %d; above that tokens would be logged", text, log.MaxLevel), http.StatusBadRequest)
			return
		}
		if err := verbosity.Set(strconv.FormatUint(level, 10)); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		klog.InfoS("Changed log level", "level", level)
		answer(w, verbosity)
	}
}

// klogVerbosity is the flag -v: klog has no function that returns its verbosity, but a private flag set reads and writes it.
func klogVerbosity() flag.Value {
	fs := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(fs)
	return fs.Lookup("v").Value
}

func answer(w http.ResponseWriter, verbosity flag.Value) {
	level, err := strconv.Atoi(verbosity.String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	handlers.WriteJSON(w, apis.LogLevel{Level: level})
}
