// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metertest is a pretended feature for the tests of package openflow: this folder, and one line in NewClient (here: in
// the test), are all that a new feature needs. It counts packets of Pods with groups.
package metertest
