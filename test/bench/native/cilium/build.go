// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package cilium

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/antrea-oncache/antrea/test/env/testbed/controlplane"
	"github.com/antrea-oncache/antrea/test/env/testbed/progress"
)

// compiler compiles Cilium's eBPF programs on the Node. Cilium wants 18.1 or later; Debian 12 has this one besides its usual one.
const compiler = "clang-19"

// Programs are Cilium's programs and sources.
type Programs struct {
	// Version is the version of Cilium's module, Compiler the first line of the compiler's own version.
	Version, Compiler string

	agent, plugin, clang string
	// sources is the directory of the module.
	sources string
}

// Build builds Cilium and a Kubernetes API from their Go modules, unless they are in the cache (20 minutes at first, and downloads).
func Build(ctx context.Context, progress *progress.Printer) (*Programs, error) {
	p := &Programs{}
	var err error
	if p.clang, err = exec.LookPath(compiler); err != nil {
		return nil, fmt.Errorf("%w: run hack/install-deps.sh peers", err)
	}
	out, err := exec.CommandContext(ctx, p.clang, "--version").Output()
	if err != nil {
		return nil, fmt.Errorf("%s --version: %w", p.clang, err)
	}
	p.Compiler, _, _ = strings.Cut(string(out), "\n")
	if err := controlplane.Build(ctx, progress); err != nil {
		return nil, err
	}
	agent, err := controlplane.BuildProgram(ctx, progress, "cilium-agent", runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	plugin, err := controlplane.BuildProgram(ctx, progress, "cilium-cni", runtime.GOARCH)
	if err != nil {
		return nil, err
	}
	p.Version, p.agent, p.plugin = agent.Version, agent.Path, plugin.Path
	p.sources, err = controlplane.Sources(ctx, "cilium-agent")
	return p, err
}

// bpf has the sources of the eBPF programs, which the agent compiles.
func (p *Programs) bpf() string { return filepath.Join(p.sources, "bpf") }

// definitions has the definitions of Cilium's custom resources, which its operator would create.
func (p *Programs) definitions() string {
	return filepath.Join(p.sources, "pkg", "k8s", "apis", "cilium.io", "client", "crds")
}
