// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package serviceexternalip serves /serviceexternalip: a list of apis.ServiceExternalIP, with the filters name and namespace.
package serviceexternalip

import (
	"fmt"
	"net/http"

	"github.com/antrea-oncache/antrea/pkg/agent/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Querier knows the Services with addresses of pools.
type Querier interface {
	Addresses() ([]apis.ServiceExternalIP, error)
}

// HandleFunc lists Services with ExternalIPPools. A name without match is 404; an empty namespace is an empty list.
func HandleFunc(q Querier) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		name, namespace := r.URL.Query().Get("name"), r.URL.Query().Get("namespace")
		all, err := q.Addresses()
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		list := []apis.ServiceExternalIP{}
		for _, s := range all {
			if (name == "" || s.ServiceName == name) && (namespace == "" || s.Namespace == namespace) {
				list = append(list, s)
			}
		}
		if name != "" && len(list) == 0 {
			http.Error(w, fmt.Sprintf("no Service %q in Namespace %q has an ExternalIPPool", name, namespace), http.StatusNotFound)
			return
		}
		handlers.WriteJSON(w, list)
	}
}
