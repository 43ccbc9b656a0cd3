// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

// coreOf returns what the client is built on.
func coreOf(c Client) *core { return c.(*client).core }
