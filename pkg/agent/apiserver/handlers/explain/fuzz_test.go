// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/explain"
	"github.com/antrea-oncache/antrea/pkg/agent/oncache/api"
)

// listener notes the question.
type listener struct{ asked *explain.Question }

func (l *listener) Explain(_ context.Context, q explain.Question) (*api.Explanation, error) {
	l.asked = &q
	return &api.Explanation{}, nil
}

// FuzzQuery asks arbitrary questions. One that is complete reaches the Explainer, and all others are refused.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "from=a/b&to=c/d&port=80", "from=10.0.0.1:4711&to=10.0.0.2:80", "from=[fd00::1]:1&service=a/b&port=53&protocol=UDP", "from=a/b&to=10.0.0.1:80&port=80",
		"from=a/b&to=c/d&port=65536", "from=a/b&to=c/d&service=e/f&port=1", "from=x&to=[fe80::1%25eth0]:80",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		l, w := &listener{}, httptest.NewRecorder()
		HandleFunc(l)(w, &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/oncache/explain", RawQuery: query}})
		if l.asked == nil {
			require.Equal(t, http.StatusBadRequest, w.Code)
			require.Regexp(t, `from|to|service|port`, w.Body.String())
			return
		}
		require.Equal(t, http.StatusOK, w.Code)
		q := l.asked
		require.True(t, q.From != "" && q.Port != 0 && (q.To == "") != (q.Service == "") && q.Protocol != "", "%+v", q)
		for _, end := range []string{q.From, q.To} {
			_, err := netip.ParseAddrPort(end)
			require.Error(t, err, "%q: the port has not been taken out", end)
		}
	})
}
