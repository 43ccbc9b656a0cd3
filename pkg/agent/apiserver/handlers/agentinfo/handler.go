// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package agentinfo serves /agentinfo: one apis.AgentInfo.
package agentinfo

import (
	"context"
	"net/http"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Querier knows the agent's state.
type Querier interface {
	AgentInfo(context.Context) apis.AgentInfo
}

// HandleFunc serves q's answer.
func HandleFunc(q Querier) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		handlers.WriteJSON(w, q.AgentInfo(r.Context()))
	}
}
