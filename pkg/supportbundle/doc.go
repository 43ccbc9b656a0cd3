// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package supportbundle collects the state of a running component into one archive (tar.gz), and serves it over the
// component's API. It collects Items: common Items are in items.go and logs.go, the agent's in pkg/agent/supportbundle,
// the controller's in pkg/controller/supportbundle.
//
//   - collector.go: one collection at a time, its result and its end; serve.go: the API.
//   - archive.go: the archive, and the limits on its size; spool.go: one file of it; within.go: the limit on its time.
//
// Nothing gets into an archive without passing package redact.
// An item that fails, is too large or takes too long costs only itself: the archive's file manifest.yaml says so.
package supportbundle
