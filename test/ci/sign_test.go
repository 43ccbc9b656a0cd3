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
	"sigs.k8s.io/yaml"
)

// signed is a list of digests as ci/publish.sh writes it.
func signed(registry string) (lines []string) {
	for i, name := range []string{"antrea-agent-ubuntu", "antrea-controller-ubuntu", "antrea-mc-controller", "charts/antrea"} {
		lines = append(lines, strings.Repeat(string(rune('a'+i)), 64)+"  "+registry+"/"+name)
	}
	return lines
}

// newSigner is a checkout with a stand-in for cosign.
func newSigner(t *testing.T, lines []string) *checkout {
	t.Helper()
	c := newCheckout(t)
	c.standIn("standins/cosign", `[ "$1" != login ] || { [ -d "$DOCKER_CONFIG" ] && echo "$DOCKER_CONFIG" >`+c.dir+`/login && cat >`+c.dir+`/password; }`)
	c.write("bin/digests", strings.Join(lines, "\n")+"\n")
	return c
}

// TestSign: each digest that was pushed is signed, and no tag. The credentials do not stay.
func TestSign(t *testing.T) {
	const registry = "127.0.0.1:5000/network"
	c := newSigner(t, signed(registry))
	out, err := c.run("ci/sign.sh", registry)
	require.NoError(t, err, out)
	var want []string
	for _, line := range signed(registry) {
		digest, name, _ := strings.Cut(line, "  ")
		want = append(want, "cosign sign --yes --recursive "+name+"@sha256:"+digest)
	}
	require.Equal(t, want, c.calls())

	c.env = credentials
	out, err = c.run("ci/sign.sh", registry, "bin/digests")
	require.NoError(t, err, out)
	require.Equal(t, append([]string{"cosign login 127.0.0.1:5000 --username robot --password-stdin"}, want...), c.calls())
	require.Equal(t, "secret\n", c.read("password"))
	require.NoDirExists(t, strings.TrimSpace(c.read("login")))
	require.NotContains(t, out, "secret")

	c.standIn("standins/cosign", "exit 1")
	_, err = c.run("ci/sign.sh", registry)
	require.Error(t, err, "cosign fails")
}

// TestSignRefused: nothing is signed of a list that ci/publish.sh did not write for this registry.
func TestSignRefused(t *testing.T) {
	const registry = "ghcr.io/owner"
	for name, tc := range map[string]struct {
		spoil func(c *checkout)
		lines []string
		args  []string
		want  string
	}{
		"no registry":    {want: "sign.sh REGISTRY"},
		"no cosign":      {spoil: func(c *checkout) { c.remove("standins/cosign") }, args: []string{registry}, want: "cosign is not in PATH"},
		"no list":        {args: []string{registry, "bin/none"}, want: "bin/none does not exist, or is empty"},
		"other registry": {args: []string{"ghcr.io/own"}, want: "which is not in ghcr.io/own"},
		"a tag":          {lines: append(signed(registry), "latest  "+registry+"/antrea-agent-ubuntu"), args: []string{registry}, want: `has "latest  `},
		"one missing":    {lines: signed(registry)[1:], args: []string{registry}, want: "has ghcr.io/owner/antrea-agent-ubuntu 0 times"},
		"one twice":      {lines: append(signed(registry), signed(registry)[3]), args: []string{registry}, want: "has ghcr.io/owner/charts/antrea 2 times"},
		"no password":    {spoil: func(c *checkout) { c.env = credentials[:1] }, args: []string{registry}, want: "REGISTRY_PASSWORD is not"},
	} {
		t.Run(name, func(t *testing.T) {
			lines := tc.lines
			if lines == nil {
				lines = signed(registry)
			}
			c := newSigner(t, lines)
			if tc.spoil != nil {
				tc.spoil(c)
			}
			out, err := c.run("ci/sign.sh", tc.args...)
			require.Error(t, err)
			require.Contains(t, out, tc.want)
			require.Empty(t, c.calls())
		})
	}
}

// publishJob is a part of the workflow that publishes.
type publishJob struct {
	If          string
	Needs       string
	Permissions map[string]string
	Outputs     map[string]string
	Steps       []struct {
		ID, If, Uses, Run string
		With, Env         map[string]string
	}
}

// TestReleaseJob: what the job publish has pushed is signed and attested before a release names it, and only the job that signs can.
func TestReleaseJob(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".github/workflows/publish.yml"))
	require.NoError(t, err)
	var workflow struct {
		Permissions map[string]string
		Jobs        map[string]publishJob
	}
	require.NoError(t, yaml.Unmarshal(text, &workflow))
	require.Equal(t, map[string]string{"contents": "read", "packages": "write"}, workflow.Permissions)
	publish, release := workflow.Jobs["publish"], workflow.Jobs["release"]
	require.Nil(t, publish.Permissions)
	require.Equal(t, map[string]string{"digests": "${{ steps.digests.outputs.digests }}"}, publish.Outputs)
	require.Equal(t, "publish", release.Needs)
	require.Equal(t, "startsWith(github.ref, 'refs/tags/v')", release.If)
	require.Equal(t, map[string]string{"contents": "write", "packages": "write", "id-token": "write", "attestations": "write"}, release.Permissions)

	var order []string
	for _, step := range release.Steps {
		action, _, _ := strings.Cut(step.Uses, "@")
		order = append(order, strings.TrimSpace(action+step.Run+" "+step.With["subject-checksums"]))
	}
	at := func(beginning string) int {
		i := slices.IndexFunc(order, func(step string) bool { return strings.HasPrefix(step, beginning) })
		require.GreaterOrEqual(t, i, 0, "no step %s in %s", beginning, strings.Join(order, "\n"))
		return i
	}
	steps := []int{
		at("sigstore/cosign-installer"), at("mkdir -p bin && printf '%s\\n' \"$DIGESTS\" >bin/digests"), at("ci/sign.sh"), at("actions/attest-build-provenance bin/digests"), at("make release-assets"),
		at("cosign sign-blob --yes --bundle bin/release/SHA256SUMS.sigstore.json bin/release/SHA256SUMS"), at("actions/attest-build-provenance bin/release/SHA256SUMS"), at("gh release create"),
	}
	require.True(t, slices.IsSorted(steps), order)
	require.Equal(t, "${{ needs.publish.outputs.digests }}", release.Steps[steps[1]].Env["DIGESTS"])
}

// TestDigestsPass: the job publish passes the list on as it is.
func TestDigestsPass(t *testing.T) {
	text := read(t, ".github/workflows/publish.yml")
	command := regexp.MustCompile(`(?m)run: (printf 'digests<<.*)$`).FindStringSubmatch(text)
	require.NotNil(t, command)
	list := strings.Join(signed("ghcr.io/owner"), "\n") + "\n"
	c := newCheckout(t)
	c.write("bin/digests", list)
	c.write("ci/pass.sh", "cd "+c.dir+" && "+command[1]+"\n")
	c.env = []string{"GITHUB_OUTPUT=" + c.dir + "/output"}
	out, err := c.run("tools/bash", filepath.Join(c.dir, "ci/pass.sh"))
	require.NoError(t, err, out)
	require.Equal(t, "digests<<end\n"+list+"end\n", c.read("output"))
}

// TestUsersCanVerify: SECURITY.md names the identity with which the workflow signs, and each kind of signature.
func TestUsersCanVerify(t *testing.T) {
	page := read(t, "SECURITY.md")
	require.FileExists(t, filepath.Join(root, ".github/workflows/publish.yml"))
	require.Contains(t, page, "https://github.com/antrea-oncache/antrea/.github/workflows/publish.yml@refs/tags/v")
	for _, call := range []string{"cosign verify ", "cosign verify-blob --bundle SHA256SUMS.sigstore.json ", "sha256sum --check ", "gh attestation verify "} {
		require.Contains(t, page, "\n$ "+call)
	}
}
