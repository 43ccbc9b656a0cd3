// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package configfile checks readers of configuration files with arbitrary text.
package configfile

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/antrea-oncache/antrea/test/tools/appetite"
)

// factor bounds what a reader may allocate for each byte: aliases of YAML are expanded, within a bound of the library.
const factor = 1 << 17

// Check requires that each error of validate, which has one in a line, begins with the name of a key, and that what it accepts is the same after it
// has been written and read again.
func Check[C any](t *testing.T, text []byte, parse func([]byte) (*C, error), validate func(*C) error, namesKey *regexp.Regexp) {
	t.Helper()
	var c *C
	var err error
	appetite.Bounded(t, len(text), factor, func() { c, err = parse(text) })
	if err != nil {
		return
	}
	if err := validate(c); err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			require.Regexp(t, namesKey, line, "all of it: %v", err)
		}
		return
	}
	written, err := yaml.Marshal(c)
	require.NoError(t, err)
	again, err := parse(written)
	require.NoError(t, err, "%s", written)
	require.NoError(t, validate(again), "%s", written)
	twice, err := yaml.Marshal(again)
	require.NoError(t, err)
	require.Equal(t, string(written), string(twice))
}
