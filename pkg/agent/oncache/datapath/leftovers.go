// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package datapath

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/vishvananda/netlink"

	"github.com/antrea-oncache/antrea/pkg/agent/leftover"
)

// Leftovers finds the programs in the current network namespace, by either kind of hook, and the pins. Unlike RemoveAll it also lists
// the clsact qdiscs that will be empty, and the directory around pinPath.
func Leftovers(pinPath string) ([]leftover.Item, error) {
	attached, err := Attached(pinPath)
	if err != nil {
		return nil, err
	}
	slices.Sort(attached)
	var found []leftover.Item
	for _, index := range slices.Compact(attached) {
		found = append(found, leftover.Item{
			Name:   "eBPF programs of ONCache on " + deviceName(index),
			Remove: func() error { return errors.Join(removeClsact(index), detach(pinPath, index)) },
		})
	}
	if _, err := os.Stat(pinPath); errors.Is(err, fs.ErrNotExist) {
		return found, nil
	} else if err != nil {
		return nil, err
	}
	return append(found, leftover.Item{
		Name: "eBPF maps and links of ONCache pinned in " + pinPath,
		Remove: func() error {
			if err := os.RemoveAll(pinPath); err != nil {
				return fmt.Errorf("remove pins: %w", err)
			}
			_ = os.Remove(filepath.Dir(pinPath)) // fails if it is used for something else
			return nil
		},
	}), nil
}

func deviceName(index int) string {
	device, err := netlink.LinkByIndex(index)
	if err != nil {
		return fmt.Sprintf("a device that is gone (index %d)", index)
	}
	return device.Attrs().Name
}
