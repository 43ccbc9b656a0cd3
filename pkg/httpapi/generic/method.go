// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package generic

import (
	"fmt"
	"net/http"
	"strings"
)

// byMethod answers GET with read, and PUT with change, unless that is nil. It refuses everything else.
func byMethod(read, change http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet && read != nil:
			read(w, r)
		case r.Method == http.MethodPut && change != nil:
			change(w, r)
		default:
			var methods []string
			if read != nil {
				methods = append(methods, http.MethodGet)
			}
			if change != nil {
				methods = append(methods, http.MethodPut)
			}
			allowed := strings.Join(methods, ", ")
			w.Header().Set("Allow", allowed)
			http.Error(w, fmt.Sprintf("method %s is not allowed; allowed: %s", r.Method, allowed), http.StatusMethodNotAllowed)
		}
	}
}
