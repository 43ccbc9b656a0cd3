// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package feed connects antrea-controller and an agent that are in one process. It converts the objects that the controller has
// computed, as the API server does.
package feed

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/antrea-oncache/antrea/pkg/apis/controlplane"
	"github.com/antrea-oncache/antrea/pkg/apis/controlplane/v1beta2"
)

// Scheme knows the API group's types, internal ones and those that agents read.
var Scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := errors.Join(v1beta2.AddToScheme(s), controlplane.AddToScheme(s)); err != nil {
		panic(err)
	}
	return s
}()

// Converted returns the watch with its objects in the version that agents read. Bookmarks stay as they are.
func Converted(internal watch.Interface) watch.Interface {
	return watch.Filter(internal, func(event watch.Event) (watch.Event, bool) {
		if event.Type == watch.Bookmark || event.Type == watch.Error {
			return event, true
		}
		converted, err := Scheme.ConvertToVersion(event.Object, v1beta2.SchemeGroupVersion)
		if err != nil {
			panic(err)
		}
		event.Object = converted
		return event, true
	})
}
