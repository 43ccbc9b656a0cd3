// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package oncache serves /oncache: the summary, or with the parameter view a list of flows, nodes, endpoints or openings.
package oncache

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Querier is the cache of this Node.
type Querier interface {
	Status() (*api.Status, error)
	Flows(oncache.FlowFilter) ([]api.FlowInfo, error)
	Nodes() []api.NodeInfo
	Endpoints() []api.EndpointInfo
	Openings() ([]api.OpeningInfo, error)
}

// HandleFunc answers from q; nil means that the feature gate ONCache is off.
func HandleFunc(q Querier) http.HandlerFunc {
	if q == nil {
		return handlers.NotEnabled("oncache")
	}
	return func(w http.ResponseWriter, r *http.Request) {
		var answer any
		var err error
		switch view := r.URL.Query().Get("view"); view {
		case "":
			answer, err = q.Status()
		case "flows":
			filter, bad := parseFilter(r)
			if bad != nil {
				http.Error(w, bad.Error(), http.StatusBadRequest)
				return
			}
			answer, err = q.Flows(filter)
		case "nodes":
			answer = q.Nodes()
		case "endpoints":
			answer = q.Endpoints()
		case "openings":
			answer, err = q.Openings()
		default:
			http.Error(w, fmt.Sprintf("view %q does not exist; allowed: flows, nodes, endpoints, openings, or none for the summary", view), http.StatusBadRequest)
			return
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		handlers.WriteJSON(w, answer)
	}
}

// ModeController changes what the cache does.
type ModeController interface {
	Mode() datapath.Mode
	SetMode(datapath.Mode) error
}

const modeParameter = "mode"

// HandleMode answers GET of /oncache/mode with an api.ModeInfo. nil means that the feature gate is off.
func HandleMode(c ModeController) http.HandlerFunc {
	if c == nil {
		return handlers.NotEnabled("oncache")
	}
	return func(w http.ResponseWriter, r *http.Request) {
		if handlers.RefuseChange(w, r, modeParameter) {
			return
		}
		handlers.WriteJSON(w, api.ModeInfo{Mode: c.Mode().String()})
	}
}

// HandleSetMode answers PUT of /oncache/mode: it changes to the mode in the parameter of that name.
func HandleSetMode(c ModeController) http.HandlerFunc {
	if c == nil {
		return handlers.NotEnabled("oncache")
	}
	return func(w http.ResponseWriter, r *http.Request) {
		mode, err := datapath.ParseMode(r.URL.Query().Get(modeParameter))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := c.SetMode(mode); err != nil {
			http.Error(w, err.Error(), http.StatusConflict)
			return
		}
		handlers.WriteJSON(w, api.ModeInfo{Mode: c.Mode().String()})
	}
}

// parseFilter reads the parameters pod with namespace, node, ip and limit.
func parseFilter(r *http.Request) (oncache.FlowFilter, error) {
	q := r.URL.Query()
	f := oncache.FlowFilter{Node: q.Get("node"), Namespace: q.Get("namespace"), Pod: q.Get("pod")}
	if f.Pod != "" && f.Namespace == "" {
		return f, fmt.Errorf("pod %q needs a namespace", f.Pod)
	}
	var err error
	if ip := q.Get("ip"); ip != "" {
		if f.Address, err = netip.ParseAddr(ip); err != nil {
			return f, fmt.Errorf("ip %q is not an IP address", ip)
		}
	}
	if limit := q.Get("limit"); limit != "" {
		if f.Limit, err = strconv.Atoi(limit); err != nil || f.Limit < 0 {
			return f, fmt.Errorf("limit %q is not a number of rows", limit)
		}
	}
	return f, nil
}
