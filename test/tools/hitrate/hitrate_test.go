// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package hitrate

import (
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestHitsGoOnWhileHalfOfThePacketsAreHits(t *testing.T) {
	at := []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second}
	r := summarize([]packets{{100, 10}, {200, 10}, {300, 85}, {400, 135}}, at)
	require.Equal(t, 3*time.Second, r.GoingOn)
	require.Equal(t, 4*time.Second, r.Whole)
	require.Equal(t, 1750*time.Millisecond, r.Missing)
	require.InDelta(t, 0.75, r.Part(), 1e-9)
	require.Contains(t, r.String(), "2.0 s:    100 packets,  25.0 % hits")
}

func TestNewTunnelDevice(t *testing.T) {
	r := summarize([]packets{{100, 50}, {200, 10}}, []time.Duration{0, time.Second})
	require.InDelta(t, 0.1, r.Missing.Seconds(), 1e-6)
}

// files has what reading a path returns: the text, or an error.
type files map[string]any

func (f files) ReadFile(path string) ([]byte, error) {
	for part, result := range f {
		if strings.Contains(path, part) {
			if err, ok := result.(error); ok {
				return nil, &fs.PathError{Op: "read", Path: path, Err: err}
			}
			return []byte(result.(string)), nil
		}
	}
	return nil, fs.ErrNotExist
}

// TestTunnelDeviceGoes: a device that is being removed, or is gone, counts nothing. Other errors end the watch.
func TestTunnelDeviceGoes(t *testing.T) {
	for _, err := range []error{unix.EINVAL, unix.ENOENT} {
		now, err := count([]files{{"/eth0/": "7\n", "/tunnel/": err}}, []string{"tunnel"})
		require.NoError(t, err)
		require.Equal(t, packets{all: 14}, now)
	}
	_, err := count([]files{{"/eth0/": "7\n", "/tunnel/": unix.EACCES}}, []string{"tunnel"})
	require.ErrorIs(t, err, unix.EACCES)
}

func TestSeveralSlowDevices(t *testing.T) {
	now, err := count([]files{{"/eth0/": "9\n", "/tunnel/": "2\n", "/gateway/": "3\n"}}, []string{"tunnel", "gateway"})
	require.NoError(t, err)
	require.Equal(t, packets{all: 18, slow: 10}, now)
}

func TestSilenceIsNoHit(t *testing.T) {
	require.Zero(t, summarize([]packets{{100, 50}, {100, 50}}, []time.Duration{0, time.Second}).Part())
}
