// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// withDocker is a checkout with stand-ins for docker and helm in PATH, and without make and go. The registry has the images that are named in the file there.
func withDocker(t *testing.T, version string) *publisher {
	t.Helper()
	p := newPublisher(t, version)
	for _, absent := range []string{"standins/make", "standins/go", "bin/helm"} {
		p.remove(absent)
	}
	p.write("bin/there", "")
	p.standIn("standins/docker", `case "$2 $3" in
"imagetools inspect") [ "$5" = --format ] && echo sha256:`+strings.Repeat("a", 64)+` || grep -qx "$4" bin/there ;;
"build --platform") echo "$6" >>bin/there ;;
esac`)
	p.standIn("standins/helm", `case $1 in
show) grep -qx chart bin/there ;;
push) echo chart >>bin/there ;;
pull) echo "Digest: sha256:`+strings.Repeat("b", 64)+`" >&2 ;;
*) exec `+p.helm+` "$@" ;;
esac`)
	return p
}

// dockerBuilds are the calls of docker that build, without what they do after the name of the image.
func dockerBuilds(calls []string) (builds []string) {
	for _, call := range calls {
		if build, is := strings.CutPrefix(call, "docker buildx build "); is {
			builds = append(builds, build)
		}
	}
	return builds
}

// TestPublishWithDocker: on any system the Dockerfiles make the images, for all architectures, and the chart names them.
func TestPublishWithDocker(t *testing.T) {
	p := withDocker(t, "7.8.9-dev")
	out, err := p.run("ci/publish.sh", "registry.example.com/network", "--build", "docker")
	require.NoError(t, err, out)
	calls := p.calls()
	require.Contains(t, calls, "docker buildx version")
	var want []string
	for _, image := range []string{"agent-ubuntu", "controller-ubuntu", "mc-controller"} {
		dockerfile := "build/images/" + strings.TrimSuffix(image, "-ubuntu") + "/Dockerfile"
		require.FileExists(t, filepath.Join(root, dockerfile))
		want = append(want, "--platform linux/amd64,linux/arm64 -t registry.example.com/network/antrea-"+image+":latest -f "+dockerfile+
			" --build-arg VERSION=v7.8.9-dev --build-arg REVISION="+p.head()+" --push .")
	}
	require.Equal(t, want, dockerBuilds(calls))
	pushed := slices.IndexFunc(calls, func(call string) bool { return strings.HasPrefix(call, "helm push ") })
	require.Regexp(t, `^helm push \S+/antrea-7\.8\.9-dev\.tgz oci://registry\.example\.com/network/charts$`, calls[pushed])
	digests := ""
	for _, image := range []string{"antrea-agent-ubuntu", "antrea-controller-ubuntu", "antrea-mc-controller"} {
		digests += strings.Repeat("a", 64) + "  registry.example.com/network/" + image + "\n"
	}
	require.Equal(t, digests+strings.Repeat("b", 64)+"  registry.example.com/network/charts/antrea\n", p.read("bin/digests"))

	out, err = p.run("ci/publish.sh", "registry.example.com/network", "--build", "docker")
	require.NoError(t, err, out)
	require.Len(t, dockerBuilds(p.calls()), 3, "a development version is replaced")
}

// head is the commit of the checkout.
func (p *publisher) head() string {
	p.t.Helper()
	commit, err := os.ReadFile(filepath.Join(p.dir, ".git/refs/heads/main"))
	require.NoError(p.t, err)
	return strings.TrimSpace(string(commit))
}

// TestPublishReleaseWithDocker: what exists of a release is not built again, since the digest would be another one.
func TestPublishReleaseWithDocker(t *testing.T) {
	p := withDocker(t, "7.8.9")
	p.git("tag", "v7.8.9")
	p.env = []string{"IMAGE_ARCHS=arm64"}
	p.write("bin/there", "registry.example.com/network/antrea-agent-ubuntu:v7.8.9\n")
	out, err := p.run("ci/publish.sh", "registry.example.com/network", "v7.8.9", "--build", "docker")
	require.NoError(t, err, out)
	builds := dockerBuilds(p.calls())
	require.Len(t, builds, 2)
	require.Contains(t, builds[0], "--platform linux/arm64 -t registry.example.com/network/antrea-controller-ubuntu:v7.8.9 ")

	out, err = p.run("ci/publish.sh", "registry.example.com/network", "v7.8.9", "--build", "docker")
	require.NoError(t, err, out)
	calls := p.calls()
	require.Empty(t, dockerBuilds(calls))
	require.False(t, slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, "helm push ") }))
	require.Contains(t, out, "the chart 7.8.9 is in the registry already")
	require.Len(t, strings.Split(strings.TrimSpace(p.read("bin/digests")), "\n"), 4, "all that is published can be signed")
}

// TestPublishWithDockerRefused: nothing is pushed when something is wrong, and nothing more when something fails.
func TestPublishWithDockerRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		spoil  func(p *publisher)
		want   string
		builds int
	}{
		"no helm":      {spoil: func(p *publisher) { p.remove("standins/helm") }, want: "helm is not in PATH"},
		"no buildx":    {spoil: func(p *publisher) { p.standIn("standins/docker", "echo unknown command >&2; exit 1") }, want: "unknown command\npublish: docker has no buildx"},
		"credentials":  {spoil: func(p *publisher) { p.env = credentials }, want: "use docker login registry.example.com instead"},
		"failed build": {spoil: func(p *publisher) { p.standIn("standins/docker", `[ "$2" != build ]`) }, builds: 1},
		"no digest":    {spoil: func(p *publisher) { p.standIn("standins/docker", "") }, want: `the digest of registry.example.com/network/antrea-agent-ubuntu is "", must be like sha256:`, builds: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := withDocker(t, "7.8.9-dev")
			tc.spoil(p)
			out, err := p.run("ci/publish.sh", "registry.example.com/network", "--build", "docker")
			require.Error(t, err)
			require.Contains(t, out, tc.want)
			calls := p.calls()
			require.Len(t, dockerBuilds(calls), tc.builds)
			require.False(t, slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, "helm push ") }))
		})
	}
}
