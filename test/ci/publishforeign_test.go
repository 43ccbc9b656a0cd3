// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/stretchr/testify/require"
)

// pushForeignChart pushes a chart with this version and one template that is not in the project's chart.
func (p *publisher) pushForeignChart(registry, version string) {
	p.t.Helper()
	dir := p.t.TempDir()
	helm := func(args ...string) {
		cmd := exec.Command(p.helm, append(args, "--registry-config", filepath.Join(dir, "config.json"))...)
		out, err := cmd.CombinedOutput()
		require.NoError(p.t, err, string(out))
	}
	copied := exec.Command("cp", "-r", filepath.Join(p.dir, "build/charts/antrea"), dir)
	require.NoError(p.t, copied.Run())
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, "antrea/templates/more.yaml"), []byte("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: more\n"), 0o644))
	helm("package", filepath.Join(dir, "antrea"), "--destination="+dir)
	helm("push", filepath.Join(dir, "antrea-"+version+".tgz"), "oci://"+registry+"/charts", "--plain-http", "--username=robot", "--password=secret")
}

// TestPublishForeignChart: a chart that others have pushed under the tag of a release is refused before anything is pushed.
func TestPublishForeignChart(t *testing.T) {
	p := newPublisher(t, "7.8.9")
	p.env = credentials
	p.git("tag", "v7.8.9")
	registry := startRegistry(t, "robot", "secret") + "/path"
	p.pushForeignChart(registry, "7.8.9")
	out, err := p.run("ci/publish.sh", registry)
	require.Error(t, err)
	require.Contains(t, out, "charts/antrea:7.8.9 exists with other content: a release is never replaced, raise the version")
	require.NoFileExists(t, filepath.Join(p.dir, "bin/digests"))
	ref, err := name.NewTag(registry + "/antrea-agent-ubuntu:v7.8.9")
	require.NoError(t, err)
	_, err = remote.Head(ref, remote.WithAuth(&authn.Basic{Username: "robot", Password: "secret"}))
	require.ErrorContains(t, err, "404")
}

// manifest is pushed as it is.
type manifest []byte

func (m manifest) RawManifest() ([]byte, error)        { return m, nil }
func (m manifest) MediaType() (types.MediaType, error) { return types.OCIManifestSchema1, nil }

// TestPublishForeignManifest: a foreign manifest with the project's package is replaced, and its digest is not signed. Another checkout of the commit
// gives the same digest again.
func TestPublishForeignManifest(t *testing.T) {
	p := newPublisher(t, "7.8.9")
	p.env = credentials
	p.git("tag", "v7.8.9")
	registry := startRegistry(t, "robot", "secret") + "/path"
	out, err := p.run("ci/publish.sh", registry)
	require.NoError(t, err, out)
	published := p.read("bin/digests")

	auth := remote.WithAuth(&authn.Basic{Username: "robot", Password: "secret"})
	ref, err := name.NewTag(registry + "/charts/antrea:7.8.9")
	require.NoError(t, err)
	there, err := remote.Get(ref, auth)
	require.NoError(t, err)
	var changed map[string]any
	require.NoError(t, json.Unmarshal(there.Manifest, &changed))
	changed["annotations"].(map[string]any)["foreign"] = "yes"
	text, err := json.Marshal(changed)
	require.NoError(t, err)
	for _, checkout := range []string{"the same", "another"} {
		require.NoError(t, remote.Put(ref, manifest(text), auth))
		if checkout == "another" {
			pushed, err := filepath.Glob(filepath.Join(p.dir, "bin/pushed-*"))
			require.NoError(t, err)
			require.Len(t, pushed, 1)
			require.NoError(t, os.Remove(pushed[0]))
		}
		out, err = p.run("ci/publish.sh", registry)
		require.NoError(t, err, out)
		require.Contains(t, out, "charts/antrea:7.8.9 is in the registry already")
		require.Equal(t, published, p.read("bin/digests"), checkout)
		p.requireDigests(registry, "v7.8.9", "7.8.9")
	}
}
