// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package nodefacts

import (
	"errors"
	"fmt"
	"runtime"
)

func kernelRelease() (string, error) {
	return "", fmt.Errorf("a Node has Linux, this is %s: %w", runtime.GOOS, errors.ErrUnsupported)
}

func isBPFFS(string) bool { return false }
