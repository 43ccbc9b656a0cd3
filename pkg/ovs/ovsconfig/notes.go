// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ovsconfig

import (
	"maps"
	"sync"
)

// notes are the external_ids of the bridge as this client has last read or set them. If another program deletes the bridge, they return with it: the
// next agent needs them. It is safe for concurrent use.
type notes struct {
	mu  sync.Mutex
	ids map[string]string
}

func (n *notes) all() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.ids)
}

func (n *notes) replace(ids map[string]string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids = maps.Clone(ids)
}

func (n *notes) set(key, value string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ids == nil {
		n.ids = map[string]string{}
	}
	n.ids[key] = value
}

func (n *notes) delete(key string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ids, key)
}
