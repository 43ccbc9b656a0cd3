// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package openflow

import (
	"github.com/antrea-oncache/antrea/pkg/agent/openflow/internal/pipeline"
)

// CoreOf returns what the client is built on.
func CoreOf(c Client) *pipeline.Core { return c.(*client).Core }
