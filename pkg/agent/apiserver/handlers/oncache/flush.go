// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Flusher evicts.
type Flusher interface {
	Flush(oncache.FlushScope) (api.Flushed, error)
}

// HandleFlush answers PUT of /oncache/flush: it evicts what one of the parameters pod (namespace/name), node and all (true) says,
// and answers with an api.Flushed. nil means that the feature gate is off.
func HandleFlush(f Flusher) http.HandlerFunc {
	if f == nil {
		return handlers.NotEnabled("oncache")
	}
	return func(w http.ResponseWriter, r *http.Request) {
		scope, err := parseScope(r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		flushed, err := f.Flush(scope)
		switch {
		case err == nil:
			handlers.WriteJSON(w, flushed)
		case errors.Is(err, oncache.ErrNotInCache):
			http.Error(w, err.Error(), http.StatusNotFound)
		case errors.Is(err, oncache.ErrUnavailable):
			http.Error(w, err.Error(), http.StatusConflict)
		default:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

func parseScope(query url.Values) (scope oncache.FlushScope, err error) {
	scope = oncache.FlushScope{Pod: query.Get("pod"), Node: query.Get("node")}
	switch all := query.Get("all"); all {
	case "", "false":
	case "true":
		scope.All = true
	default:
		return scope, fmt.Errorf("all %q: must be true or false", all)
	}
	named := 0
	for _, set := range []bool{scope.Pod != "", scope.Node != "", scope.All} {
		if set {
			named++
		}
	}
	if named != 1 {
		return scope, errors.New("one of pod, node and all is needed: pod is a local Pod as NAMESPACE/NAME, node a remote Node, and all evicts everything")
	}
	if namespace, name, ok := strings.Cut(scope.Pod, "/"); scope.Pod != "" && (!ok || namespace == "" || name == "") {
		return scope, fmt.Errorf("pod %q: must be NAMESPACE/NAME", scope.Pod)
	}
	return scope, nil
}
