// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/antrea-oncache/antrea/test/env/testbed/cache"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// ClusterPrograms are the programs of Kubernetes that a cluster with kubelets runs, in its images as well. They come from one module.
var ClusterPrograms = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kubectl", "kube-proxy", "agnhost"}

// BuildAll builds the programs that the cache lacks, for this machine. Programs of one module are built by one command,
// which compiles the packages of one while it links another.
func BuildAll(ctx context.Context, progress *progress.Printer, names ...string) error {
	missing, versions := map[string][]string{}, map[string]string{}
	for _, name := range names {
		_, dir, version, err := find(name)
		if err != nil {
			return err
		}
		if !cache.Has(name, version) {
			missing[dir] = append(missing[dir], name)
			versions[name] = version
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(missing)) {
		if err := buildTogether(ctx, progress, dir, slices.Sorted(slices.Values(missing[dir])), versions); err != nil {
			return err
		}
	}
	return nil
}

// buildTogether builds programs of the module in dir into their cache entries. names are sorted, so that two processes that build
// some of the same programs wait for each other in one order.
func buildTogether(ctx context.Context, progress *progress.Printer, dir string, names []string, versions map[string]string) error {
	if len(names) == 1 {
		_, err := BuildProgram(ctx, progress, names[0], runtime.GOARCH)
		return err
	}
	_, err := cache.Populate(ctx, names[0], versions[names[0]], func(out string) error {
		all, err := os.MkdirTemp(filepath.Dir(out), ".together-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(all)
		flags, packages := "-s -w", []string{}
		for _, name := range names {
			packages = append(packages, sources[name].pkg)
			if sources[name].module == kubernetesModule && !strings.Contains(flags, "-X") {
				flags += " " + kubernetesVersionFlags(versions[name])
			}
		}
		text := fmt.Sprintf("building %s", strings.Join(names, ", "))
		if err := compile(ctx, progress, dir, text, runtime.GOARCH, append([]string{"build", "-ldflags", flags, "-o", all + "/"}, packages...)); err != nil {
			return err
		}
		for _, name := range names[1:] {
			_, err := cache.Populate(ctx, name, versions[name], func(out string) error {
				return os.Rename(filepath.Join(all, executable(sources[name].pkg)), filepath.Join(out, name))
			})
			if err != nil {
				return err
			}
		}
		return os.Rename(filepath.Join(all, executable(sources[names[0]].pkg)), filepath.Join(out, names[0]))
	})
	return err
}

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// executable returns the name that Go gives the program of a package: the last element of its path that is not a major version.
func executable(pkg string) string {
	if last := path.Base(pkg); !majorVersion.MatchString(last) {
		return last
	}
	return path.Base(path.Dir(pkg))
}
