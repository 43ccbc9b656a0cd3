// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package uplink

import (
	"errors"
	"fmt"
	"runtime"
)

// askDriver refuses: Nodes have Linux.
func (f *Facts) askDriver() error {
	return fmt.Errorf("asking the driver of %s on %s: %w", f.Device, runtime.GOOS, errors.ErrUnsupported)
}
