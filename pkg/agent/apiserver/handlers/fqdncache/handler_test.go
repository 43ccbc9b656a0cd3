// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package fqdncache

import (
	"net/http/httptest"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/pkg/agent/fqdn"
)

type known struct{}

func (known) Entries(s fqdn.Selector) []fqdn.Entry {
	if s != "*.example.com" {
		return nil
	}
	return []fqdn.Entry{{Name: "a.example.com", Address: netip.MustParseAddr("fd00::1"), Expires: time.Unix(1767225600, 5)}}
}

func TestHandleFunc(t *testing.T) {
	for query, want := range map[string]string{
		"?domain=*.example.com": `[{"fqdnName":"a.example.com","ipAddress":"fd00::1","expirationTime":"2026-01-01T00:00:00Z"}]`,
		"":                      `[]`,
	} {
		w := httptest.NewRecorder()
		HandleFunc(known{})(w, httptest.NewRequest("GET", "/fqdncache"+query, nil))
		require.Equal(t, 200, w.Code)
		require.JSONEq(t, want, w.Body.String())
	}
}
