// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package egress serves /egresses: a list of apis.Egress, with the filter name.
package egress

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Querier knows the Egresses.
type Querier interface {
	List() ([]apis.Egress, error)
}

// HandleFunc lists Egresses. A name without match is 404; before the Egresses are known, the answer is 503.
func HandleFunc(q Querier) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		list, err := q.List()
		if err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		if name := r.URL.Query().Get("name"); name != "" {
			list = slices.DeleteFunc(list, func(e apis.Egress) bool { return e.Name != name })
			if len(list) == 0 {
				http.Error(w, fmt.Sprintf("there is no Egress %q", name), http.StatusNotFound)
				return
			}
		}
		handlers.WriteJSON(w, list)
	}
}
