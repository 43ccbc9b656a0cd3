// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// newRelease is a checkout with the real Helm and a compiler that writes its target's name into each program.
func newRelease(t *testing.T) *checkout {
	t.Helper()
	c := newCheckout(t, "build/charts", "build/yamls", "LICENSE", "VERSION")
	helm := realHelm(t)
	require.NoError(t, os.MkdirAll(filepath.Join(c.dir, "bin"), 0o755))
	require.NoError(t, os.Symlink(helm, filepath.Join(c.dir, "bin/helm")))
	require.NoError(t, os.MkdirAll(filepath.Join(c.dir, "hack/sbom"), 0o755))
	c.standIn("standins/go", `[ "$1" != run ] || { shift 2; file=$1; shift; echo "licences of $*" >"$file"; exit; }
while [ "$1" != -o ]; do shift; done
case $2 in
*/) printf '#!/bin/sh\nwhile [ "$1" != -output ]; do shift; done\necho modules >"$2"\n' >"$2cyclonedx-gomod"; /bin/chmod +x "$2cyclonedx-gomod" ;;
*) echo "$GOOS/$GOARCH $LDFLAGS" >"$2" ;;
esac`)
	return c
}

// TestReleaseAssets: every file is listed with its checksum, and manifest and chart name the images of one registry.
func TestReleaseAssets(t *testing.T) {
	c := newRelease(t)
	out, err := c.run("ci/release-assets.sh", "registry.example.com/network", filepath.Join(c.dir, "release"))
	require.NoError(t, err, out)
	version := strings.TrimSpace(read(t, "VERSION"))
	want := []string{
		"LICENSE", "SHA256SUMS", "THIRD-PARTY-LICENSES", "antctl-darwin-amd64", "antctl-darwin-arm64", "antctl-linux-amd64", "antctl-linux-arm64", "antctl-windows-amd64.exe",
		"antctl-windows-arm64.exe", "antrea-" + version + ".tgz", "antrea-crds.yml", "antrea-multicluster-leader.yml", "antrea-multicluster-member.yml", "antrea-oncache.cdx.json", "antrea.yml",
	}
	entries, err := os.ReadDir(filepath.Join(c.dir, "release"))
	require.NoError(t, err)
	sums := c.read("release/SHA256SUMS")
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
		sum := sha256.Sum256([]byte(c.read("release/" + entry.Name())))
		line := hex.EncodeToString(sum[:]) + "  " + entry.Name() + "\n"
		require.Equal(t, entry.Name() != "SHA256SUMS", strings.Contains(sums, line), "%s in %s", line, sums)
	}
	require.Equal(t, want, got)
	require.Contains(t, c.read("release/antctl-windows-arm64.exe"), "windows/arm64")
	for _, name := range got {
		require.Equal(t, strings.HasPrefix(name, "antctl-"), strings.Contains(c.read("release/THIRD-PARTY-LICENSES"), "/"+name), name)
	}
	manifest := c.read("release/antrea.yml")
	require.Contains(t, manifest, `image: "registry.example.com/network/antrea-agent-ubuntu:`)
	require.Contains(t, manifest, `image: "registry.example.com/network/antrea-controller-ubuntu:`)
	for _, role := range []string{"leader", "member"} {
		manifest += c.read("release/antrea-multicluster-" + role + ".yml")
	}
	require.Equal(t, 2, strings.Count(manifest, "image: registry.example.com/network/antrea-mc-controller:latest\n"))
	require.NotContains(t, manifest, "ghcr.io")
	out, err = c.run("bin/helm", "show", "readme", filepath.Join(c.dir, "release/antrea-"+version+".tgz"))
	require.NoError(t, err, out)
	require.NotContains(t, out, "](..")
	require.Contains(t, out, "](https://github.com/antrea-oncache/antrea/blob/main/docs/use/oncache.md")
	require.Contains(t, out, "](https://github.com/antrea-oncache/antrea/blob/main/build/yamls/antrea.yml)")
	require.Contains(t, c.read("release/antrea-crds.yml"), "clusternetworkpolicies.crd.antrea.io")
}

// TestReleaseAssetsRefused: nothing is made of a wrong request, and nothing that exists is replaced.
func TestReleaseAssetsRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		registry, platforms string
		exists              bool
		want                string
	}{
		"no path in the registry": {registry: "ghcr.io", want: `the registry is "ghcr.io", must be a host with a path`},
		"platform":                {registry: "ghcr.io/owner", platforms: "linux/amd64 plan9/amd64", want: `ANTCTL_PLATFORMS has "plan9/amd64"`},
		"made before":             {registry: "ghcr.io/owner", exists: true, want: "release exists: remove it"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newRelease(t)
			directory := filepath.Join(c.dir, "release")
			if tc.exists {
				require.NoError(t, os.Mkdir(directory, 0o755))
			}
			if tc.platforms != "" {
				c.env = append(c.env, "ANTCTL_PLATFORMS="+tc.platforms)
			}
			out, err := c.run("ci/release-assets.sh", tc.registry, directory)
			require.Error(t, err)
			require.Contains(t, out, tc.want)
			require.Empty(t, c.calls())
		})
	}
}

// TestChartLeadsHome: what a registry shows of the chart says whose it is, where faults are reported, and whether it is a preview.
func TestChartLeadsHome(t *testing.T) {
	var chart struct {
		Version, Home string
		Sources       []string
		Maintainers   []map[string]string
		Annotations   map[string]string
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "build/charts/antrea/Chart.yaml")), &chart))
	const address = "https://github.com/antrea-oncache/antrea"
	require.Equal(t, address, chart.Home)
	require.Equal(t, []string{address}, chart.Sources)
	require.NotEmpty(t, chart.Maintainers)
	require.Equal(t, "Apache-2.0", chart.Annotations["artifacthub.io/license"])
	require.Equal(t, strconv.FormatBool(strings.HasPrefix(chart.Version, "0.")), chart.Annotations["artifacthub.io/prerelease"])
	var links []struct{ Name, URL string }
	require.NoError(t, yaml.Unmarshal([]byte(chart.Annotations["artifacthub.io/links"]), &links))
	require.Len(t, links, 3)
	for _, link := range links {
		require.True(t, strings.HasPrefix(link.URL, address+"/"), link)
		require.NotEmpty(t, link.Name)
	}
}
