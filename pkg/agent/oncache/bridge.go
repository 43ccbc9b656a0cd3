// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import "slices"

// Mirrored reports which interfaces a mirror of the bridge copies; nil: none. A mirror on the tunnel port would miss accelerated
// packets of any Pod.
func Mirrored(bridge Bridge, tunnelPort string) (func(interfaceName string) bool, error) {
	ports, err := bridge.MirroredPorts()
	if err != nil || len(ports) == 0 {
		return nil, err
	}
	everybody := slices.Contains(ports, tunnelPort)
	return func(name string) bool { return everybody || slices.Contains(ports, name) }, nil
}
