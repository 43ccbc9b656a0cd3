// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package assemble

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// merged are the directories of the root that Debian replaces by links to directories of the same name in /usr; some
// packages still have files in them.
var merged = []string{"bin", "lib", "lib32", "lib64", "libx32", "sbin"}

// Tree is the file system of an image. Names have no leading slash. The zero Tree is empty.
type Tree struct {
	files map[string]*file
	// newest is the latest time of a file of a package, which generated files get.
	newest time.Time
}

type file struct {
	header tar.Header
	body   []byte
	// sealed says that a layer has this file already.
	sealed bool
}

// canonical is the name of a path in the tree.
func canonical(name string) string {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if first, _, _ := strings.Cut(name, "/"); slices.Contains(merged, first) {
		return "usr/" + name
	}
	return name
}

// add adds an entry of a package. Two packages may have the same directory, nothing else.
func (t *Tree) add(h tar.Header, body []byte) error {
	name := canonical(h.Name)
	if name == "" {
		return nil
	}
	if old := t.files[name]; old != nil {
		if h.Typeflag == tar.TypeDir && (old.header.Typeflag == tar.TypeDir || old.header.Typeflag == tar.TypeSymlink) {
			return nil
		}
		return fmt.Errorf("/%s comes from two packages", name)
	}
	if h.Typeflag == tar.TypeLink {
		h.Linkname = canonical(h.Linkname)
	}
	if h.ModTime.After(t.newest) {
		t.newest = h.ModTime
	}
	t.put(name, h, body)
	return nil
}

// Newest is the latest time of a file of a package.
func (t *Tree) Newest() time.Time { return t.newest }

// privilegedModes are set-user-ID and set-group-ID: programs such as su, which nothing in the images needs.
const privilegedModes = 0o6000

// put adds or replaces an entry without privileged modes, and adds the directories above it.
func (t *Tree) put(name string, h tar.Header, body []byte) {
	if t.files == nil {
		t.files = map[string]*file{}
	}
	if parent := path.Dir(name); parent != "." && t.files[parent] == nil {
		t.put(parent, tar.Header{Typeflag: tar.TypeDir, Mode: 0o755, ModTime: h.ModTime}, nil)
	}
	t.files[name] = &file{body: body, header: tar.Header{
		Typeflag: h.Typeflag, Name: name, Linkname: h.Linkname, Mode: h.Mode &^ privilegedModes, Uid: h.Uid, Gid: h.Gid,
		Size: int64(len(body)), ModTime: h.ModTime.Truncate(time.Second), Devmajor: h.Devmajor, Devminor: h.Devminor,
	}}
}

// WriteFile adds or replaces a file.
func (t *Tree) WriteFile(name string, body []byte, mode fs.FileMode, modified time.Time) {
	t.put(canonical(name), tar.Header{Typeflag: tar.TypeReg, Mode: int64(mode.Perm()), ModTime: modified}, body)
}

// Symlink adds or replaces a symbolic link.
func (t *Tree) Symlink(name, target string, modified time.Time) {
	t.put(canonical(name), tar.Header{Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777, ModTime: modified}, nil)
}

// Overlay adds the files below a directory of this machine, or replaces what is there. They belong to root; whether they are executable is kept.
func (t *Tree) Overlay(dir string, modified time.Time) error {
	return filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, file)
		if err != nil {
			return err
		}
		if !d.Type().IsRegular() {
			return fmt.Errorf("%s is not a regular file", file)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		body, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		// The umask of whoever has checked out the sources must not matter.
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		t.WriteFile(filepath.ToSlash(name), body, mode, modified)
		return nil
	})
}

// exists reports whether there is a file, after symbolic links.
func (t *Tree) exists(name string) bool {
	_, err := t.resolve(name)
	return err == nil
}

// resolve follows symbolic links, also of directories on the way.
func (t *Tree) resolve(name string) (*file, error) {
	rest := strings.Split(canonical(name), "/")
	at, links := "", 0
	for len(rest) > 0 {
		next := canonical(path.Join(at, rest[0]))
		f := t.files[next]
		if f == nil {
			return nil, fmt.Errorf("/%s: %w", next, fs.ErrNotExist)
		}
		rest = rest[1:]
		if f.header.Typeflag != tar.TypeSymlink {
			at = next
			if len(rest) == 0 {
				return f, nil
			}
			continue
		}
		if links++; links > 40 {
			return nil, fmt.Errorf("/%s: too many symbolic links", name)
		}
		target := f.header.Linkname
		if !path.IsAbs(target) {
			target = path.Join("/", path.Dir(next), target)
		}
		rest = append(strings.Split(canonical(target), "/"), rest...)
		at = ""
	}
	return nil, fmt.Errorf("/%s: %w", name, fs.ErrNotExist)
}

// read returns the content of a file, after symbolic links.
func (t *Tree) read(name string) ([]byte, error) {
	f, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	if f.header.Typeflag == tar.TypeLink {
		return t.read(f.header.Linkname)
	}
	return f.body, nil
}

// addTar adds what a package's tar stream has and keep accepts.
func (t *Tree) addTar(stream io.Reader, keep func(name string) bool) error {
	for r := tar.NewReader(stream); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !keep(canonical(h.Name)) {
			continue
		}
		var body bytes.Buffer
		if _, err := io.Copy(&body, r); err != nil {
			return err
		}
		if err := t.add(*h, body.Bytes()); err != nil {
			return err
		}
	}
}
