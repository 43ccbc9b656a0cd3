// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package oncache

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/oncache"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/datapath"
)

// scopes notes what is flushed.
type scopes struct{ last oncache.FlushScope }

func (s *scopes) Flush(scope oncache.FlushScope) (api.Flushed, error) {
	s.last = scope
	return api.Flushed{}, nil
}

// FuzzQuery sends arbitrary queries. Each is answered or refused, and a refusal says which parameter is wrong; reading changes nothing; what
// is flushed is exactly one thing.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "view=flows&namespace=a&pod=b&ip=10.0.0.1&limit=5", "view=flows&pod=b", "view=flows&limit=-1", "view=flows&ip=x", "view=nothing", "view=nodes&view=flows",
		"mode=off", "mode=%00", "pod=a/b", "pod=/&all=true", "all=true", "all=1", "node=n&all=true", "%zz=1;x=2",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		mode := &fakeMode{mode: datapath.ModeEnforce}
		flushed := &scopes{}
		send := func(method string, handle http.HandlerFunc) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			handle(w, &http.Request{Method: method, URL: &url.URL{Path: "/oncache", RawQuery: query}, Header: http.Header{}})
			require.Contains(t, []int{http.StatusOK, http.StatusBadRequest, http.StatusMethodNotAllowed}, w.Code, "%s", w.Body)
			return w
		}
		if w := send(http.MethodGet, HandleFunc(&fake{})); w.Code == http.StatusBadRequest {
			require.Regexp(t, `view|pod|ip|limit`, w.Body.String())
		}
		send(http.MethodGet, HandleMode(mode))
		require.Equal(t, datapath.ModeEnforce, mode.mode)
		if w := send(http.MethodPut, HandleSetMode(mode)); w.Code == http.StatusBadRequest {
			require.Contains(t, w.Body.String(), "mode")
			require.Equal(t, datapath.ModeEnforce, mode.mode)
		}
		if w := send(http.MethodPut, HandleFlush(flushed)); w.Code == http.StatusBadRequest {
			require.Zero(t, flushed.last)
			return
		}
		named := 0
		for _, is := range []bool{flushed.last.All, flushed.last.Pod != "", flushed.last.Node != ""} {
			if is {
				named++
			}
		}
		require.Equal(t, 1, named, "%+v", flushed.last)
	})
}
