// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerinfo serves the object AntreaControllerInfo "antrea-controller", the only one of
// controllerinfos.system.antrea.io/v1beta1. It shows the state at the time of the request.
package controllerinfo

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apis/crd/v1beta1"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

const (
	groupVersion = "system.antrea.io/v1beta1"
	resource     = "controllerinfos"
)

// Querier knows the controller's state.
type Querier interface {
	// ControllerInfo returns it without type and metadata.
	ControllerInfo() v1beta1.AntreaControllerInfo
}

// list is the answer to a request for all objects.
type list struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []v1beta1.AntreaControllerInfo `json:"items"`
}

// Path is the path of the object.
const Path = "/apis/" + groupVersion + "/" + resource + "/" + v1beta1.AntreaControllerInfoName

// Routes returns the handlers of the group's discovery, of the list and of the object, by path. The group's other resources are for
// discovery.
func Routes(q Querier, others ...metav1.APIResource) map[string]http.HandlerFunc {
	resources := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: groupVersion,
		APIResources: append([]metav1.APIResource{{
			Name: resource, SingularName: "controllerinfo", Kind: v1beta1.AntreaControllerInfoKind, Verbs: metav1.Verbs{"get", "list"},
		}}, others...),
	}
	get := func() v1beta1.AntreaControllerInfo {
		info := q.ControllerInfo()
		info.TypeMeta = metav1.TypeMeta{Kind: v1beta1.AntreaControllerInfoKind, APIVersion: groupVersion}
		info.Name = v1beta1.AntreaControllerInfoName
		return info
	}
	listType := metav1.TypeMeta{Kind: v1beta1.AntreaControllerInfoKind + "List", APIVersion: groupVersion}
	return map[string]http.HandlerFunc{
		"/apis/" + groupVersion: func(w http.ResponseWriter, _ *http.Request) { handlers.WriteJSON(w, resources) },
		"/apis/" + groupVersion + "/" + resource: func(w http.ResponseWriter, _ *http.Request) {
			handlers.WriteJSON(w, list{TypeMeta: listType, Items: []v1beta1.AntreaControllerInfo{get()}})
		},
		Path: func(w http.ResponseWriter, _ *http.Request) {
			handlers.WriteJSON(w, get())
		},
	}
}
