// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package ci_test

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAntctlIsForAllSystems: antctl is released for macOS and Windows. No package that it is made of there needs Linux. Compiling it for each takes
// minutes, which make release-assets does.
func TestAntctlIsForAllSystems(t *testing.T) {
	linuxOnly := []string{"golang.org/x/sys/unix", "github.com/vishvananda/netlink", "github.com/vishvananda/netns", "github.com/cilium/ebpf"}
	for _, system := range []string{"darwin", "windows"} {
		cmd := exec.Command("go", "list", "-deps", "-json=ImportPath,Imports,GoFiles,Module", "./cmd/antctl")
		cmd.Dir, cmd.Env = filepath.Join("..", ".."), append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := cmd.Output()
		require.NoError(t, err)
		own := 0
		for list := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p struct {
				ImportPath       string
				Imports, GoFiles []string
				Module           struct{ Main bool }
			}
			err := list.Decode(&p)
			if err == io.EOF {
				break
			}
			require.NoError(t, err)
			if !p.Module.Main {
				continue
			}
			own++
			require.NotEmpty(t, p.GoFiles, "%s: %s has no files", system, p.ImportPath)
			for _, needs := range p.Imports {
				require.False(t, slices.Contains(linuxOnly, needs), "%s: %s imports %s: move that to a file NAME_linux.go, and make NAME_other.go", system, p.ImportPath, needs)
			}
		}
		require.Greater(t, own, 10)
	}
}
