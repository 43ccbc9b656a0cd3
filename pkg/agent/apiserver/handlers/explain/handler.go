// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explain serves /oncache/explain: an api.Explanation for the parameters from (namespace/name of a Pod, or an address, with the
// port if one connection is meant), to (namespace/name of another Pod, or an address, possibly with the port) or service
// (namespace/name), port (unless to has it) and protocol (TCP if it is not given).
package explain

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/antrea-oncache/antrea/pkg/agent/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/httpapi/handlers"
)

// Explainer answers questions.
type Explainer interface {
	Explain(context.Context, explain.Question) (*api.Explanation, error)
}

// HandleFunc serves the answers of e.
func HandleFunc(e Explainer) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		q, err := parseQuestion(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer, err := e.Explain(r.Context(), q)
		switch {
		case err == nil:
			handlers.WriteJSON(w, answer)
		case errors.Is(err, explain.ErrBadQuestion):
			http.Error(w, err.Error(), http.StatusBadRequest)
		case errors.Is(err, explain.ErrNotHere), errors.Is(err, explain.ErrNoService), apierrors.IsNotFound(err):
			http.Error(w, err.Error(), http.StatusNotFound)
		default:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}
}

func parseQuestion(r *http.Request) (explain.Question, error) {
	query := r.URL.Query()
	q := explain.Question{From: query.Get("from"), To: query.Get("to"), Service: query.Get("service"), Protocol: query.Get("protocol")}
	if q.Protocol == "" {
		q.Protocol = "TCP"
	}
	if from, err := netip.ParseAddrPort(q.From); err == nil {
		q.From, q.SourcePort = from.Addr().String(), from.Port()
	}
	wanted := query.Get("port")
	if to, err := netip.ParseAddrPort(q.To); err == nil {
		if wanted != "" {
			return q, fmt.Errorf("to %q has a port already: leave port %q out", q.To, wanted)
		}
		q.To, wanted = to.Addr().String(), strconv.Itoa(int(to.Port()))
	}
	if q.From == "" || (q.To == "") == (q.Service == "") || wanted == "" {
		return q, errors.New("from, port, and either to or service are needed: from is a Pod as NAMESPACE/NAME or an address, possibly with a " +
			"port, to likewise, service a Service as NAMESPACE/NAME, and port the port of to (without one) or of service")
	}
	port, err := strconv.ParseUint(wanted, 10, 16)
	if err != nil || port == 0 {
		return q, fmt.Errorf("port %q: must be 1 to 65535", wanted)
	}
	q.Port = uint16(port)
	return q, nil
}
