// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/stretchr/testify/require"

	"github.com/antrea-oncache/antrea/build/images/assemble"
)

// startRegistry starts a registry on loopback that wants this user.
func startRegistry(t *testing.T, user, password string) (host string) {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// programs is a directory with the program that pushes images.
var programs string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if programs, err = os.MkdirTemp("", "ci-test-"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(programs)
		build := exec.Command("go", "build", "-o", programs, "./build/images/cmd/publish")
		build.Dir = root
		// As the Makefile builds: the race detector's setting would compile all libraries once more.
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// publisher is a checkout of some version with the real Helm and the real program that pushes images. Its images are small.
type publisher struct {
	*checkout
	helm string
	// images are the images in the archives, by name and architecture.
	images map[string]v1.Image
}

func newPublisher(t *testing.T, version string) *publisher {
	t.Helper()
	helm := realHelm(t)
	p := &publisher{checkout: newCheckout(t, "build/charts", ".gitignore"), helm: helm, images: map[string]v1.Image{}}
	p.standIn("standins/go", "shift 2; exec "+filepath.Join(programs, "publish")+` "$@"`)
	p.standIn("standins/make", "")
	require.NoError(t, os.MkdirAll(filepath.Join(p.dir, "bin"), 0o755))
	require.NoError(t, os.Symlink(helm, filepath.Join(p.dir, "bin/helm")))

	p.write("VERSION", version+"\n")
	chart := "build/charts/antrea/Chart.yaml"
	current := strings.TrimSpace(read(t, "VERSION"))
	p.write(chart, strings.ReplaceAll(p.read(chart), "ersion: "+current+"\n", "ersion: "+version+"\n"))
	p.makeImages(version)
	p.git("init", "--quiet", "--initial-branch=main")
	p.write(".git/info/exclude", "/standins/\n/tools/\n/calls\n/.config/\n/.cache/\n")
	p.git("add", "--all")
	p.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message=x")
	return p
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, file))
	require.NoError(t, err)
	return string(text)
}

func (p *publisher) git(args ...string) {
	p.t.Helper()
	out, err := exec.Command("git", append([]string{"-C", p.dir}, args...)...).CombinedOutput()
	require.NoError(p.t, err, string(out))
}

// makeImages writes archives with new content.
func (p *publisher) makeImages(version string) {
	p.t.Helper()
	for _, image := range []string{"antrea-agent-ubuntu", "antrea-controller-ubuntu", "antrea-mc-controller"} {
		for _, arch := range []string{"amd64", "arm64"} {
			content, err := random.Image(100, 1)
			require.NoError(p.t, err)
			layers, err := content.Layers()
			require.NoError(p.t, err)
			made, err := assemble.Image(layers, assemble.Settings{Architecture: arch, Labels: map[string]string{"org.opencontainers.image.version": "v" + version}})
			require.NoError(p.t, err)
			file := filepath.Join(p.dir, "bin/images", image+"_"+arch+".tar")
			require.NoError(p.t, assemble.WriteArchive(file, made, []string{"ghcr.io/antrea-oncache/" + image + ":latest"}))
			p.images[image+"/"+arch] = made
		}
	}
}

// requirePublished pulls everything back.
func (p *publisher) requirePublished(registry, tag, version string) {
	p.t.Helper()
	auth := remote.WithAuth(&authn.Basic{Username: "robot", Password: "secret"})
	for image, want := range p.images {
		image, arch, _ := strings.Cut(image, "/")
		ref, err := name.NewTag(registry + "/" + image + ":" + tag)
		require.NoError(p.t, err)
		got, err := remote.Image(ref, auth, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: arch}))
		require.NoError(p.t, err)
		wantDigest, err := want.Digest()
		require.NoError(p.t, err)
		gotDigest, err := got.Digest()
		require.NoError(p.t, err)
		require.Equal(p.t, wantDigest, gotDigest, "%s for %s", ref, arch)
	}
	dir := p.t.TempDir()
	helm := func(args ...string) string {
		cmd := exec.Command(p.helm, append(args, "--registry-config", filepath.Join(dir, "config.json"))...)
		cmd.Stdin = strings.NewReader("secret")
		out, err := cmd.CombinedOutput()
		require.NoError(p.t, err, string(out))
		return string(out)
	}
	host, _, _ := strings.Cut(registry, "/")
	helm("registry", "login", host, "--username=robot", "--password-stdin", "--plain-http")
	helm("pull", "oci://"+registry+"/charts/antrea", "--version="+version, "--plain-http", "--destination="+dir)
	manifest := helm("template", "antrea", filepath.Join(dir, "antrea-"+version+".tgz"), "--namespace=kube-system")
	for _, image := range []string{"antrea-agent-ubuntu", "antrea-controller-ubuntu"} {
		require.Contains(p.t, manifest, `image: "`+registry+"/"+image+":"+tag+`"`)
	}
	require.NotContains(p.t, manifest, `image: "antrea/`, "upstream's image")
	p.requireDigests(registry, tag, version)
}

// requireDigests: bin/digests has what the tags of this registry point to.
func (p *publisher) requireDigests(registry, tag, version string) {
	p.t.Helper()
	var want []string
	for _, published := range []string{"antrea-agent-ubuntu:" + tag, "antrea-controller-ubuntu:" + tag, "antrea-mc-controller:" + tag, "charts/antrea:" + version} {
		ref, err := name.NewTag(registry + "/" + published)
		require.NoError(p.t, err)
		there, err := remote.Head(ref, remote.WithAuth(&authn.Basic{Username: "robot", Password: "secret"}))
		require.NoError(p.t, err)
		want = append(want, there.Digest.Hex+"  "+ref.Context().Name()+"\n")
	}
	require.Equal(p.t, strings.Join(want, ""), p.read("bin/digests"))
}

var credentials = []string{"REGISTRY_USER=robot", "REGISTRY_PASSWORD=secret"}

func TestPublishRelease(t *testing.T) {
	p := newPublisher(t, "7.8.9")
	p.env = credentials
	registry := startRegistry(t, "robot", "secret") + "/some/path"
	out, err := p.run("ci/publish.sh", registry)
	require.Error(t, err)
	require.Contains(t, out, "needs the tag v7.8.9 on this commit")
	require.Empty(t, p.calls())

	out, err = p.run("ci/publish.sh", registry, "main")
	require.NoError(t, err)
	require.Contains(t, out, "the release 7.8.9 is published for its tag, not for main")
	require.Empty(t, p.calls())

	p.git("tag", "v7.8.9")
	out, err = p.run("ci/publish.sh", registry, "v7.8.9")
	require.NoError(t, err, out)
	calls := p.calls()
	require.Len(t, calls, 2)
	require.Equal(t, "make bin/helm images IMAGE_ARCHS=amd64 arm64", calls[0])
	p.requirePublished(registry, "v7.8.9", "7.8.9")
	require.NotContains(t, out, "secret")

	out, err = p.run("ci/publish.sh", registry)
	require.NoError(t, err, "the same again: %s", out)
	require.Contains(t, out, "charts/antrea:7.8.9 is in the registry already")
	require.NotContains(t, out, "pushing "+registry)

	p.makeImages("7.8.9")
	out, err = p.run("ci/publish.sh", registry)
	require.Error(t, err)
	require.Contains(t, out, "a release is never replaced")
}

func TestPublishDevelopmentVersion(t *testing.T) {
	p := newPublisher(t, "7.8.9-dev")
	p.env = credentials
	registry := startRegistry(t, "robot", "secret") + "/path"
	for range 2 {
		out, err := p.run("ci/publish.sh", registry)
		require.NoError(t, err, out)
		p.requirePublished(registry, "latest", "7.8.9-dev")
		p.makeImages("7.8.9-dev")
	}
}

// TestPublishRefused: nothing is built when something is wrong, and nothing pushed when it shows later.
func TestPublishRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		version string
		spoil   func(p *publisher)
		args    []string
		want    string
		built   bool
	}{
		"no registry":   {version: "7.8.9-dev", want: "publish.sh REGISTRY"},
		"two refs":      {version: "7.8.9-dev", args: []string{"ghcr.io/owner", "main", "main"}, want: "publish.sh REGISTRY"},
		"unknown flag":  {version: "7.8.9-dev", args: []string{"ghcr.io/owner", "--replace"}, want: "publish.sh REGISTRY"},
		"no builder":    {version: "7.8.9-dev", args: []string{"ghcr.io/owner", "--build"}, want: "publish.sh REGISTRY"},
		"other builder": {version: "7.8.9-dev", args: []string{"ghcr.io/owner", "--build", "podman"}, want: `--build is "podman", must be docker or archives`},
		"no docker":     {version: "7.8.9-dev", args: []string{"ghcr.io/owner", "--build", "docker"}, want: "docker is not in PATH"},
		"no path":       {version: "7.8.9-dev", args: []string{"ghcr.io"}, want: `the registry is "ghcr.io", must be a host with a path in lower case`},
		"upper case":    {version: "7.8.9-dev", args: []string{"ghcr.io/Owner"}, want: "in lower case"},
		"bad version":   {version: "7.8", args: []string{"ghcr.io/owner"}, want: `VERSION is "7.8", must be like 1.2.3`},
		"no password":   {version: "7.8.9-dev", spoil: func(p *publisher) { p.env = credentials[:1] }, args: []string{"ghcr.io/owner"}, want: "REGISTRY_PASSWORD is not"},
		"changed file":  {version: "7.8.9", spoil: func(p *publisher) { p.git("tag", "v7.8.9"); p.write("new", "") }, args: []string{"ghcr.io/owner"}, want: "needs a clean checkout"},
		"other tag":     {version: "7.8.9", args: []string{"ghcr.io/owner", "v7.8.8"}, want: "the tag is v7.8.8, but VERSION is 7.8.9"},
		"other chart":   {version: "7.8.9-dev", spoil: func(p *publisher) { p.write("VERSION", "7.8.10-dev") }, args: []string{"ghcr.io/owner"}, want: "Chart.yaml has another version than VERSION, which is 7.8.10-dev"},
		"former images": {version: "7.8.9-dev", spoil: func(p *publisher) { p.makeImages("7.8.8") }, args: []string{"127.0.0.1:1/path"}, want: `has version "v7.8.8", want "v7.8.9-dev"`, built: true},
		"failed build":  {version: "7.8.9-dev", spoil: func(p *publisher) { p.standIn("standins/make", "exit 1") }, args: []string{"127.0.0.1:1/path"}, built: true},
		"image elsewhere": {version: "7.8.9-dev", spoil: func(p *publisher) {
			p.write("build/charts/antrea/values.yaml", strings.ReplaceAll(p.read("build/charts/antrea/values.yaml"), "repository: ghcr.io/antrea-oncache/", "repository: other/"))
		}, args: []string{"127.0.0.1:1/path"}, want: "the chart would install these images: other/antrea-agent-ubuntu:latest, other/antrea-controller-ubuntu:latest", built: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPublisher(t, tc.version)
			if tc.spoil != nil {
				tc.spoil(p)
			}
			out, err := p.run("ci/publish.sh", tc.args...)
			require.Error(t, err)
			require.Contains(t, out, tc.want)
			require.Equal(t, tc.built, len(p.calls()) > 0)
		})
	}
}

func TestPublishWrongPassword(t *testing.T) {
	p := newPublisher(t, "7.8.9-dev")
	p.env = []string{"REGISTRY_USER=robot", "REGISTRY_PASSWORD=wrong"}
	out, err := p.run("ci/publish.sh", startRegistry(t, "robot", "secret")+"/path")
	require.Error(t, err)
	require.Contains(t, out, "401")
	require.NotContains(t, out, "wrong")
}
