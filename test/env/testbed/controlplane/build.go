// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	toolsModule      = "hack/controlplane" // relative to the repository
)

// programs are the paths of the programs of a control plane.
type programs struct {
	etcd, apiserver string
	controllers     controllers // only of a full control plane
}

// Build builds the programs if they are not in the cache yet, as Start does.
func Build(ctx context.Context, progress *progress.Printer) error {
	_, err := build(ctx, progress)
	return err
}

func build(ctx context.Context, progress *progress.Printer) (programs, error) {
	dir, err := findToolsModule()
	if err != nil {
		return programs{}, err
	}
	versions, err := pinnedVersions(filepath.Join(dir, "go.mod"))
	if err != nil {
		return programs{}, err
	}
	var p programs
	if p.etcd, err = buildOne(ctx, progress, dir, "etcd", etcdModule, versions[etcdModule], ""); err != nil {
		return programs{}, err
	}
	p.apiserver, err = buildOne(ctx, progress, dir, "kube-apiserver", kubernetesModule+"/cmd/kube-apiserver",
		versions[kubernetesModule], kubernetesVersionFlags(versions[kubernetesModule]))
	return p, err
}

// BuildKubernetes builds one of Kubernetes' programs ("kubelet") if it is not in the cache yet, and returns its path.
func BuildKubernetes(ctx context.Context, progress *progress.Printer, name string) (string, error) {
	dir, err := findToolsModule()
	if err != nil {
		return "", err
	}
	version, err := KubernetesVersion()
	if err != nil {
		return "", err
	}
	return buildOne(ctx, progress, dir, name, kubernetesModule+"/cmd/"+name, version, kubernetesVersionFlags(version))
}

// KubernetesVersion is the version of Kubernetes' programs ("v1.37.2").
func KubernetesVersion() (string, error) {
	dir, err := findToolsModule()
	if err != nil {
		return "", err
	}
	versions, err := pinnedVersions(filepath.Join(dir, "go.mod"))
	return versions[kubernetesModule], err
}

// Built says whether the programs are in the cache. Otherwise Start builds them, which takes minutes.
func Built() bool {
	dir, err := findToolsModule()
	if err != nil {
		return false
	}
	versions, err := pinnedVersions(filepath.Join(dir, "go.mod"))
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

// pinnedVersions returns the versions that the go.mod of the control plane requires, by module path.
func pinnedVersions(path string) (map[string]string, error) {
	versions, err := requiredVersions(path)
	if err != nil {
		return nil, err
	}
	for _, want := range []string{kubernetesModule, etcdModule} {
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

func buildOne(ctx context.Context, progress *progress.Printer, dir, name, pkg, version, ldflags string) (string, error) {
	entry, err := cache.Populate(ctx, name, version, func(out string) error {
		progress.Printf("control plane: building %s %s, once on this machine (minutes)", name, version)
		defer progress.Every(ctx, 10*time.Second, fmt.Sprintf("control plane: building %s", name))()
		cmd := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w "+ldflags, "-o", filepath.Join(out, name), pkg)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly", "PWD="+dir)
		return runToEnd(ctx, cmd)
	})
	return filepath.Join(entry, name), err
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
