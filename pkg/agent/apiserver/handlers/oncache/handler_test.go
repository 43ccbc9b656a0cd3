// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

type fake struct {
	filter oncache.FlowFilter
	err    error
}

func (f *fake) Status() (*api.Status, error) { return &api.Status{State: api.StateActive}, f.err }
func (f *fake) Flows(filter oncache.FlowFilter) ([]api.FlowInfo, error) {
	f.filter = filter
	return []api.FlowInfo{{Protocol: "TCP"}}, f.err
}
func (f *fake) Nodes() []api.NodeInfo                { return []api.NodeInfo{} }
func (f *fake) Endpoints() []api.EndpointInfo        { return []api.EndpointInfo{{Pod: "ns/a"}} }
func (f *fake) Openings() ([]api.OpeningInfo, error) { return []api.OpeningInfo{{Pod: "ns/o"}}, f.err }

type fakeMode struct {
	mode datapath.Mode
	err  error
}

func (f *fakeMode) Mode() datapath.Mode { return f.mode }
func (f *fakeMode) SetMode(m datapath.Mode) error {
	if f.err == nil {
		f.mode = m
	}
	return f.err
}

func TestMode(t *testing.T) {
	for _, tc := range []struct {
		name, method, query string
		off                 bool
		err                 error
		status              int
		body                string
		after               datapath.Mode
	}{
		{name: "read", method: "GET", status: 200, body: `{"mode":"enforce"}`, after: datapath.ModeEnforce},
		{name: "set", method: "PUT", query: "mode=observe", status: 200, body: `{"mode":"observe"}`, after: datapath.ModeObserve},
		{name: "set by GET", method: "GET", query: "mode=off", status: 405, body: "use PUT with the same parameter mode", after: datapath.ModeEnforce},
		{name: "no mode", method: "PUT", status: 400, body: `mode "" does not exist`, after: datapath.ModeEnforce},
		{name: "refused", method: "PUT", query: "mode=off", err: errors.New("unavailable"), status: 409, body: "unavailable", after: datapath.ModeEnforce},
		{name: "read, gate off", method: "GET", off: true, status: 503, body: "oncache is not enabled", after: datapath.ModeEnforce},
		{name: "set, gate off", method: "PUT", query: "mode=off", off: true, status: 503, body: "oncache is not enabled", after: datapath.ModeEnforce},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fakeMode{mode: datapath.ModeEnforce, err: tc.err}
			var c ModeController
			if !tc.off {
				c = f
			}
			handle := HandleMode(c)
			if tc.method == "PUT" {
				handle = HandleSetMode(c)
			}
			w := httptest.NewRecorder()
			handle(w, httptest.NewRequest(tc.method, "/oncache/mode?"+tc.query, nil))
			require.Equal(t, tc.status, w.Code)
			require.Contains(t, w.Body.String(), tc.body)
			require.Equal(t, tc.after, f.mode)
		})
	}
}

func TestHandler(t *testing.T) {
	tests := []struct {
		name, query string
		off         bool
		err         error
		status      int
		body        string
		filter      oncache.FlowFilter
	}{
		{name: "gate off", off: true, status: 503, body: "oncache is not enabled\n"},
		{name: "summary", status: 200, body: `"state":"Active"`},
		{name: "flows", query: "view=flows", status: 200, body: `"protocol":"TCP"`},
		{name: "flows filtered", query: "view=flows&namespace=ns&pod=a&node=n&ip=10.10.1.2&limit=5", status: 200, body: `[`,
			filter: oncache.FlowFilter{Namespace: "ns", Pod: "a", Node: "n", Address: netip.MustParseAddr("10.10.1.2"), Limit: 5}},
		{name: "nodes", query: "view=nodes", status: 200, body: "[]"},
		{name: "endpoints", query: "view=endpoints", status: 200, body: `"pod":"ns/a"`},
		{name: "openings", query: "view=openings", status: 200, body: `"pod":"ns/o"`},
		{name: "unknown view", query: "view=zzz", status: 400, body: "allowed: flows, nodes, endpoints"},
		{name: "bad address", query: "view=flows&ip=zzz", status: 400, body: `ip "zzz"`},
		{name: "bad limit", query: "view=flows&limit=-1", status: 400, body: `limit "-1"`},
		{name: "Pod without Namespace", query: "view=flows&pod=a", status: 400, body: "needs a namespace"},
		{name: "maps unreadable", err: errors.New("no such map"), status: 500, body: "no such map"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			q := &fake{err: tc.err}
			handle := HandleFunc(q)
			if tc.off {
				handle = HandleFunc(nil)
			}
			w := httptest.NewRecorder()
			handle(w, httptest.NewRequest("GET", "/oncache?"+tc.query, nil))
			require.Equal(t, tc.status, w.Code)
			require.Contains(t, w.Body.String(), tc.body)
			require.Equal(t, tc.filter, q.filter)
		})
	}
}
