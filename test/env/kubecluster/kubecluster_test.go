// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package kubecluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A program that ends at once is started less and less often; one that has run for a while is started again soon.
func TestKeepRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		failed, runs := errors.New("exit code 1"), 0
		var delays []time.Duration
		begun, waited := time.Now(), time.Duration(0)
		run := func() error {
			if runs++; runs == 20 {
				time.Sleep(lastingRun)
			}
			return failed
		}
		keepRunning(ctx, run, func(err error, delay time.Duration) {
			require.Equal(t, failed, err)
			if delays = append(delays, delay); len(delays) == 20 {
				cancel()
			}
		})
		require.Equal(t, 20, runs)
		for _, delay := range delays[:19] {
			waited += delay
		}
		require.Equal(t, waited+lastingRun, time.Since(begun))
		require.Equal(t, []time.Duration{minRestartDelay, 2 * minRestartDelay, 4 * minRestartDelay}, delays[:3])
		require.Equal(t, []time.Duration{maxRestartDelay, minRestartDelay}, delays[18:])
	})
}

// Another content or another recipe makes another disk; the order of images does not.
func TestDigest(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	root, a, b := file("root", "root"), file("a", "a"), file("b", "b")
	of := func(recipe string, files ...string) string {
		text, err := digest([]byte(recipe), files)
		require.NoError(t, err)
		return text
	}
	want := of("recipe", root, a, b)
	require.Equal(t, want, of("recipe", root, b, a))
	require.NotEqual(t, want, of("another", root, a, b))
	require.NotEqual(t, want, of("recipe", a, root, b))
	require.NotEqual(t, want, of("recipe", root, a))
	require.Contains(t, string(recipe), "mke2fs")
}

// Antrea's tests find the networks in the output of `kubectl cluster-info dump` with these expressions: the value ends at the closing quote.
func TestNetworksAreFound(t *testing.T) {
	var dump string
	networks, err := NetworksOf(0)
	require.NoError(t, err)
	for _, annotation := range networks.annotations() {
		key, value, _ := strings.Cut(annotation, "=")
		dump += fmt.Sprintf("\"%s\": \"%s\",\n", key, value)
	}
	for flag, network := range map[string]netip.Prefix{"cluster-cidr": networks.Pods, "service-cluster-ip-range": networks.Services} {
		found := regexp.MustCompile(flag + `=([^"]+)`).FindStringSubmatch(dump)
		require.Len(t, found, 2, dump)
		require.Equal(t, network.String(), found[1])
	}
}

// Clusters that are connected to each other have no network and no address in common.
func TestNetworksAreDistinct(t *testing.T) {
	var all []Networks
	for index := range maxIndex + 1 {
		n, err := NetworksOf(index)
		require.NoError(t, err)
		require.Equal(t, n.Services.Masked(), n.Services)
		require.True(t, n.Services.Contains(n.DNS) && n.Services.Contains(n.API))
		for _, other := range all {
			require.NotEqual(t, other.Gateway, n.Gateway)
			for _, network := range []netip.Prefix{other.Pods, other.Services} {
				require.False(t, network.Overlaps(n.Pods) || network.Overlaps(n.Services), "%v and %v", other, n)
			}
		}
		require.False(t, n.Pods.Overlaps(n.Services))
		all = append(all, n)
	}
	for _, index := range []int{-1, maxIndex + 1} {
		_, err := NetworksOf(index)
		require.ErrorContains(t, err, "must be 0 to 8")
	}
}
