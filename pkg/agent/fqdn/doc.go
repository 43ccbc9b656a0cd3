// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fqdn gives policy rules the addresses of names. It learns them from the DNS answers that the Node's Pods receive, and asks
// for exact names itself.
package fqdn
