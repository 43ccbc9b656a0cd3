// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package supportbundle

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// An item that panics, and one that neither ends nor stops writing, cost only themselves.
func TestBrokenItems(t *testing.T) {
	release, late := make(chan struct{}), make(chan error, 1)
	s := newServer(t, Config{
		Limits: Limits{Bundle: 1 << 20, File: 1 << 20, Time: time.Minute, ItemTime: 50 * time.Millisecond},
		Items: fixed(
			text("first", "1\n"),
			Item{Name: "panics", Collect: func(_ context.Context, w io.Writer) error {
				_, _ = io.WriteString(w, "before\n")
				panic("at the disco, token=hunter2")
			}},
			Item{Name: "never ends", Collect: func(_ context.Context, w io.Writer) error {
				_, _ = io.WriteString(w, "some\n")
				<-release
				_, err := io.WriteString(w, "too late\n")
				late <- err
				return err
			}},
			text("last", "2\n"),
		),
	})
	s.bundle("POST", "", start, 201)
	got := s.collected()
	close(release)
	require.ErrorIs(t, <-late, context.DeadlineExceeded)
	require.Equal(t, "1\n", got["first"])
	require.Equal(t, "before\n", got["panics"])
	require.Equal(t, "some\n", got["never ends"])
	require.Equal(t, "2\n", got["last"])
	var m manifest
	require.NoError(t, yaml.Unmarshal([]byte(got[manifestName]), &m))
	errs := map[string]string{}
	for _, f := range m.Files {
		errs[f.Name] = f.Error
	}
	require.Equal(t, map[string]string{
		"first": "", "panics": "the collection panics: at the disco, token=<redacted>",
		"never ends": "the collection does not end: context deadline exceeded", "last": "",
	}, errs)
}
