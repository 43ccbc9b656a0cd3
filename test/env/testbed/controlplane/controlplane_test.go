// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func TestPinnedVersions(t *testing.T) {
	dir, err := findToolsModule()
	require.NoError(t, err)
	versions, err := pinnedVersions(filepath.Join(dir, "go.mod"), kubernetesModule, etcdModule)
	require.NoError(t, err)
	require.Regexp(t, `^v1\.\d+\.\d+$`, versions[kubernetesModule])

	other := filepath.Join(t.TempDir(), "go.mod")
	require.NoError(t, os.WriteFile(other, []byte("module x\nrequire k8s.io/kubernetes v1.2.3\n"), 0o644))
	_, err = pinnedVersions(other, kubernetesModule, etcdModule)
	require.ErrorContains(t, err, etcdModule)
}

// TestSources: each program can be built from a package that its module has at the pinned version. Only make suite S=bench-peers downloads the
// modules of a peer.
func TestSources(t *testing.T) {
	repository, err := Repository()
	require.NoError(t, err)
	for name, src := range sources {
		dir := filepath.Join(repository, src.builder)
		versions, err := pinnedVersions(filepath.Join(dir, "go.mod"), src.module)
		require.NoError(t, err)
		require.Regexp(t, `^v\d+\.\d+\.\d+$`, versions[src.module], name)
		if src.builder == peerModule {
			continue
		}
		cmd := exec.Command("go", "list", "-f", "{{.Name}}", src.pkg)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "PWD="+dir)
		// Standard error tells what is downloaded.
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		require.NoError(t, err, stderr.String())
		if strings.HasSuffix(name, ".test") {
			require.NotEmpty(t, out, name) // go test makes the program
		} else {
			require.Equal(t, "main\n", string(out), name)
		}
	}
	_, err = BuildProgram(t.Context(), nil, "kube-dns", "amd64")
	require.ErrorContains(t, err, `program "kube-dns" is unknown; it can be [agnhost cilium-agent cilium-cni containerd`)
}

// TestExecutable: programs that are built together are found by the names that Go gives them.
func TestExecutable(t *testing.T) {
	for name, want := range map[string]string{"etcd": "server", "kubelet": "kubelet", "containerd": "containerd", "agnhost": "agnhost"} {
		require.Equal(t, want, executable(sources[name].pkg))
	}
	dirs := map[string]bool{}
	for _, name := range ClusterPrograms {
		require.Equal(t, toolsModule, sources[name].builder, "%s cannot be built together with the others", name)
		require.False(t, dirs[executable(sources[name].pkg)], name)
		dirs[executable(sources[name].pkg)] = true
	}
}

// TestBuildAllRefusesAProgramThatIsUnknown before it builds any.
func TestBuildAllRefusesAProgramThatIsUnknown(t *testing.T) {
	require.ErrorContains(t, BuildAll(t.Context(), nil, "etcd", "kube-dns"), `"kube-dns" is unknown`)
}

// TestSameVersions: with the project's versions, the control plane shares 1,288 of its 2,149 packages with the build cache, which
// saves two minutes on a new machine.
func TestSameVersions(t *testing.T) {
	dir, err := findToolsModule()
	require.NoError(t, err)
	control, err := requiredVersions(filepath.Join(dir, "go.mod"))
	require.NoError(t, err)
	project, err := requiredVersions(filepath.Join(dir, "..", "..", "go.mod"))
	require.NoError(t, err)
	common := 0
	for module, version := range project {
		if other, both := control[module]; both {
			common++
			assert.Equal(t, version, other, "%s: raise the lower version, in go.mod or in %s/go.mod", module, toolsModule)
		}
	}
	require.NotZero(t, common)
}

func TestKubernetesVersionFlags(t *testing.T) {
	flags := kubernetesVersionFlags("v1.36.3")
	require.Contains(t, flags, "gitVersion=v1.36.3 ")
	require.Contains(t, flags, "gitMajor=1 ")
	require.Contains(t, flags, "gitMinor=36 ")
}

func TestStart(t *testing.T) {
	if !Built() {
		t.Skip("kube-apiserver is not built yet on this machine: `lab run` does it")
	}
	c, err := Start(t.Context(), Options{StateDir: t.TempDir(), LogDir: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, c.WriteKubeconfig(path, "127.0.0.1"))
	config, err := clientcmd.BuildConfigFromFlags("", path)
	require.NoError(t, err)
	client, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)

	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default"},
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	_, err = client.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{})
	require.NoError(t, err, "a Pod needs no service account")
	_, err = client.CoreV1().ConfigMaps("kube-system").Get(t.Context(), "extension-apiserver-authentication", metav1.GetOptions{})
	require.NoError(t, err, "delegated authentication")
}
