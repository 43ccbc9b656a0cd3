// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteToken replaces the token file in one step, so that readers never see half of it and other users can never read it.
func WriteToken(file, token string) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making the directory of the loopback token: %w", err)
	}
	temporary, err := os.CreateTemp(dir, ".token-") // mode 0600
	if err != nil {
		return fmt.Errorf("writing the loopback token: %w", err)
	}
	_, err = temporary.WriteString(token)
	err = errors.Join(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), file)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("writing the loopback token %s: %w", file, err)
	}
	return nil
}
