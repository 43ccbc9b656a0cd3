// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package interfacestore

import "slices"

// index maps a key to its interfaces in the order in which they were added. Several interfaces can share a key for a short
// time, for example when a new Pod gets an IP before the old Pod's interface is gone.
type index[K comparable] map[K][]*InterfaceConfig

func (x index[K]) add(key K, c *InterfaceConfig) {
	x[key] = append(x[key], c)
}

func (x index[K]) remove(key K, c *InterfaceConfig) {
	rest := slices.DeleteFunc(x[key], func(other *InterfaceConfig) bool { return other == c })
	if len(rest) == 0 {
		delete(x, key)
		return
	}
	x[key] = rest
}

// latest returns the interface that was added last under key.
func (x index[K]) latest(key K) (*InterfaceConfig, bool) {
	found := x[key]
	if len(found) == 0 {
		return nil, false
	}
	return found[len(found)-1], true
}
