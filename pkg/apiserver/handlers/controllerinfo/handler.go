// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controllerinfo serves the object AntreaControllerInfo "antrea-controller" of system.antrea.io/v1beta1, to the
// extent that antctl version needs it. It is the only object of that group and never changes while the controller runs.
package controllerinfo

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/antrea-oncache/antrea/pkg/apiserver/handlers"
	"github.com/antrea-oncache/antrea/pkg/version"
)

const (
	groupVersion = "system.antrea.io/v1beta1"
	name         = "antrea-controller"
)

// AntreaControllerInfo describes the running controller.
type AntreaControllerInfo struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Version           string `json:"version,omitempty"`
}

// Routes returns the handlers of the group's discovery and of the object, by path.
func Routes() map[string]http.HandlerFunc {
	resources := metav1.APIResourceList{
		TypeMeta:     metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"},
		GroupVersion: groupVersion,
		APIResources: []metav1.APIResource{{
			Name: "controllerinfos", SingularName: "controllerinfo", Kind: "AntreaControllerInfo", Verbs: metav1.Verbs{"get"},
		}},
	}
	info := AntreaControllerInfo{
		TypeMeta:   metav1.TypeMeta{Kind: "AntreaControllerInfo", APIVersion: groupVersion},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Version:    version.GetFullVersion(),
	}
	return map[string]http.HandlerFunc{
		"/apis/" + groupVersion:                              func(w http.ResponseWriter, _ *http.Request) { handlers.WriteJSON(w, resources) },
		"/apis/" + groupVersion + "/controllerinfos/" + name: func(w http.ResponseWriter, _ *http.Request) { handlers.WriteJSON(w, info) },
	}
}
