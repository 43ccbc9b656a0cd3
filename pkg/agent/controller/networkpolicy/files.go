// Copyright 2026 The antrea-oncache Authors.
// SPDX-License-Identifier: Apache-2.0

package networkpolicy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/antrea-oncache/antrea/pkg/agent/statefile"
)

const (
	// inventorySuffix is the suffix of the two inventories: one in the directory, one next to it.
	inventorySuffix = ".inventory"
	// compactionSlack is the size by which a file may exceed twice its first size before it is written again.
	compactionSlack = 64 << 10
	// maxFileName is Linux's limit (NAME_MAX of linux/limits.h).
	maxFileName = 255
)

// files stores the objects of one resource, each in a file with its name, and an inventory of them, twice. An object's file
// is written before the inventories: content that they do not confirm is in doubt.
type files struct {
	dir      string
	resource Resource
	inventory
	// complete is set while the inventories on disk are complete. Otherwise there are none.
	complete bool
	// inventorySize is the present size of each, inventoryBase the size when they were last written as a whole.
	inventorySize, inventoryBase int64
}

func newFiles(dir string, r Resource) *files {
	return &files{dir: filepath.Join(dir, directories[r]), resource: r, inventory: inventory{entries: map[string]*entry{}}}
}

func (f *files) inventories() [2]string {
	return [2]string{filepath.Join(f.dir, inventorySuffix), f.dir + inventorySuffix}
}

// namespaceMark stands in names of files for the separator of a Group's name, NAMESPACE/NAME. It is in no name of Kubernetes.
const namespaceMark = "@"

// fileOf returns where an object with the name is, and nameOf the name for such a file.
func (f *files) fileOf(name string) string {
	return filepath.Join(f.dir, strings.ReplaceAll(name, "/", namespaceMark))
}

func nameOf(file string) string { return strings.ReplaceAll(file, namespaceMark, "/") }

func (f *files) path(name string) (string, error) {
	if name == "" || len(name)+len(statefile.TemporarySuffix) > maxFileName || strings.HasPrefix(name, ".") || strings.Contains(name, namespaceMark) || strings.HasSuffix(name, statefile.TemporarySuffix) {
		return "", fmt.Errorf("object name %q cannot be a file name", name)
	}
	return f.fileOf(name), nil
}

// names returns the names of all objects of which there may be files.
func (f *files) names() ([]string, error) {
	entries, err := os.ReadDir(f.dir)
	var names []string
	for _, e := range entries {
		if e.Name() != inventorySuffix && !strings.HasSuffix(e.Name(), statefile.TemporarySuffix) {
			names = append(names, nameOf(e.Name()))
		}
	}
	return names, err
}

// doubt removes the inventories: until replace has succeeded the disk may have less than what is in force.
func (f *files) doubt() error {
	f.complete = false
	var errs []error
	for _, path := range f.inventories() {
		// It may be possible to empty a file that cannot be removed.
		if err := os.RemoveAll(path); err != nil && os.Truncate(path, 0) != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// replace makes objects the only stored ones.
func (f *files) replace(objects []any) error {
	if err := f.doubt(); err != nil {
		return err
	}
	if err := os.MkdirAll(f.dir, 0o750); err != nil {
		return err
	}
	f.inventory = inventory{position: position{Run: max(time.Now().UnixNano(), f.Run+1)}, entries: map[string]*entry{}}
	var errs []error
	for _, object := range objects {
		record := f.next(object)
		errs = append(errs, f.inventory.enter(record), f.writeObject(record, object))
	}
	// A left-over file might be taken for newer than the inventories.
	if err := f.removeOthers(); err != nil {
		return errors.Join(append(errs, err)...)
	}
	errs = append(errs, f.writeInventories())
	return errors.Join(errs...)
}

// save stores an object or a patch of one. The cost depends on the size of object, not on the size of the patched one, except
// for compaction (outgrown). After an error that leaves complete set only this object is in doubt.
func (f *files) save(object any) error {
	if !f.complete {
		return nil // All will be replaced.
	}
	record := f.next(object)
	if record.Patch && f.entries[record.Name] == nil {
		return fmt.Errorf("patch of %s, of which nothing is stored", record.Name)
	}
	if err := f.inventory.enter(record); err != nil {
		return err
	}
	return errors.Join(f.writeObject(record, object), f.appendInventories(record))
}

// remove forgets the object.
func (f *files) remove(name string) error {
	if !f.complete || f.entries[name] == nil {
		return nil
	}
	f.Seq++
	record := &inventoryRecord{position: f.position, Resource: f.resource, Name: name, Gone: true}
	if err := errors.Join(f.inventory.enter(record), f.appendInventories(record)); err != nil {
		return err
	}
	path, err := f.path(name)
	if err != nil {
		return nil // It was never written.
	}
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// next makes the inventory's record for an object or a patch.
func (f *files) next(object any) *inventoryRecord {
	f.Seq++
	record := &inventoryRecord{position: f.position, Resource: f.resource}
	record.Name, record.Patch, record.summary = summarize(object)
	return record
}

// outgrown reports whether the object's file should be written again: its patches are longer than the object that they
// change, so that on average a patch costs three times its length. The caller must save the present object.
func (f *files) outgrown(name string) bool {
	e := f.entries[name]
	return f.complete && e != nil && (e.size < 0 || e.size > 2*e.base+compactionSlack)
}

func (f *files) writeObject(r *inventoryRecord, object any) error {
	path, err := f.path(r.Name)
	if err != nil {
		return nil // Another attempt is of no use. A reader who misses the file finds in the inventories what to isolate.
	}
	record := objectRecord{position: r.position, Resource: r.Resource, Name: r.Name}
	if r.Patch {
		record.Patch = object
	} else {
		record.Object = object
	}
	payload, err := json.Marshal(&record)
	if err != nil {
		return fmt.Errorf("save %s: %w", path, err)
	}
	e := f.entries[r.Name]
	if r.Patch {
		if e.size, err = appendToJournal(path, e.size, payload); err != nil {
			e.size = -1 // No later patch may hide that this one is missing.
		}
		return err
	}
	if err := removeDirectory(path); err != nil {
		return err
	}
	e.size, err = writeJournal(path, payload)
	e.base = e.size
	return err
}

// removeDirectory removes a directory that is where a file should be.
func removeDirectory(path string) error {
	if info, err := os.Lstat(path); err != nil || !info.IsDir() {
		return nil
	}
	return os.RemoveAll(path)
}

// removeOthers removes files that are not an object's.
func (f *files) removeOthers() error {
	present, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range present {
		if f.entries[nameOf(e.Name())] == nil {
			errs = append(errs, os.RemoveAll(filepath.Join(f.dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// writeInventories writes both inventories again.
func (f *files) writeInventories() error {
	payloads := make([][]byte, 0, 1+len(f.entries))
	add := func(record *inventoryRecord) error {
		payload, err := json.Marshal(record)
		payloads = append(payloads, payload)
		return err
	}
	err := add(&inventoryRecord{position: f.position, Resource: f.resource})
	for name, e := range f.entries {
		err = errors.Join(err, add(&inventoryRecord{position: e.position, Resource: f.resource, Name: name, summary: e.summary}))
	}
	for _, path := range f.inventories() {
		size, writeErr := writeJournal(path, payloads...)
		err = errors.Join(err, writeErr)
		f.inventorySize, f.inventoryBase = size, size
	}
	if err != nil {
		return errors.Join(err, f.doubt())
	}
	f.complete = true
	return nil
}

// appendInventories appends the change to both. If one cannot be written, both are removed.
func (f *files) appendInventories(record *inventoryRecord) error {
	payload, err := json.Marshal(record)
	if err != nil {
		return err
	}
	size := f.inventorySize
	for _, path := range f.inventories() {
		newSize, appendErr := appendToJournal(path, size, payload)
		err, f.inventorySize = errors.Join(err, appendErr), newSize
	}
	if err != nil {
		return errors.Join(err, f.doubt())
	}
	if f.inventorySize > 2*f.inventoryBase+compactionSlack {
		return f.writeInventories()
	}
	return nil
}

// isEmpty reports whether nothing was ever stored in any directory below dir.
func isEmpty(dir string) bool {
	for _, r := range []Resource{NetworkPolicies, AddressGroups, AppliedToGroups} {
		f := newFiles(dir, r)
		if names, err := f.names(); len(names) > 0 || (err != nil && !errors.Is(err, fs.ErrNotExist)) {
			return false
		}
		if paths := f.inventories(); slices.ContainsFunc(paths[:], exists) {
			return false
		}
	}
	return true
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
