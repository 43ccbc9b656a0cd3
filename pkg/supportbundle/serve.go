// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"github.com/antrea-oncache/antrea/pkg/apis/system/v1beta1"
)

// Resources describe the API for discovery.
func Resources() []metav1.APIResource {
	return []metav1.APIResource{
		{Name: v1beta1.SupportBundleResource, SingularName: "supportbundle", Kind: v1beta1.SupportBundleKind, Verbs: metav1.Verbs{"create", "delete", "get"}},
		{Name: v1beta1.SupportBundleResource + "/" + v1beta1.SupportBundleDownload, Kind: v1beta1.SupportBundleKind, Verbs: metav1.Verbs{"get"}},
	}
}

// Discovery are the handlers by which clients discover the API, by path, for a component that serves no other group.
func Discovery() map[string]http.Handler {
	version := metav1.GroupVersionForDiscovery{GroupVersion: v1beta1.SchemeGroupVersion.String(), Version: v1beta1.SchemeGroupVersion.Version}
	group := metav1.APIGroup{
		TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: v1beta1.SchemeGroupVersion.Group,
		Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version,
	}
	answers := map[string]any{
		"/apis":               metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{group}},
		"/apis/" + group.Name: group,
		v1beta1.APIPath: metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.GroupVersion, APIResources: Resources(),
		},
	}
	handlers := map[string]http.Handler{}
	for path, answer := range answers {
		handlers[path] = methods{http.MethodGet: func(w http.ResponseWriter, _ *http.Request) { reply(w, http.StatusOK, answer) }}
	}
	return handlers
}

// Handlers are the handlers of the API, by path: POST starts a collection, GET reports its progress, DELETE removes the
// bundle, and GET of the subresource download returns it. The Kubernetes API decides who may do so, by these verbs of
// the resource.
func (c *Collector) Handlers() map[string]http.Handler {
	bundle := v1beta1.SupportBundlePath + "/" + c.config.Component
	return map[string]http.Handler{
		v1beta1.SupportBundlePath: methods{http.MethodPost: c.serveStart},
		bundle:                    methods{http.MethodGet: c.serveState, http.MethodDelete: c.serveDelete},
		bundle + "/" + v1beta1.SupportBundleDownload: methods{http.MethodGet: c.serveDownload},
	}
}

// methods answers each method with its function.
type methods map[string]http.HandlerFunc

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if serve := m[r.Method]; serve != nil {
		serve(w, r)
		return
	}
	resource := v1beta1.SchemeGroupVersion.WithResource(v1beta1.SupportBundleResource).GroupResource()
	refuse(w, apierrors.NewMethodNotSupported(resource, r.Method))
}

func (c *Collector) serveStart(w http.ResponseWriter, r *http.Request) {
	var wanted v1beta1.SupportBundle
	// The API server has bounded the body.
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = json.Unmarshal(body, &wanted)
	}
	if err != nil {
		refuse(w, apierrors.NewBadRequest(fmt.Sprintf("the body is not a SupportBundle in JSON: %v", err)))
		return
	}
	if wanted.Name != c.config.Component {
		refuse(w, apierrors.NewBadRequest(fmt.Sprintf("metadata.name: %q; allowed: %s", wanted.Name, c.config.Component)))
		return
	}
	state, err := c.Start(wanted.Since)
	switch {
	case errors.Is(err, errBusy):
		refuse(w, apierrors.NewConflict(v1beta1.SchemeGroupVersion.WithResource(v1beta1.SupportBundleResource).GroupResource(), c.config.Component, err))
	case err != nil:
		refuse(w, apierrors.NewBadRequest(err.Error()))
	default:
		reply(w, http.StatusCreated, state)
	}
}

func (c *Collector) serveState(w http.ResponseWriter, _ *http.Request) {
	state, err := c.State()
	if err != nil {
		refuse(w, apierrors.NewInternalError(fmt.Errorf("the support bundle could not be collected: %w", err)))
		return
	}
	reply(w, http.StatusOK, state)
}

func (c *Collector) serveDelete(w http.ResponseWriter, _ *http.Request) {
	c.Delete()
	reply(w, http.StatusOK, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}

func (c *Collector) serveDownload(w http.ResponseWriter, _ *http.Request) {
	file, sum, err := c.Open()
	if err != nil {
		refuse(w, apierrors.NewInternalError(err))
		return
	}
	if file == nil {
		refuse(w, apierrors.NewNotFound(v1beta1.SchemeGroupVersion.WithResource(v1beta1.SupportBundleResource).GroupResource(), c.config.Component))
		return
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil {
		w.Header().Set("Content-Length", strconv.FormatInt(info.Size(), 10))
	}
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Etag", strconv.Quote(sum))
	if _, err := io.Copy(w, file); err != nil {
		klog.InfoS("A client did not take the whole support bundle", "reason", err.Error())
	}
}

// refuse answers with the error as a Status.
func refuse(w http.ResponseWriter, err *apierrors.StatusError) {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	reply(w, int(status.Code), status)
}

func reply(w http.ResponseWriter, code int, object any) {
	body, err := json.Marshal(object)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	// An error here means that the client has gone.
	_, _ = w.Write(body)
}
