// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"net/http"
)

// GetOnly refuses other methods than GET.
func GetOnly(handle http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			http.Error(w, fmt.Sprintf("method %s is not allowed; allowed: GET", r.Method), http.StatusMethodNotAllowed)
			return
		}
		handle(w, r)
	}
}
