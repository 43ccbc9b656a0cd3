// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apiservertest is a Kubernetes API that knows just enough for delegated authentication and authorization.
package apiservertest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const configMapPath = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

// Kubernetes answers TokenReviews and SubjectAccessReviews by its fields, which must not change once it serves.
type Kubernetes struct {
	// Users are user names by bearer token.
	Users map[string]string
	// Extra is further information about users, by bearer token.
	Extra map[string]map[string]authenticationv1.ExtraValue
	// Allowed lists what a user may do: a path to GET, or verb and path ("put /loglevel"), or verb and resource ("list
	// pods").
	Allowed map[string][]string
	// ClientCA is published as the cluster's client CA in PEM; empty means that the ConfigMap does not exist.
	ClientCA string
	// Reviews counts token reviews, AccessReviews access reviews.
	Reviews, AccessReviews atomic.Int32
	// Failing makes all reviews fail.
	Failing atomic.Bool
}

// Start serves k over HTTP until the test ends and returns a client of it.
func Start(t *testing.T, k *Kubernetes) kubernetes.Interface {
	t.Helper()
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	// The rates are taken from package kubernetes; this API reads JSON only.
	client, err := kubernetes.NewForConfig(&rest.Config{
		Host: server.URL, QPS: 200, Burst: 400, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON},
	})
	require.NoError(t, err)
	return client
}

// ServeHTTP is the API.
func (k *Kubernetes) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case k.Failing.Load():
		http.Error(w, "failing as the test asks for", http.StatusBadRequest) // which is not tried again
	case strings.HasSuffix(r.URL.Path, "/tokenreviews"):
		k.Reviews.Add(1)
		var review authenticationv1.TokenReview
		read(r, &review)
		user, ok := k.Users[review.Spec.Token]
		review.Status = authenticationv1.TokenReviewStatus{
			Authenticated: ok, User: authenticationv1.UserInfo{Username: user, Extra: k.Extra[review.Spec.Token]},
		}
		if !ok {
			review.Status.Error = "invalid bearer token" // as kube-apiserver does
		}
		write(w, http.StatusCreated, &review)
	case strings.HasSuffix(r.URL.Path, "/subjectaccessreviews"):
		k.AccessReviews.Add(1)
		var review authorizationv1.SubjectAccessReview
		read(r, &review)
		review.Status.Allowed = k.allows(&review.Spec)
		write(w, http.StatusCreated, &review)
	case r.URL.Path == configMapPath && k.ClientCA != "":
		write(w, http.StatusOK, &corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
			Data:     map[string]string{"client-ca-file": k.ClientCA},
		})
	default:
		write(w, http.StatusNotFound, &metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: r.URL.Path + " not found",
		})
	}
}

func (k *Kubernetes) allows(spec *authorizationv1.SubjectAccessReviewSpec) bool {
	allowed := k.Allowed[spec.User]
	if resource := spec.ResourceAttributes; resource != nil {
		return slices.Contains(allowed, resource.Verb+" "+resource.Resource)
	}
	path := spec.NonResourceAttributes
	return path != nil && (slices.Contains(allowed, path.Verb+" "+path.Path) || path.Verb == "get" && slices.Contains(allowed, path.Path))
}

func read(r *http.Request, into any) {
	// An unreadable review stays empty and is thus denied.
	_ = json.NewDecoder(r.Body).Decode(into)
}

func write(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}
