// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package endpoint serves /endpoint of the controller: an apis.EndpointAnswer about the Pod of the parameters pod and
// namespace (default: the Namespace "default").
package endpoint

import (
	"context"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/antrea-oncache/antrea/pkg/httpapi/apis"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Path is the path of the handler.
const Path = "/endpoint"

// Handle serves what find knows of a Pod. ready returns an error while the controller must not answer.
func Handle(find func(types.NamespacedName) (endpoint apis.Endpoint, ok bool), ready func(context.Context) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		pod := types.NamespacedName{Namespace: r.URL.Query().Get("namespace"), Name: r.URL.Query().Get("pod")}
		if pod.Name == "" {
			http.Error(w, "pod must be provided", http.StatusBadRequest)
			return
		}
		if pod.Namespace == "" {
			pod.Namespace = metav1.NamespaceDefault
		}
		if err := ready(r.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		found, ok := find(pod)
		if !ok {
			http.Error(w, fmt.Sprintf("Pod %s not found", pod), http.StatusNotFound)
			return
		}
		handlers.WriteJSON(w, apis.EndpointAnswer{Endpoints: []apis.Endpoint{found}})
	}
}
