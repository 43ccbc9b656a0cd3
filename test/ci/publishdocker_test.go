// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// digest is one that stand-ins give.
func digest(letter string) string { return strings.Repeat(letter, 64) }

// withDocker is a checkout with stand-ins for docker and helm in PATH, and without make and go. The registry has the images that are named, with their
// digests, in the file bin/there, and the chart bin/chart. Pushed images have the digest a, the chart has b. Immediately after each image another one, with
// the digest c, is pushed to the same tag.
func withDocker(t *testing.T, version string) *publisher {
	t.Helper()
	p := newPublisher(t, version)
	for _, absent := range []string{"standins/make", "standins/go", "bin/helm"} {
		p.remove(absent)
	}
	p.write("bin/there", "")
	p.write("bin/after", digest("c"))
	p.standIn("standins/docker", `case "$2 $3" in
"imagetools inspect")
	[ ! -e bin/refuses ] || { cat bin/refuses >&2 && exit 1; }
	sed -n "s#^$4 #sha256:#p" bin/there | tail -n 1 | grep . || { echo "ERROR: $4: not found" >&2 && exit 1; }
	;;
"build --platform")
	[ "$6" != "$(cat bin/fails 2>/dev/null)" ] || exit 1
	echo "$6 $(cat bin/after)" >>bin/there
	printf '{\n  "buildx.build.ref": "a/a/x",\n  "containerimage.descriptor": {\n    "digest": "sha256:`+digest("d")+`"\n  },\n  "containerimage.digest": "sha256:`+digest("a")+`",\n  "image.name": "x"\n}\n' >"${14}"
	;;
esac`)
	p.standIn("standins/helm", `case $1 in
push) cp "$2" bin/chart && echo "Digest: sha256:`+digest("b")+`" >&2 ;;
pull)
	[ ! -e bin/refuses-chart ] || { cat bin/refuses-chart >&2 && exit 1; }
	[ -e bin/chart ] || { echo "Error: registry.example.com/network/charts/antrea:$4: not found" >&2 && exit 1; }
	cp bin/chart "$6/antrea-$4.tgz" && echo "Digest: sha256:`+digest("b")+`" >&2
	;;
*) exec `+p.helm+` "$@" ;;
esac`)
	return p
}

// dockerBuilds are the calls of docker that build, without its subcommand and the file that gets the digest.
func dockerBuilds(calls []string) (builds []string) {
	for _, call := range calls {
		if build, is := strings.CutPrefix(call, "docker buildx build "); is {
			builds = append(builds, regexp.MustCompile(` --metadata-file \S+`).ReplaceAllString(build, ""))
		}
	}
	return builds
}

// pushesChart reports whether helm was called to push.
func pushesChart(calls []string) bool {
	return slices.ContainsFunc(calls, func(call string) bool { return strings.HasPrefix(call, "helm push ") })
}

// requireDigestsOfStandIns: bin/digests has the digests of what this run has pushed, not of the tags.
func (p *publisher) requireDigestsOfStandIns() {
	p.t.Helper()
	digests := ""
	for _, image := range []string{"antrea-agent-ubuntu", "antrea-controller-ubuntu", "antrea-mc-controller"} {
		digests += digest("a") + "  registry.example.com/network/" + image + "\n"
	}
	require.Equal(p.t, digests+digest("b")+"  registry.example.com/network/charts/antrea\n", p.read("bin/digests"))
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
	p.requireDigestsOfStandIns()

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

// TestPublishReleaseWithDocker: what this checkout has pushed of a release is not built again, since the digest would be another one.
func TestPublishReleaseWithDocker(t *testing.T) {
	p := withDocker(t, "7.8.9")
	p.git("tag", "v7.8.9")
	p.write("bin/after", digest("a"))
	p.env = []string{"IMAGE_ARCHS=arm64"}
	publish := func() (string, []string, error) {
		out, err := p.run("ci/publish.sh", "registry.example.com/network", "v7.8.9", "--build", "docker")
		return out, p.calls(), err
	}
	p.write("bin/fails", "registry.example.com/network/antrea-controller-ubuntu:v7.8.9")
	out, calls, err := publish()
	require.Error(t, err, out)
	require.Len(t, dockerBuilds(calls), 2)
	require.False(t, pushesChart(calls))

	p.remove("bin/fails")
	out, calls, err = publish()
	require.NoError(t, err, out)
	builds := dockerBuilds(calls)
	require.Len(t, builds, 2)
	require.Contains(t, builds[0], "--platform linux/arm64 -t registry.example.com/network/antrea-controller-ubuntu:v7.8.9 ")
	require.Contains(t, out, "antrea-agent-ubuntu:v7.8.9 is in the registry already")
	require.True(t, pushesChart(calls))
	p.requireDigestsOfStandIns()

	p.write("bin/chart", "packed by an older Helm, which adds the time")
	out, calls, err = publish()
	require.NoError(t, err, out)
	require.Empty(t, dockerBuilds(calls))
	require.False(t, pushesChart(calls))
	require.Contains(t, out, "charts/antrea:7.8.9 is in the registry already")
	p.requireDigestsOfStandIns()

	p.git("-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--allow-empty", "--message=y")
	p.git("tag", "--force", "v7.8.9")
	p.remove("bin/chart")
	out, calls, err = publish()
	require.Error(t, err, out)
	require.Contains(t, out, "antrea-agent-ubuntu:v7.8.9 exists with digest sha256:"+digest("a")+", and this checkout has not pushed it", "another commit")
	require.Empty(t, dockerBuilds(calls))
}

// TestPublishForeignReleaseWithDocker: what others have pushed under the tag of a release cannot be signed by this project.
func TestPublishForeignReleaseWithDocker(t *testing.T) {
	const registry = "registry.example.com/network"
	for name, tc := range map[string]struct {
		spoil  func(p *publisher)
		want   string
		builds int
	}{
		"image": {func(p *publisher) { p.write("bin/there", registry+"/antrea-agent-ubuntu:v7.8.9 "+digest("c")+"\n") },
			registry + "/antrea-agent-ubuntu:v7.8.9 exists with digest sha256:" + digest("c") + ", and this checkout has not pushed it", 0},
		"last image": {func(p *publisher) { p.write("bin/there", registry+"/antrea-mc-controller:v7.8.9 "+digest("c")+"\n") },
			registry + "/antrea-mc-controller:v7.8.9 exists with digest", 2},
		"chart": {func(p *publisher) { p.write("bin/chart", "another") }, registry + "/charts/antrea:7.8.9 exists with other content", 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := withDocker(t, "7.8.9")
			p.git("tag", "v7.8.9")
			tc.spoil(p)
			out, err := p.run("ci/publish.sh", registry, "--build", "docker")
			require.Error(t, err)
			require.Contains(t, out, tc.want)
			calls := p.calls()
			require.Len(t, dockerBuilds(calls), tc.builds)
			require.False(t, pushesChart(calls))
			list, err := os.ReadFile(filepath.Join(p.dir, "bin/digests"))
			require.True(t, err == nil || os.IsNotExist(err), err)
			require.NotContains(t, string(list), digest("c"))
			require.NotContains(t, string(list), "charts/antrea")
		})
	}
}

// TestPublishUnknownReleaseWithDocker: what the registry does not say is not taken for absent.
func TestPublishUnknownReleaseWithDocker(t *testing.T) {
	for _, tc := range []struct{ name, file, message, want string }{
		{"image", "bin/refuses", "ERROR: unexpected status from HEAD request: 503 Service Unavailable", "network/antrea-agent-ubuntu:v7.8.9"},
		{"image without credentials", "bin/refuses", `ERROR: error getting credentials - err: exec: "docker-credential-x": executable file not found in $PATH`, "network/antrea-agent-ubuntu:v7.8.9"},
		{"chart", "bin/refuses-chart", "Error: 503 Service Unavailable", "network/charts/antrea:7.8.9"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := withDocker(t, "7.8.9")
			p.git("tag", "v7.8.9")
			p.write(tc.file, tc.message)
			out, err := p.run("ci/publish.sh", "registry.example.com/network", "--build", "docker")
			require.Error(t, err)
			require.Contains(t, out, "whether the registry has registry.example.com/"+tc.want+" is not known, and a release is never replaced: "+tc.message)
			require.Empty(t, dockerBuilds(p.calls()))
			require.False(t, pushesChart(p.calls()))
		})
	}
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
		"no digest":    {spoil: func(p *publisher) { p.standIn("standins/docker", `[ "$2" != build ] || : >"${14}"`) }, want: `the digest of registry.example.com/network/antrea-agent-ubuntu:latest is "", must be like sha256:`, builds: 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := withDocker(t, "7.8.9-dev")
			tc.spoil(p)
			out, err := p.run("ci/publish.sh", "registry.example.com/network", "--build", "docker")
			require.Error(t, err)
			require.Contains(t, out, tc.want)
			calls := p.calls()
			require.Len(t, dockerBuilds(calls), tc.builds)
			require.False(t, pushesChart(calls))
		})
	}
}
