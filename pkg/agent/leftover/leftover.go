// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leftover lets parts of the agent list what they have made on the Node, so that it can be removed when the
// agent is uninstalled.
package leftover

// Item is one thing that the agent has made.
type Item struct {
	// Name says what it is, in words that follow "removed" and "would remove": "ipset ANTREA-POD-IP".
	Name string
	// Remove removes it; it succeeds if the thing no longer exists. Items of one list are removed in its order.
	Remove func() error
}
