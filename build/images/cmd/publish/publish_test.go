// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/build/images/assemble"
)

// startRegistry starts a registry on loopback. It says whether a request that changes it has come.
func startRegistry(t *testing.T) (host string, changed func() bool) {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	writes := make(chan string, 1000)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			writes <- r.Method + " " + r.URL.Path
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), func() bool { return len(writes) > 0 }
}

// archive writes an archive as make images does, and returns its image.
func archive(t *testing.T, dir, image, arch, version string) v1.Image {
	t.Helper()
	content, err := random.Image(1000, 2)
	require.NoError(t, err)
	layers, err := content.Layers()
	require.NoError(t, err)
	made, err := assemble.Image(layers, assemble.Settings{Architecture: arch, Labels: map[string]string{versionLabel: version}})
	require.NoError(t, err)
	names := []string{"antrea/" + image + ":latest", "antrea/" + image + ":" + version}
	require.NoError(t, assemble.WriteArchive(filepath.Join(dir, image+"_"+arch+".tar"), made, names))
	return made
}

func run(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := command()
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	cmd.SetArgs(args)
	err := cmd.Execute()
	return out.String(), err
}

// TestPushAndPull: the pulled image of each architecture equals the archive's.
func TestPushAndPull(t *testing.T) {
	host, _ := startRegistry(t)
	dir := t.TempDir()
	archs := []string{"amd64", "arm64"}
	want := map[string]v1.Image{}
	for _, image := range []string{"agent", "controller"} {
		for _, arch := range archs {
			want[image+arch] = archive(t, dir, image, arch, "v1.2.3")
		}
	}
	args := []string{"--registry=" + host + "/some/path", "--tag=v1.2.3", "--version=v1.2.3", "--archives=" + dir, "agent", "controller"}
	out, err := run(args...)
	require.NoError(t, err)
	for _, image := range []string{"agent", "controller"} {
		tag, err := name.NewTag(host + "/some/path/" + image + ":v1.2.3")
		require.NoError(t, err)
		index, err := remote.Index(tag)
		require.NoError(t, err)
		require.NoError(t, validate.Index(index))
		digest, err := index.Digest()
		require.NoError(t, err)
		require.Contains(t, out, tag.String()+"@"+digest.String()+" (amd64, arm64)\n")
		for _, arch := range archs {
			pulled, err := remote.Image(tag, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
			require.NoError(t, err)
			require.NoError(t, validate.Image(pulled))
			requireSameDigest(t, want[image+arch], pulled)
		}
	}

	out, err = run(args...)
	require.NoError(t, err, "the same again")
	require.NotContains(t, out, "pushing")
}

func requireSameDigest(t *testing.T, want, got v1.Image) {
	t.Helper()
	wantDigest, err := want.Digest()
	require.NoError(t, err)
	gotDigest, err := got.Digest()
	require.NoError(t, err)
	require.Equal(t, wantDigest, gotDigest)
}

// TestReplace: a release stays what it is, a development version does not.
func TestReplace(t *testing.T) {
	host, _ := startRegistry(t)
	args := func(dir string, more ...string) []string {
		return append([]string{"--registry=" + host + "/path", "--tag=latest", "--version=v1", "--arch=amd64", "--archives=" + dir, "agent"}, more...)
	}
	first, second := t.TempDir(), t.TempDir()
	archive(t, first, "agent", "amd64", "v1")
	newer := archive(t, second, "agent", "amd64", "v1")
	_, err := run(args(first)...)
	require.NoError(t, err)
	_, err = run(args(second)...)
	require.ErrorContains(t, err, "a release is never replaced")
	_, err = run(args(second, "--replace")...)
	require.NoError(t, err)
	tag, err := name.NewTag(host + "/path/agent:latest")
	require.NoError(t, err)
	pulled, err := remote.Image(tag, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"}))
	require.NoError(t, err)
	requireSameDigest(t, newer, pulled)
}

// TestRefused: nothing is pushed when one of the images must be refused.
func TestRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil func(t *testing.T, dir string)
		args  []string
		want  string
	}{
		"no archive": {func(*testing.T, string) {}, nil, "controller_arm64.tar, which make images writes"},
		"other version": {func(t *testing.T, dir string) { archive(t, dir, "controller", "arm64", "v0.9.0") }, nil,
			`controller_arm64.tar has version "v0.9.0", want "v1.2.3": run make images again`},
		"other architecture": {func(t *testing.T, dir string) {
			image := archive(t, dir, "controller", "amd64", "v1.2.3")
			require.NoError(t, assemble.WriteArchive(filepath.Join(dir, "controller_arm64.tar"), image, []string{"controller:latest"}))
		}, nil, `is for architecture "amd64", want "arm64"`},
		"bad tag": {func(t *testing.T, dir string) { archive(t, dir, "controller", "arm64", "v1.2.3") }, []string{"--tag=v 1"}, "image name"},
	} {
		t.Run(name, func(t *testing.T) {
			host, changed := startRegistry(t)
			dir := t.TempDir()
			for _, file := range [][2]string{{"agent", "amd64"}, {"agent", "arm64"}, {"controller", "amd64"}} {
				archive(t, dir, file[0], file[1], "v1.2.3")
			}
			tc.spoil(t, dir)
			args := append([]string{"--registry=" + host + "/path", "--tag=v1.2.3", "--version=v1.2.3", "--archives=" + dir, "agent", "controller"}, tc.args...)
			_, err := run(args...)
			require.ErrorContains(t, err, tc.want)
			require.False(t, changed())
		})
	}
}

// TestHalfPushed: a registry that fails in the middle has no tag of this version.
func TestHalfPushed(t *testing.T) {
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "/controller/blobs/uploads") {
			http.Error(w, "no space", http.StatusInsufficientStorage)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	archive(t, dir, "agent", "amd64", "v1")
	archive(t, dir, "controller", "amd64", "v1")
	_, err := run("--registry="+host+"/path", "--tag=v1", "--version=v1", "--arch=amd64", "--archives="+dir, "agent", "controller")
	require.ErrorContains(t, err, "pushing "+host+"/path/controller:v1")
	tag, err := name.NewTag(host + "/path/agent:v1")
	require.NoError(t, err)
	_, err = remote.Head(tag)
	require.ErrorContains(t, err, "404")
}
