// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fqdncache serves /fqdncache: a list of apis.FQDNCacheEntry, with the filter domain.
package fqdncache

import (
	"net/http"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Querier knows the addresses of the names that a selector stands for, of all names if it is empty.
type Querier interface {
	Entries(fqdn.Selector) []fqdn.Entry
}

// HandleFunc lists addresses of names in policies.
func HandleFunc(q Querier) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		entries := []apis.FQDNCacheEntry{}
		for _, e := range q.Entries(r.URL.Query().Get("domain")) {
			entries = append(entries, apis.FQDNCacheEntry{FQDNName: e.Name, IPAddress: e.Address.String(), ExpirationTime: e.Expires.UTC().Truncate(time.Second)})
		}
		handlers.WriteJSON(w, entries)
	}
}
