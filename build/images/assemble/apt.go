// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assemble

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Apt is this machine's apt with lists, cache and installed packages of its own. It uses the machine's sources, keys
// and preferences.
type Apt struct {
	dir, arch string
}

// NewApt prepares the directory dir, which may be kept, for packages of an architecture. Packages that need one of the absent are chosen without
// it; that is for what only maintainer scripts or unneeded parts of a package use.
func NewApt(dir, arch string, absent []string) (*Apt, error) {
	a := &Apt{dir: dir, arch: arch}
	for _, sub := range []string{"lists/partial", "archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	var status strings.Builder
	for _, name := range absent {
		// The version is above all that a dependency asks for. A dependency on any architecture ("python3:any") needs Multi-Arch.
		fmt.Fprintf(&status, "Package: %s\nStatus: install ok installed\nMaintainer: none\nArchitecture: %s\nMulti-Arch: allowed\nVersion: 999:1\nDescription: absent\n\n",
			name, arch)
	}
	if err := os.WriteFile(a.path("status"), []byte(status.String()), 0o644); err != nil {
		return nil, err
	}
	// The hooks of the machine are for its own cache.
	config := fmt.Sprintf(`#clear APT::Architectures;
#clear APT::Update;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
APT::Architecture "%[1]s";
APT::Architectures { "%[1]s"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Acquire::Languages "none";
Debug::NoLocking "true";
Dir::State "%[2]s";
Dir::State::lists "%[2]s/lists";
Dir::State::status "%[2]s/status";
Dir::State::extended_states "%[2]s/extended_states";
Dir::Cache "%[2]s";
Dir::Cache::archives "%[2]s/archives";
`, arch, dir)
	return a, os.WriteFile(a.path("apt.conf"), []byte(config), 0o644)
}

func (a *Apt) path(name string) string { return filepath.Join(a.dir, name) }

// Update fetches the lists of packages, unless they are there. With again it fetches those that have changed.
func (a *Apt) Update(ctx context.Context, again bool) error {
	marker := a.path("updated")
	if _, err := os.Stat(marker); err == nil && !again {
		return nil
	}
	if _, err := a.run(ctx, "update", "--error-on=any"); err != nil {
		return err
	}
	return os.WriteFile(marker, nil, 0o644)
}

// installation is a line of a simulated installation: name, version and architecture.
var installation = regexp.MustCompile(`(?m)^Inst (\S+)(?: \[\S+\])? \((\S+) .*\[(\S+)\]\)`)

// Closure downloads packages and those that they depend on.
func (a *Apt) Closure(ctx context.Context, names []string) ([]Package, error) {
	plan, err := a.run(ctx, append([]string{"--simulate", "install"}, names...)...)
	if err != nil {
		return nil, err
	}
	packages := parsePlan(plan)
	if len(packages) == 0 {
		return nil, fmt.Errorf("apt would install nothing for %v", names)
	}
	missing := false
	for i, p := range packages {
		packages[i].file = a.path(filepath.Join("archives", fmt.Sprintf("%s_%s_%s.deb", p.Name, strings.ReplaceAll(p.Version, ":", "%3a"), p.Architecture)))
		if _, err := os.Stat(packages[i].file); errors.Is(err, fs.ErrNotExist) {
			missing = true
		}
	}
	if missing {
		if _, err := a.run(ctx, append([]string{"--yes", "--download-only", "install"}, names...)...); err != nil {
			return nil, err
		}
	}
	return packages, nil
}

func parsePlan(plan string) []Package {
	var packages []Package
	for _, m := range installation.FindAllStringSubmatch(plan, -1) {
		name, _, _ := strings.Cut(m[1], ":")
		packages = append(packages, Package{Name: name, Version: m[2], Architecture: m[3]})
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return packages
}

func (a *Apt) run(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"--quiet", "--config-file=" + a.path("apt.conf")}, args...)...)
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("apt-get %s for %s: %w:\n%s", strings.Join(args, " "), a.arch, err, stderr.String())
	}
	return string(out), nil
}
