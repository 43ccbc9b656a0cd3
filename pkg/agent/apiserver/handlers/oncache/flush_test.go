// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

type fakeFlush struct {
	scope oncache.FlushScope
	err   error
}

func (f *fakeFlush) Flush(scope oncache.FlushScope) (api.Flushed, error) {
	f.scope = scope
	return api.Flushed{Scope: scope.String(), Entries: 7}, f.err
}

func TestFlush(t *testing.T) {
	for _, tc := range []struct {
		name, query string
		off         bool
		err         error
		status      int
		body        string
		scope       oncache.FlushScope
	}{
		{name: "a Pod", query: "pod=ns/a", status: 200, body: `{"scope":"Pod ns/a","entries":7}`, scope: oncache.FlushScope{Pod: "ns/a"}},
		{name: "a Node", query: "node=n2", status: 200, body: `{"scope":"Node n2","entries":7}`, scope: oncache.FlushScope{Node: "n2"}},
		{name: "all", query: "all=true", status: 200, body: `{"scope":"all","entries":7}`, scope: oncache.FlushScope{All: true}},
		{name: "not all", query: "all=false&node=n2", status: 200, body: `"Node n2"`, scope: oncache.FlushScope{Node: "n2"}},
		{name: "nothing", status: 400, body: "one of pod, node and all is needed"},
		{name: "nothing, written out", query: "all=false", status: 400, body: "one of pod, node and all is needed"},
		{name: "two", query: "pod=ns/a&all=true", status: 400, body: "one of pod, node and all is needed"},
		{name: "all of what", query: "all=pods", status: 400, body: `all "pods"`},
		{name: "Pod without Namespace", query: "pod=a", status: 400, body: `pod "a": must be NAMESPACE/NAME`},
		{name: "unknown", query: "node=n2", err: fmt.Errorf("remote Node n2: %w", oncache.ErrNotInCache), status: 404, body: "remote Node n2", scope: oncache.FlushScope{Node: "n2"}},
		{name: "no cache", query: "all=true", err: fmt.Errorf("%w: old kernel", oncache.ErrUnavailable), status: 409, body: "old kernel", scope: oncache.FlushScope{All: true}},
		{name: "maps unreadable", query: "all=true", err: errors.New("no such map"), status: 500, body: "no such map", scope: oncache.FlushScope{All: true}},
		{name: "gate off", query: "all=true", off: true, status: 503, body: "oncache is not enabled"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := &fakeFlush{err: tc.err}
			var flusher Flusher
			if !tc.off {
				flusher = f
			}
			w := httptest.NewRecorder()
			HandleFlush(flusher)(w, httptest.NewRequest("PUT", "/oncache/flush?"+tc.query, nil))
			require.Equal(t, tc.status, w.Code, w.Body)
			require.Contains(t, w.Body.String(), tc.body)
			require.Equal(t, tc.scope, f.scope)
		})
	}
}
