// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package tracking

import (
	"testing"

	"github.com/antrea-oncache/antrea/test/env/sandbox"
)

func TestMain(m *testing.M) { sandbox.Main(m) }
