// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

// Package licences collects the licences of all modules that are linked into programs, as those licences ask of whoever passes
// the programs on. Which modules these are, the programs say themselves.
package licences

import (
	"bytes"
	"cmp"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
)

// Module is a module in the version that is linked, with its directory.
type Module struct{ Path, Version, Dir string }

// Linked returns the modules that are linked into programs, the project's own left out, and Go's standard library, sorted. goCommand finds their directories.
func Linked(goCommand string, programs []string) ([]Module, error) {
	versions := map[string]bool{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, fmt.Errorf("reading the modules of %s: %w", program, err)
		}
		for _, m := range append(info.Deps, &info.Main) {
			if m.Replace != nil {
				m = m.Replace
			}
			if isReleased(m) {
				versions[m.Path+"@"+m.Version] = true
			}
		}
	}
	modules, err := download(goCommand, slices.Sorted(maps.Keys(versions)))
	if err != nil {
		return nil, err
	}
	out, err := exec.Command(goCommand, "env", "GOROOT", "GOVERSION").Output()
	root, version, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil {
		return nil, fmt.Errorf("asking %s for its directory: %w", goCommand, err)
	}
	return append(modules, Module{"Go's standard library", version, root}), nil
}

// isReleased reports whether a module is another project's: ours is in a checkout, and has no version that could be downloaded.
func isReleased(m *debug.Module) bool {
	return m.Version != "" && m.Version != "(devel)" && !strings.HasPrefix(m.Path, "github.com/antrea-oncache/")
}

// download returns modules with their directories in Go's cache.
func download(goCommand string, versions []string) ([]Module, error) {
	if len(versions) == 0 {
		return nil, nil // without arguments it would be all of this module's
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(goCommand, append([]string{"mod", "download", "-json"}, versions...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("downloading modules: %w: %s", err, stderr.String())
	}
	var modules []Module
	for decoder := json.NewDecoder(&stdout); ; {
		var m Module
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			return modules, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decoding the output of go mod download: %w", err)
		}
		modules = append(modules, m)
	}
}

// legal are names of files with terms, notices and authors.
var legal = regexp.MustCompile(`^(?i:licen[cs]e|copying|notice|copyright|patents|authors)([-._].*)?$`)

// elsewhere are directories whose files are not linked, code are endings of files that only happen to have such a name.
var (
	elsewhere = []string{"testdata", "vendor", "node_modules"}
	code      = []string{".go", ".s", ".c", ".h", ".py", ".sh"}
)

// Write writes each text once, below the modules and files that it is from. It fails if a module has no licence.
func Write(w io.Writer, modules []Module) error {
	sources := map[string][]string{}
	for _, m := range modules {
		texts, err := m.texts()
		if err != nil {
			return err
		}
		for name, text := range texts {
			sources[text] = append(sources[text], m.Path+" "+m.Version+", "+name)
		}
	}
	type entry struct {
		sources []string
		text    string
	}
	var entries []entry
	for text, from := range sources {
		slices.Sort(from)
		entries = append(entries, entry{from, text})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.sources[0], b.sources[0]) })
	for _, e := range entries {
		if _, err := fmt.Fprintf(w, "%s\n%s\n\n%s\n\n", strings.Repeat("=", 80), strings.Join(e.sources, "\n"), e.text); err != nil {
			return err
		}
	}
	return nil
}

// texts returns the legal files of a module by name.
func (m Module) texts() (map[string]string, error) {
	texts, licensed := map[string]string{}, false
	err := filepath.WalkDir(m.Dir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains(elsewhere, entry.Name()) {
			return filepath.SkipDir
		}
		if !entry.Type().IsRegular() || !legal.MatchString(entry.Name()) || slices.Contains(code, path.Ext(entry.Name())) {
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(m.Dir, file)
		licensed = licensed || filepath.Dir(file) == m.Dir
		texts[filepath.ToSlash(name)] = strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n"))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for the licence of %s: %w", m.Path, err)
	}
	if !licensed {
		return nil, fmt.Errorf("%s %s has no licence in its directory %s, so programs with it must not be passed on: use another module", m.Path, m.Version, m.Dir)
	}
	return texts, nil
}
