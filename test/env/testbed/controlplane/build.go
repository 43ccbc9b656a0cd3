// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/modfile"

	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
	"github.com/antrea-oncache/antrea/test/env/testbed/proc"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

const (
	kubernetesModule = "k8s.io/kubernetes"
	etcdModule       = "go.etcd.io/etcd/server/v3"
	corednsModule    = "github.com/coredns/coredns"
	runtimeModule    = "github.com/containerd/containerd/v2"
	ciliumModule     = "github.com/cilium/cilium"
	// Relative to the repository. With CoreDNS in the same module, its dependencies would raise versions that Kubernetes asks for.
	toolsModule = "hack/controlplane"
	dnsModule   = "hack/coredns"
	// containerd asks for other versions than Kubernetes.
	containerdModule = "hack/containerd"
	// Kubernetes' own tests have dependencies that Kubernetes has not.
	conformanceModule = "hack/conformance"
	// Only make suite S=bench-peers needs it.
	peerModule = "hack/cilium"
)

// source is the origin of a program of a cluster: its package, the module that has its version, and the module that
// builds it.
type source struct {
	pkg, module, builder string
}

// sources are the programs that can be built.
var sources = map[string]source{
	"etcd":                    {etcdModule, etcdModule, toolsModule},
	"kube-apiserver":          {kubernetesModule + "/cmd/kube-apiserver", kubernetesModule, toolsModule},
	"kube-controller-manager": {kubernetesModule + "/cmd/kube-controller-manager", kubernetesModule, toolsModule},
	"kube-scheduler":          {kubernetesModule + "/cmd/kube-scheduler", kubernetesModule, toolsModule},
	"kube-proxy":              {kubernetesModule + "/cmd/kube-proxy", kubernetesModule, toolsModule},
	"kubelet":                 {kubernetesModule + "/cmd/kubelet", kubernetesModule, toolsModule},
	"kubectl":                 {kubernetesModule + "/cmd/kubectl", kubernetesModule, toolsModule},
	"agnhost":                 {kubernetesModule + "/test/images/agnhost", kubernetesModule, toolsModule},
	"e2e.test":                {kubernetesModule + "/test/e2e", kubernetesModule, conformanceModule},
	"coredns":                 {".", corednsModule, dnsModule},
	"containerd":              {runtimeModule + "/cmd/containerd", runtimeModule, containerdModule},
	"containerd-shim-runc-v2": {runtimeModule + "/cmd/containerd-shim-runc-v2", runtimeModule, containerdModule},
	"ctr":                     {runtimeModule + "/cmd/ctr", runtimeModule, containerdModule},
	"cilium-agent":            {ciliumModule + "/daemon", ciliumModule, peerModule},
	"cilium-cni":              {ciliumModule + "/plugins/cilium-cni", ciliumModule, peerModule},
}

// programs are the paths of the programs of a control plane.
type programs struct {
	etcd, apiserver string
	controllers     controllers // only of a full control plane
}

// Program is a program in the cache.
type Program struct {
	Path, Version string
}

// Build builds the programs if they are not in the cache yet, as Start does.
func Build(ctx context.Context, progress *progress.Printer) error {
	_, err := build(ctx, progress)
	return err
}

func build(ctx context.Context, progress *progress.Printer) (programs, error) {
	if err := BuildAll(ctx, progress, "etcd", "kube-apiserver"); err != nil {
		return programs{}, err
	}
	etcd, err := BuildProgram(ctx, progress, "etcd", runtime.GOARCH)
	if err != nil {
		return programs{}, err
	}
	apiserver, err := BuildProgram(ctx, progress, "kube-apiserver", runtime.GOARCH)
	return programs{etcd: etcd.Path, apiserver: apiserver.Path}, err
}

// BuildProgram returns a program of a cluster for an architecture, as Go calls it. It is built if it is not in the cache yet.
func BuildProgram(ctx context.Context, progress *progress.Printer, name, arch string) (Program, error) {
	src, dir, version, err := find(name)
	if err != nil {
		return Program{}, err
	}
	p := Program{Version: version}
	p.Path, err = buildOne(ctx, progress, dir, name, arch, src, version)
	return p, err
}

// ProgramVersion is the version of a program of a cluster ("v1.37.2").
func ProgramVersion(name string) (string, error) {
	_, _, version, err := find(name)
	return version, err
}

// find returns where a program comes from, the directory of the module that builds it, and its version.
func find(name string) (src source, dir, version string, err error) {
	src, known := sources[name]
	if !known {
		return source{}, "", "", fmt.Errorf("program %q is unknown; it can be %v", name, slices.Sorted(maps.Keys(sources)))
	}
	repository, err := Repository()
	if err != nil {
		return source{}, "", "", err
	}
	dir = filepath.Join(repository, src.builder)
	versions, err := pinnedVersions(filepath.Join(dir, "go.mod"), src.module)
	return src, dir, versions[src.module], err
}

// Sources returns the directory of the module that a program is built from, in Go's module cache. The program must have been built.
func Sources(ctx context.Context, name string) (string, error) {
	src, dir, _, err := find(name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", src.module)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly", "PWD="+dir)
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("where the sources of %s are: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// BuildKubernetes builds one of Kubernetes' programs ("kubelet") if it is not in the cache yet, and returns its path.
func BuildKubernetes(ctx context.Context, progress *progress.Printer, name string) (string, error) {
	p, err := BuildProgram(ctx, progress, name, runtime.GOARCH)
	return p.Path, err
}

// KubernetesVersion is the version of Kubernetes' programs ("v1.37.2").
func KubernetesVersion() (string, error) { return ProgramVersion("kubelet") }

// Built reports whether the programs are in the cache. Otherwise Start builds them, which takes minutes.
func Built() bool {
	dir, err := findToolsModule()
	if err != nil {
		return false
	}
	versions, err := pinnedVersions(filepath.Join(dir, "go.mod"), etcdModule, kubernetesModule)
	if err != nil {
		return false
	}
	return cache.Has("etcd", versions[etcdModule]) && cache.Has("kube-apiserver", versions[kubernetesModule])
}

// Repository is the root directory of the repository, found above the working directory or this program's own file.
func Repository() (string, error) {
	dir, err := findToolsModule()
	return strings.TrimSuffix(dir, "/"+toolsModule), err
}

// findToolsModule looks for hack/controlplane above the working directory and above this program's own file.
func findToolsModule() (string, error) {
	var starts []string
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	if exe, err := os.Executable(); err == nil {
		starts = append(starts, filepath.Dir(exe))
	}
	for _, dir := range starts {
		for ; ; dir = filepath.Dir(dir) {
			if _, err := os.Stat(filepath.Join(dir, toolsModule, "go.mod")); err == nil {
				return filepath.Join(dir, toolsModule), nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return "", fmt.Errorf("%s, which pins the control plane's versions, is not found above any of %q: start in the repository", toolsModule, starts)
}

// pinnedVersions returns the versions that a go.mod requires, by module path. The wanted ones must be there.
func pinnedVersions(path string, wanted ...string) (map[string]string, error) {
	versions, err := requiredVersions(path)
	if err != nil {
		return nil, err
	}
	for _, want := range wanted {
		if versions[want] == "" {
			return nil, fmt.Errorf("%s does not require %s", path, want)
		}
	}
	return versions, nil
}

// requiredVersions returns the versions that a go.mod requires, by module path.
func requiredVersions(path string) (map[string]string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	mod, err := modfile.ParseLax(path, data, nil)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for _, r := range mod.Require {
		versions[r.Mod.Path] = r.Mod.Version
	}
	return versions, nil
}

// kubernetesVersionFlags are the linker flags by which Kubernetes learns its version ("v1.36.3").
func kubernetesVersionFlags(version string) string {
	parts := append(strings.Split(strings.TrimPrefix(version, "v"), "."), "", "")
	return fmt.Sprintf("-X k8s.io/component-base/version.gitVersion=%[1]s -X k8s.io/component-base/version.gitMajor=%[2]s "+
		"-X k8s.io/component-base/version.gitMinor=%[3]s -X k8s.io/client-go/pkg/version.gitVersion=%[1]s", version, parts[0], parts[1])
}

func buildOne(ctx context.Context, progress *progress.Printer, dir, name, arch string, src source, version string) (string, error) {
	entry, ldflags := version, "-s -w"
	if arch != runtime.GOARCH {
		entry += "-" + arch
	}
	switch src.module {
	case kubernetesModule:
		ldflags += " " + kubernetesVersionFlags(version)
	case ciliumModule:
		ldflags += " -X " + ciliumModule + "/pkg/version.ciliumVersion=" + strings.TrimPrefix(version, "v")
	}
	path, err := cache.Populate(ctx, name, entry, func(out string) error {
		build := []string{"build"}
		if strings.HasSuffix(name, ".test") {
			build = []string{"test", "-c", "-vet=off"}
		}
		return compile(ctx, progress, dir, fmt.Sprintf("building %s %s", name, entry), arch, append(build, "-ldflags", ldflags, "-o", filepath.Join(out, name), src.pkg))
	})
	return filepath.Join(path, name), err
}

// compile runs the go command in the module in dir, and says meanwhile what it does.
func compile(ctx context.Context, progress *progress.Printer, dir, text, arch string, args []string) error {
	progress.Printf("control plane: %s, once on this machine", text)
	defer progress.Every(ctx, 10*time.Second, "control plane: "+text)()
	cmd := exec.Command("go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath", "GOARCH="+arch, "PWD="+dir)
	return runToEnd(ctx, cmd)
}

// runToEnd runs a program and everything it starts until it ends or ctx does.
func runToEnd(ctx context.Context, cmd *exec.Cmd) error {
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	p, err := proc.Start(cmd)
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Stop(5*time.Second))
	}
	if err := p.Err(); err != nil {
		return fmt.Errorf("%s: %w:\n%s", strings.Join(cmd.Args, " "), err, out.String())
	}
	return nil
}
